// A thread as its readers see it.
import { z } from "zod";
import { MAX_REASON_CHARACTERS } from "../limits.ts";
import { FaultViewSchema } from "./fault.ts";
import { WaitReasonSchema } from "./submission.ts";

export const ThreadStateSchema = z.enum(["idle", "running", "waiting", "faulted", "deleted"]);
export type ThreadState = z.infer<typeof ThreadStateSchema>;

/** Owed work that somebody has to look at: nothing moves it but a decision, a repair or another deployment. */
export const AttentionSchema = z.object({
  submissionId: z.string(),
  reason: WaitReasonSchema,
  since: z.iso.datetime(),
  deadline: z.iso.datetime().nullable(),
  operationIds: z.array(z.string()).optional(),
});
export type Attention = z.infer<typeof AttentionSchema>;

/** What is left of a thread that was deleted. */
export const TombstoneSchema = z
  .object({
    deletedAt: z.iso.datetime(),
    deletedBy: z.string(),
    /** Submissions that were owed and ended with it, without an outcome. */
    owed: z.int().nonnegative(),
    reason: z.string().optional(),
  })
  .meta({ id: "Tombstone" });
export type Tombstone = z.infer<typeof TombstoneSchema>;

export const DeleteRequestSchema = z.strictObject({
  /** Also while work is owed; needs `threads:operate`. */
  force: z.boolean().default(false),
  /** Over RPC alone: a URL holds no words of anybody's (SEC-06). */
  reason: z.string().min(1).max(MAX_REASON_CHARACTERS).optional(),
});
export type DeleteRequest = z.output<typeof DeleteRequestSchema>;

export const ThreadViewSchema = z
  .object({
    threadId: z.string(),
    /** The log's last sequence. */
    tail: z.int().nonnegative(),
    state: ThreadStateSchema,
    queueDepth: z.int().nonnegative(),
    /** The submission that runs, or whose wait the others are behind. */
    activeSubmission: z.string().optional(),
    attention: z.array(AttentionSchema),
    /** Why nothing of a faulted thread runs, and when it is tried again. */
    fault: FaultViewSchema.optional(),
    /** Of a deleted thread. */
    tombstone: TombstoneSchema.optional(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: "Thread" });
export type ThreadView = z.infer<typeof ThreadViewSchema>;
