ALTER TABLE `submissions` ADD `metadata` text;--> statement-breakpoint
ALTER TABLE `submissions` ADD `host` integer;--> statement-breakpoint
ALTER TABLE `submissions` ADD `joinedAt` integer;