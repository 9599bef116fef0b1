// Why a thread is in its state and what would move it, in words and as data (OBS-04).
import { z } from "zod";
import { JsonSchema } from "../canonical-json.ts";
import { FaultViewSchema } from "./fault.ts";
import { OperationSchema } from "./operations.ts";
import { SubmissionStateSchema, WaitSchema } from "./submission.ts";
import { ThreadStateSchema } from "./thread.ts";
import { RunUsageSchema } from "./usage.ts";

export const InFlightCallSchema = z.object({
  operationId: z.string(),
  toolName: z.string(),
  since: z.iso.datetime(),
  /** The last value the handler passed to `progress`, bounded; provisional and never stored. */
  progress: JsonSchema.optional(),
});
export type InFlightCall = z.infer<typeof InFlightCallSchema>;

export const ExplainedSubmissionSchema = z.object({
  submissionId: z.string(),
  agentId: z.string(),
  queueSequence: z.int(),
  acceptedAt: z.iso.datetime(),
  state: SubmissionStateSchema,
  wait: WaitSchema.optional(),
  /** When its run fails at the latest, where one was started; past that it is overdue, and fails as soon as something moves it. */
  deadlineAt: z.iso.datetime().optional(),
  isOverdue: z.boolean(),
  /** One sentence: what it is doing or waiting for. */
  why: z.string(),
  /** One sentence: what would move it. */
  next: z.string(),
});
export type ExplainedSubmission = z.infer<typeof ExplainedSubmissionSchema>;

/** A lane of the host, or of the runtime beside the runs, that owes something. */
export const ExplainedLaneSchema = z.object({
  id: z.string(),
  /** `parked`: waves without progress used its budget up; it is looked at once an hour. */
  state: z.enum(["due", "parked"]),
  dueAt: z.iso.datetime(),
  unchangedWaves: z.int().nonnegative(),
});
export type ExplainedLane = z.infer<typeof ExplainedLaneSchema>;

export const ExplanationSchema = z
  .object({
    threadId: z.string(),
    state: ThreadStateSchema,
    summary: z.string(),
    queueDepth: z.int(),
    tail: z.int(),
    activeRun: z
      .object({
        submissionId: z.string(),
        runId: z.string(),
        turn: z.int(),
        attempt: z.int(),
        deadlineAt: z.iso.datetime(),
        usage: RunUsageSchema,
        inFlight: z.array(InFlightCallSchema),
      })
      .optional(),
    submissions: z.array(ExplainedSubmissionSchema),
    operations: z.array(OperationSchema),
    fault: FaultViewSchema.optional(),
    lanes: z.array(ExplainedLaneSchema),
    alarm: z.object({ reason: z.string(), dueAt: z.iso.datetime().nullable() }),
  })
  .meta({ id: "Explanation" });
export type Explanation = z.infer<typeof ExplanationSchema>;
