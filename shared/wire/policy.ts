// The limits of a run, with their defaults and bounds (CTX-01). A value outside its bounds fails when the agent is defined.
import { z } from "zod";
import { DEFAULT_TOOL_RESULT_BYTES, MAX_TOOL_RESULT_BYTES } from "../limits.ts";
import { DurationSchema } from "../define/duration.ts";

export const AgentPolicySchema = z
  .strictObject({
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
    /** What of the token budget only the last, tool-free answer may spend (CTX-36). Without a reserve a run that runs out of tokens fails. */
    completionReserveTokens: z.int().min(0).max(1_000_000_000).default(0),
    /** Cumulative estimated cost of the run in millionths of a US dollar; needs a price for the agent's model (CTX-12). */
    costBudgetMicrousd: z.int().min(1).max(1_000_000_000_000).optional(),
    /** Estimated input tokens of any one call; a call past it is not made (CTX-07). */
    contextTokenLimit: z.int().min(1).max(100_000_000).optional(),
    /** A run that is about to complete takes another turn for input that joined while it answered, inside its limits (RUN-09). */
    restartOnJoinedInput: z.boolean().default(false),
    toolResultBounds: z
      .strictObject({
        maxBytes: z.int().min(256).max(MAX_TOOL_RESULT_BYTES).default(DEFAULT_TOOL_RESULT_BYTES),
      })
      .default({ maxBytes: DEFAULT_TOOL_RESULT_BYTES }),
  })
  .refine(
    ({ tokenBudget = 0, completionReserveTokens: reserve }) =>
      reserve === 0 || reserve < tokenBudget,
    { path: ["completionReserveTokens"], message: "must be below tokenBudget" },
  );
export type AgentPolicy = z.infer<typeof AgentPolicySchema>;
export type AgentPolicyInput = z.input<typeof AgentPolicySchema>;

/** The dimensions that `final-answer` can exhaust. */
export const ExhaustedSchema = z.enum(["turns", "tool-calls", "tokens"]);
export type Exhausted = z.infer<typeof ExhaustedSchema>;

/** What a run is warned about when four fifths of it are gone (CTX-13). */
export const BudgetDimensionSchema = z.enum(["turns", "tool-calls", "tokens", "cost", "duration"]);
export type BudgetDimension = z.infer<typeof BudgetDimensionSchema>;

/** The limits that can fail a run. */
export const PolicyLimitSchema = z.enum([
  "turns",
  "tool-calls",
  "tokens",
  "cost",
  "duration",
  "repeated-failures",
]);
export type PolicyLimit = z.infer<typeof PolicyLimitSchema>;

/** What a caller grants a submission at most: an allowance can only tighten the agent's policy, and never below one (CTX-02). */
export const AllowancesSchema = z
  .strictObject({ turns: z.number().exactOptional(), toolCalls: z.number().exactOptional() })
  .meta({ id: "Allowances" });
export type Allowances = z.infer<typeof AllowancesSchema>;
