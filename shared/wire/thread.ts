// A thread as its readers see it.
import { z } from "zod";
import { WaitReasonSchema } from "./submission.ts";

export const ThreadStateSchema = z.enum(["idle", "running", "waiting"]);
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
    createdAt: z.iso.datetime(),
  })
  .meta({ id: "Thread" });
export type ThreadView = z.infer<typeof ThreadViewSchema>;
