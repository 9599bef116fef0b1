// What a run spent, folded from its records. Counts are non-negative safe integers, or the record is refused (CTX-16).
import { z } from "zod";

const CountSchema = z.int().nonnegative();

export const TokenUsageSchema = z.object({
  inputTokens: CountSchema,
  outputTokens: CountSchema,
  cacheReadInputTokens: CountSchema,
  cacheWriteInputTokens: CountSchema,
});
export type TokenUsage = z.infer<typeof TokenUsageSchema>;

export const UsageSchema = TokenUsageSchema.extend({
  /** Responses that became canonical. */
  turns: CountSchema,
  /** Calls whose handler was dispatched, and calls that the provider ran itself; rejected, denied and invalid calls are not among them. */
  toolCalls: CountSchema,
  /** Model calls that ended in an error; their tokens are counted where the provider reported them. */
  failedModelCalls: CountSchema,
  /** Model calls that were open when their attempt was lost: paid for, perhaps, and repeated (REC-03). */
  interruptedModelCalls: CountSchema,
  /** Estimated with the price table, in millionths of a US dollar. */
  costMicrousd: CountSchema,
  /** Calls that used tokens of a model without a price: where there are any, the cost is a lower bound (GW-04). */
  unpricedModelCalls: CountSchema,
}).meta({ id: "Usage" });
export type Usage = z.infer<typeof UsageSchema>;

/** A run's account: what it spent in all, and what its last response took, which is how full the model's context is (CTX-16). */
export const RunUsageSchema = UsageSchema.extend({
  lastInputTokens: CountSchema,
  lastOutputTokens: CountSchema,
}).meta({ id: "RunUsage" });
export type RunUsage = z.infer<typeof RunUsageSchema>;

/** Null where the model has no price. */
export const CostSchema = CountSchema.nullable();

/** The counts in the order in which the ledger keeps them. A new one comes last: stored lists are never rewritten. */
export const USAGE_FIELDS = [
  "inputTokens",
  "outputTokens",
  "cacheReadInputTokens",
  "cacheWriteInputTokens",
  "turns",
  "toolCalls",
  "failedModelCalls",
  "interruptedModelCalls",
  "costMicrousd",
  "unpricedModelCalls",
] as const satisfies readonly (keyof Usage)[];

/** The counts of one model call, in the order in which records store them. */
export const TOKEN_FIELDS = [
  "inputTokens",
  "outputTokens",
  "cacheReadInputTokens",
  "cacheWriteInputTokens",
] as const satisfies readonly (keyof TokenUsage)[];

/** The same of a run's account. A change of the order, or of the length, is another schema version of records. */
export const RUN_USAGE_FIELDS = [
  ...USAGE_FIELDS,
  "lastInputTokens",
  "lastOutputTokens",
] as const satisfies readonly (keyof RunUsage)[];

/** The counts alone, as JSON: one for every settled submission, so it is kept short. */
export function encodeUsage(usage: Usage): string {
  return JSON.stringify(USAGE_FIELDS.map((field) => usage[field]));
}

export const NO_TOKENS: TokenUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheWriteInputTokens: 0,
};

export const NO_USAGE: Usage = {
  ...NO_TOKENS,
  turns: 0,
  toolCalls: 0,
  failedModelCalls: 0,
  interruptedModelCalls: 0,
  costMicrousd: 0,
  unpricedModelCalls: 0,
};

export const NO_RUN_USAGE: RunUsage = { ...NO_USAGE, lastInputTokens: 0, lastOutputTokens: 0 };

/** Stops at the largest exact count: a provider that reports absurd ones must not make a record that no schema takes. */
function add(left: number, right: number): number {
  return Math.min(left + right, Number.MAX_SAFE_INTEGER);
}

/** The sum of two token counts. */
export function addTokens(left: TokenUsage, right: TokenUsage): TokenUsage {
  return {
    inputTokens: add(left.inputTokens, right.inputTokens),
    outputTokens: add(left.outputTokens, right.outputTokens),
    cacheReadInputTokens: add(left.cacheReadInputTokens, right.cacheReadInputTokens),
    cacheWriteInputTokens: add(left.cacheWriteInputTokens, right.cacheWriteInputTokens),
  };
}

/** The sum of two accounts. */
export function addUsage(left: Usage, right: Usage): Usage {
  return {
    ...addTokens(left, right),
    turns: add(left.turns, right.turns),
    toolCalls: add(left.toolCalls, right.toolCalls),
    failedModelCalls: add(left.failedModelCalls, right.failedModelCalls),
    interruptedModelCalls: add(left.interruptedModelCalls, right.interruptedModelCalls),
    costMicrousd: add(left.costMicrousd, right.costMicrousd),
    unpricedModelCalls: add(left.unpricedModelCalls, right.unpricedModelCalls),
  };
}

/** What a thread spent: settled and owed work together, and what of it is still open. */
export const ThreadUsageSchema = z
  .object({
    threadId: z.string(),
    usage: UsageSchema,
    settled: CountSchema,
    owed: z.array(z.object({ submissionId: z.string(), usage: RunUsageSchema })),
  })
  .meta({ id: "ThreadUsage" });
export type ThreadUsage = z.infer<typeof ThreadUsageSchema>;
