// Server-sent events of a thread: what is sent, and its text. Records are canonical and carry an id to resume from; everything else is
// provisional or derived, and carries none (OBS-03).
import { z } from "zod";
import { PrintableIdSchema } from "../ids.ts";
import { ThreadRecordSchema, type ThreadRecord } from "./records.ts";
import { HostRunSchema, SettlementSchema } from "./settlement.ts";
import { SubmissionStateSchema, WaitSchema } from "./submission.ts";
import { ThreadViewSchema } from "./thread.ts";

export const EventsRequestSchema = z.strictObject({
  /** Only records past this sequence; the `id` of the last event that was seen. */
  after: z.int().nonnegative().default(0),
  /** Follows one submission: its records alone, ending with its settlement. */
  submissionId: PrintableIdSchema.optional(),
  /** Provisional text of the open turn. */
  deltas: z.boolean().default(true),
});
export type EventsRequest = z.output<typeof EventsRequestSchema>;

/** Of a thread, or, where one submission is followed, of that. Not canonical: the newest one counts. */
export const StateEventSchema = z.union([
  z.object({
    submissionId: z.string(),
    state: SubmissionStateSchema,
    /** Submissions before it in the queue. */
    position: z.int().nonnegative().optional(),
    wait: WaitSchema.optional(),
    host: HostRunSchema.optional(),
  }),
  ThreadViewSchema.omit({ tail: true, createdAt: true }),
]);

/**
 * Text of a turn whose response is not canonical yet. `offset` counts UTF-16 units of that kind's text in the turn; what a reader has from
 * there on is replaced, so that a repeated call, which begins at 0 again, corrects what a lost one had shown. `resync` has the same form
 * and holds the open turn from its beginning.
 */
export const DeltaEventSchema = z.object({
  submissionId: z.string(),
  turn: z.int().positive(),
  attempt: z.int().positive(),
  kind: z.enum(["text", "reasoning"]),
  offset: z.int().nonnegative(),
  text: z.string(),
});
export type DeltaEvent = z.infer<typeof DeltaEventSchema>;

export const SettledEventSchema = z.object({
  submissionId: z.string(),
  settlement: SettlementSchema,
});

/** The cursor cannot be read: it is past the log's end, or the log behind it is damaged. Nothing follows. */
export const GapEventSchema = z.object({
  after: z.int().nonnegative(),
  tail: z.int().nonnegative(),
  reason: z.enum(["past-the-end", "unreadable"]),
});

/** A planned end: reconnect, after `retry` milliseconds, with the last id. */
export const ByeEventSchema = z.object({ reason: z.enum(["idle", "interrupted"]) });

export const ThreadEventSchema = z
  .discriminatedUnion("event", [
    z.object({ event: z.literal("record"), data: ThreadRecordSchema }),
    z.object({ event: z.literal("state"), data: StateEventSchema }),
    z.object({ event: z.literal("delta"), data: DeltaEventSchema }),
    z.object({ event: z.literal("resync"), data: DeltaEventSchema }),
    z.object({ event: z.literal("settled"), data: SettledEventSchema }),
    z.object({ event: z.literal("gap"), data: GapEventSchema }),
    z.object({ event: z.literal("bye"), data: ByeEventSchema }),
  ])
  .meta({ id: "ThreadEvent" });
export type ThreadEvent = z.infer<typeof ThreadEventSchema>;

/** The text of an event, ended by the empty line. JSON has no line breaks of its own. */
export function renderEvent({ event, data }: ThreadEvent, retryMillis?: number): string {
  const retry = retryMillis === undefined ? "" : `retry: ${retryMillis}\n`;
  return `event: ${event}\n${retry}data: ${JSON.stringify(data)}\n\n`;
}

export function renderRecord(record: ThreadRecord): string {
  return `event: record\nid: ${record.sequence}\ndata: ${JSON.stringify(record)}\n\n`;
}

/** How far the log was looked through, records of other submissions included: a comment between object and Worker, not for clients. */
export function renderThrough(sequence: number): string {
  return `: through ${sequence}\n\n`;
}
