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
  /** Of the native lane: consecutive waves that failed, for the backoff. */
  attempts: integer().notNull(),
  /** Of other lanes: raised by every progress of the source; the highest cursor that a remote one reported; waves in a row without progress. */
  progress: integer().notNull().default(0),
  cursor: integer().notNull().default(0),
  unchanged: integer().notNull().default(0),
});

/** Mutations that a lane was armed with and has not acknowledged. */
export const laneEnvelopes = sqliteTable("lane_envelopes", {
  position: integer().primaryKey(),
  lane: text().notNull(),
  /** JSON of an Envelope. */
  envelope: text().notNull(),
});
