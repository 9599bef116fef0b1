CREATE TABLE `lane_envelopes` (
	`position` integer PRIMARY KEY NOT NULL,
	`lane` text NOT NULL,
	`envelope` text NOT NULL
);
--> statement-breakpoint
ALTER TABLE `due_queue` ADD `progress` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `due_queue` ADD `cursor` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `due_queue` ADD `unchanged` integer DEFAULT 0 NOT NULL;