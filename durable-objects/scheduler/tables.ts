// Drizzle tables of the due queue. No platform import: drizzle-kit loads this file in Node.
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** One row per lane, kept for ever: a deleted row would restart its revisions, and a late wave would acknowledge a newer enrolment. */
export const dueQueue = sqliteTable("due_queue", {
  lane: text().primaryKey(),
  /** Raised by every enrolment; a pass acknowledges only the revision it saw. */
  revision: integer().notNull(),
  /** Why the lane is due, one of DueReason. */
  reason: text().notNull(),
  /** Epoch milliseconds; null when nothing is owed before a decision from outside. */
  dueAt: integer(),
  /** Consecutive waves without progress, for the backoff. */
  attempts: integer().notNull(),
});
