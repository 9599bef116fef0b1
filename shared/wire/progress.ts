// Reading the log and waiting for it to grow.
import { z } from "zod";
import { MAX_PAGE_RECORDS, MAX_WAIT_MILLIS } from "../limits.ts";
import { RECORD_TYPES, ThreadRecordSchema, type RecordType } from "./records.ts";

export const RecordTypeSchema = z
  .custom<RecordType>(
    (value) => typeof value === "string" && RECORD_TYPES.some((type) => type === value),
    { message: "not a record type" },
  )
  .meta({ id: "RecordType", type: "string", enum: RECORD_TYPES });

export const ReadPageRequestSchema = z.strictObject({
  /** Only records past this sequence. */
  after: z.int().nonnegative().default(0),
  limit: z.int().min(1).max(MAX_PAGE_RECORDS).default(100),
  types: z.array(RecordTypeSchema).min(1).max(32).optional(),
});
export type ReadPageRequest = z.infer<typeof ReadPageRequestSchema>;

/** `next` is the cursor for the following page: the last sequence that this page looked at. `tail` is the log's last sequence. */
export const RecordPageSchema = z
  .object({
    records: z.array(ThreadRecordSchema),
    next: z.int().nonnegative(),
    tail: z.int().nonnegative(),
  })
  .meta({ id: "RecordPage" });
export type RecordPage = z.infer<typeof RecordPageSchema>;

export const TimeoutMillisSchema = z.int().min(0).max(MAX_WAIT_MILLIS);

/** Chosen by the caller, so that it can cancel the wait it asked for. */
export const WaitIdSchema = z.string().min(1).max(128);
