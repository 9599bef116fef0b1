// The limits of a run, with their defaults and bounds (CTX-01). A value outside its bounds fails when the agent is defined.
import { z } from "zod";
import { DEFAULT_TOOL_RESULT_BYTES, MAX_TOOL_RESULT_BYTES } from "../limits.ts";
import { DurationSchema } from "../define/duration.ts";

export const AgentPolicySchema = z.strictObject({
  /** Model calls of a run; one grace turn may follow under `final-answer`. */
  maxTurns: z.int().min(1).max(1_000).default(12),
  /** Tool handlers that a run may dispatch. */
  maxToolCalls: z.int().min(0).max(10_000).default(24),
  /** Wall clock of the run from the moment its input became canonical (RUN-07). */
  maxDuration: DurationSchema.default("5 minutes"),
  toolConcurrency: z.int().min(1).max(64).default(4),
  /** Consecutive failed tool results that end the run; 0 turns it off (RUN-14). */
  repeatedFailureLimit: z.int().min(0).max(1_000).default(3),
  /** Retries of a model call that failed in passing (RUN-15). */
  modelRetries: z.int().min(0).max(20).default(2),
  /** A model that sends nothing for this long has failed. */
  modelIdleTimeout: DurationSchema.default("60 seconds"),
  onExhaustion: z.enum(["final-answer", "fail"]).default("final-answer"),
  /** Cumulative input and output tokens of the run (CTX-12). */
  tokenBudget: z.int().min(1).max(1_000_000_000).optional(),
  toolResultBounds: z
    .strictObject({
      maxBytes: z.int().min(256).max(MAX_TOOL_RESULT_BYTES).default(DEFAULT_TOOL_RESULT_BYTES),
    })
    .default({ maxBytes: DEFAULT_TOOL_RESULT_BYTES }),
});
export type AgentPolicy = z.infer<typeof AgentPolicySchema>;
export type AgentPolicyInput = z.input<typeof AgentPolicySchema>;

/** The dimensions that `final-answer` can exhaust. */
export const ExhaustedSchema = z.enum(["turns", "tool-calls", "tokens"]);
export type Exhausted = z.infer<typeof ExhaustedSchema>;

/** The limits that can fail a run. */
export const PolicyLimitSchema = z.enum([
  "turns",
  "tool-calls",
  "tokens",
  "duration",
  "repeated-failures",
]);
export type PolicyLimit = z.infer<typeof PolicyLimitSchema>;
