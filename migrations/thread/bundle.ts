// Generated from the .sql files beside it by `npm run migrations`. Applied files are never edited.
import type { Migration } from "../../durable-objects/platform/migration-plan.ts";

export const migrations: readonly Migration[] = [
  {
    "tag": "0000_create_thread",
    "digest": "b4132aa6d7aeb219c03840126322c102edf192c02d8c6b50a9e5f22c26481890",
    "statements": [
      "CREATE TABLE `batches` (\n\t`position` integer PRIMARY KEY NOT NULL,\n\t`last` integer NOT NULL,\n\t`run` integer NOT NULL,\n\t`epoch` integer,\n\t`digest` text NOT NULL,\n\t`records` text NOT NULL\n);",
      "CREATE TABLE `submissions` (\n\t`position` integer PRIMARY KEY NOT NULL,\n\t`submissionId` text NOT NULL,\n\t`principal` text NOT NULL,\n\t`scopedKey` text NOT NULL,\n\t`commandDigest` text NOT NULL,\n\t`agentId` text NOT NULL,\n\t`input` text NOT NULL,\n\t`acceptedAt` integer NOT NULL,\n\t`wait` text,\n\t`firstSequence` integer,\n\t`outcome` text,\n\t`settledSequence` integer,\n\t`annotations` text\n);",
      "CREATE UNIQUE INDEX `submissions_by_key` ON `submissions` (`scopedKey`);",
      "CREATE INDEX `submissions_owed` ON `submissions` (`position`) WHERE outcome IS NULL;",
      "CREATE TABLE `threads` (\n\t`number` integer PRIMARY KEY NOT NULL,\n\t`threadId` text NOT NULL,\n\t`createdBy` text NOT NULL,\n\t`createdAt` integer NOT NULL,\n\t`epoch` integer NOT NULL,\n\t`claimedRun` integer,\n\t`claimedRunFirst` integer,\n\t`charge` integer NOT NULL,\n\t`chargedAt` integer NOT NULL,\n\t`yieldedEpoch` integer NOT NULL\n);",
      "CREATE UNIQUE INDEX `threads_by_id` ON `threads` (`threadId`);",
      "CREATE TABLE `due_queue` (\n\t`lane` text PRIMARY KEY NOT NULL,\n\t`revision` integer NOT NULL,\n\t`reason` text NOT NULL,\n\t`dueAt` integer,\n\t`attempts` integer NOT NULL\n);"
    ]
  },
  {
    "tag": "0001_add_usage",
    "digest": "12345395ed3e8fe5396d24f5bbb83c1122cc1b8dbe9d7c953d235fdb01dc1529",
    "statements": [
      "ALTER TABLE `submissions` ADD `usage` text;"
    ]
  },
  {
    "tag": "0002_add_allowances",
    "digest": "791514aff8a06bf24b3c97f3a98fe6cbe75e24294706d37c0854684ef17fcf3d",
    "statements": [
      "ALTER TABLE `submissions` ADD `allowances` text;"
    ]
  },
  {
    "tag": "0003_add_metadata_and_joins",
    "digest": "a16bd54a540b935cf300748b6cc616b7249054592d9ef7f1c0958104b6b64eb1",
    "statements": [
      "ALTER TABLE `submissions` ADD `metadata` text;",
      "ALTER TABLE `submissions` ADD `host` integer;",
      "ALTER TABLE `submissions` ADD `joinedAt` integer;"
    ]
  },
  {
    "tag": "0004_add_unbound",
    "digest": "10d66e61ba573938b0ae944488e236b1ec61af7c66d82b0d8bb433811a2c3321",
    "statements": [
      "ALTER TABLE `threads` ADD `unboundUnder` text;"
    ]
  },
  {
    "tag": "0005_add_deleted",
    "digest": "3a96e991904aace890aa4f22258aec80147fc796af09b01707fc1cd9263329fd",
    "statements": [
      "ALTER TABLE `threads` ADD `deleted` text;"
    ]
  },
  {
    "tag": "0006_add_lanes",
    "digest": "abc3fa8e254c1565b3e567a114c662d6bd1612feca7bce823b1e4d9d19c600c4",
    "statements": [
      "CREATE TABLE `lane_envelopes` (\n\t`position` integer PRIMARY KEY NOT NULL,\n\t`lane` text NOT NULL,\n\t`envelope` text NOT NULL\n);",
      "ALTER TABLE `due_queue` ADD `progress` integer DEFAULT 0 NOT NULL;",
      "ALTER TABLE `due_queue` ADD `cursor` integer DEFAULT 0 NOT NULL;",
      "ALTER TABLE `due_queue` ADD `unchanged` integer DEFAULT 0 NOT NULL;"
    ]
  },
  {
    "tag": "0007_add_faults",
    "digest": "aa296d8cf47721b8f7873dea4a2e801baf2ebe1e7f3ef37656b9c40fa2b35fc4",
    "statements": [
      "ALTER TABLE `threads` ADD `fault` text;",
      "ALTER TABLE `threads` ADD `faultEvents` integer DEFAULT 0 NOT NULL;"
    ]
  }
];
