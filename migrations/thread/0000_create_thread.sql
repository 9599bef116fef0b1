CREATE TABLE `batches` (
	`position` integer PRIMARY KEY NOT NULL,
	`last` integer NOT NULL,
	`run` integer NOT NULL,
	`epoch` integer,
	`digest` text NOT NULL,
	`records` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `submissions` (
	`position` integer PRIMARY KEY NOT NULL,
	`submissionId` text NOT NULL,
	`principal` text NOT NULL,
	`scopedKey` text NOT NULL,
	`commandDigest` text NOT NULL,
	`agentId` text NOT NULL,
	`input` text NOT NULL,
	`acceptedAt` integer NOT NULL,
	`wait` text,
	`firstSequence` integer,
	`outcome` text,
	`settledSequence` integer,
	`annotations` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `submissions_by_key` ON `submissions` (`scopedKey`);--> statement-breakpoint
CREATE INDEX `submissions_owed` ON `submissions` (`position`) WHERE outcome IS NULL;--> statement-breakpoint
CREATE TABLE `threads` (
	`number` integer PRIMARY KEY NOT NULL,
	`threadId` text NOT NULL,
	`createdBy` text NOT NULL,
	`createdAt` integer NOT NULL,
	`epoch` integer NOT NULL,
	`claimedRun` integer,
	`claimedRunFirst` integer,
	`charge` integer NOT NULL,
	`chargedAt` integer NOT NULL,
	`yieldedEpoch` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `threads_by_id` ON `threads` (`threadId`);--> statement-breakpoint
CREATE TABLE `due_queue` (
	`lane` text PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL,
	`reason` text NOT NULL,
	`dueAt` integer,
	`attempts` integer NOT NULL
);
