ALTER TABLE `threads` ADD `fault` text;--> statement-breakpoint
ALTER TABLE `threads` ADD `faultEvents` integer DEFAULT 0 NOT NULL;