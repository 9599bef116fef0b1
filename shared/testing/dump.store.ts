// What an object's file holds, read by SQL past the runtime's own code, for tests to look at.
import { z } from "zod";
import type { ThreadRecord } from "../wire/records.ts";

/** The object's storage, as far as it is read. */
export interface TestedStorage {
  readonly sql: { exec(query: string): { toArray(): unknown[] } };
  getAlarm(): Promise<number | null>;
}

export interface Dump {
  readonly records: readonly ThreadRecord[];
  readonly batches: readonly BatchRow[];
  readonly submissions: readonly SubmissionRow[];
  readonly thread: ThreadColumns | null;
  readonly due: { readonly dueAt: number | null; readonly reason: string } | null;
  readonly alarm: number | null;
}

/** One row of the log; `records` is its text. */
export interface BatchRow {
  readonly first: number;
  readonly last: number;
  readonly run: number;
  readonly epoch: number | null;
  readonly digest: string;
  readonly records: string;
}

export interface SubmissionRow {
  readonly submissionId: string;
  readonly principal: string;
  readonly scopedKey: string;
  readonly outcome: string | null;
  readonly wait: string | null;
  readonly settledSequence: number | null;
  readonly firstSequence: number | null;
  readonly usage: string | null;
  /** Queue sequence of the run that the input joins, and the record that made it part of it. */
  readonly host: number | null;
  readonly joinedAt: number | null;
}

export interface ThreadColumns {
  readonly epoch: number;
  readonly charge: number;
  readonly claimedRun: number | null;
}

const NullableInt = z.int().nullable();
const NullableText = z.string().nullable();

const BatchRowSchema = z.object({
  first: z.int(),
  last: z.int(),
  run: z.int(),
  epoch: NullableInt,
  digest: z.string(),
  records: z.string(),
});
const SubmissionRowSchema = z.object({
  submissionId: z.string(),
  principal: z.string(),
  scopedKey: z.string(),
  outcome: NullableText,
  wait: NullableText,
  settledSequence: NullableInt,
  firstSequence: NullableInt,
  usage: NullableText,
  host: NullableInt,
  joinedAt: NullableInt,
});
const ThreadColumnsSchema = z.object({ epoch: z.int(), charge: z.int(), claimedRun: NullableInt });
const DueSchema = z.object({ dueAt: NullableInt, reason: z.string() });

/** Everything but the records, which are the text of the log's rows. */
export async function readDump(storage: TestedStorage): Promise<Omit<Dump, "records">> {
  const rows = <Row>(schema: z.ZodType<Row>, query: string): Row[] =>
    z.array(schema).parse(storage.sql.exec(query).toArray());
  const alarm = await storage.getAlarm();
  if (rows(z.unknown(), "SELECT 1 FROM sqlite_master WHERE name = 'batches'").length === 0) {
    return { batches: [], submissions: [], thread: null, due: null, alarm };
  }
  const batches = rows(
    BatchRowSchema,
    "SELECT position % 4294967296 AS first, last, run, epoch, digest, records FROM batches ORDER BY position",
  );
  return {
    batches,
    submissions: rows(
      SubmissionRowSchema,
      "SELECT submissionId, principal, scopedKey, outcome, wait, settledSequence, firstSequence, usage, host, joinedAt FROM submissions ORDER BY position",
    ),
    thread: rows(ThreadColumnsSchema, "SELECT epoch, charge, claimedRun FROM threads")[0] ?? null,
    due:
      rows(
        DueSchema,
        "SELECT dueAt, reason FROM due_queue ORDER BY dueAt IS NULL, dueAt LIMIT 1",
      )[0] ?? null,
    alarm,
  };
}
