// Drizzle tables of a thread's log and ledger. Several threads may share one object: `position` is
// threadNumber × 2^32 + sequence, one integer key, so that a row costs one write and a thread's rows lie together.
import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

export const threads = sqliteTable(
  "threads",
  {
    number: integer().primaryKey(),
    threadId: text().notNull(),
    createdBy: text().notNull(),
    createdAt: integer().notNull(),
    /** Raised by every attempt; an append of an attempt carries it, and any other epoch is refused. */
    epoch: integer().notNull(),
    /** Queue sequence of the run that was claimed last; null before the first claim. */
    claimedRun: integer(),
    /** First record of that run. */
    claimedRunFirst: integer(),
    /** Consecutive attempts of that run since its last record, this one included. */
    charge: integer().notNull(),
    /** The run's last record that counted as progress when it was charged. */
    chargedAt: integer().notNull(),
    /** The attempt that last ended in order at its event's deadline: it lost no model call. */
    yieldedEpoch: integer().notNull(),
    /** JSON of who deleted it when; null for a thread that is there. The row stays, so that its id stays used. */
    deleted: text(),
    /** JSON of the recovery fault; null for a thread that can be read. */
    fault: text(),
    /** Recovery events that the host was told, or is to be. */
    faultEvents: integer().notNull().default(0),
    /** What was registered when work began to wait for a binding; null when none waits for one. */
    unboundUnder: text(),
  },
  (table) => [uniqueIndex("threads_by_id").on(table.threadId)],
);

export const submissions = sqliteTable(
  "submissions",
  {
    /** threadNumber × 2^32 + queue sequence. */
    position: integer().primaryKey(),
    submissionId: text().notNull(),
    principal: text().notNull(),
    /** Canonical JSON of [threadNumber, principal, idempotency key]. */
    scopedKey: text().notNull(),
    /** SHA-256 of the command as sent; a replay must match it. */
    commandDigest: text().notNull(),
    agentId: text().notNull(),
    /** Canonical JSON of the decoded input. */
    input: text().notNull(),
    acceptedAt: integer().notNull(),
    /** JSON of the wait, or null while the work is queued or runs. */
    wait: text(),
    /** First record of the run, kept here from its first wait on; before that the thread row has it. */
    firstSequence: integer(),
    /** Null while owed. The one column of the partial index's predicate. */
    outcome: text(),
    settledSequence: integer(),
    /** What the run spent, from its settlement, as a JSON list of counts (`USAGE_FIELDS`): the thread's account is their sum. */
    usage: text(),
    /** JSON list of the notes on unknown outcomes after settlement, one per operation. */
    annotations: text(),
    /** JSON of what the caller allowed at most, or null. */
    allowances: text(),
    /** Canonical JSON of the decoded metadata, or null. */
    metadata: text(),
    /** Queue sequence of the run that the input joins, or null: it has, or will have, a run of its own. */
    host: integer(),
    /** The record that made the input canonical in a host's run; kept when it returns to the queue. */
    joinedAt: integer(),
  },
  (table) => [
    uniqueIndex("submissions_by_key").on(table.scopedKey),
    index("submissions_owed")
      .on(table.position)
      .where(sql`outcome IS NULL`),
  ],
);

/** One row per committed batch of records: what a commit costs. */
export const batches = sqliteTable("batches", {
  /** threadNumber × 2^32 + first sequence. */
  position: integer().primaryKey(),
  /** Last sequence of the batch. */
  last: integer().notNull(),
  /** Queue sequence of the submission that the records are about. */
  run: integer().notNull(),
  /** The attempt's epoch; null for a control. */
  epoch: integer(),
  /** SHA-256 over the previous batch's digest and this batch's records: the chain that verification recomputes. */
  digest: text().notNull(),
  /** JSON of the records: what they share, and a list of the rest (journal/record-codec.ts). */
  records: text().notNull(),
});
