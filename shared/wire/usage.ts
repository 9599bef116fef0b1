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
  /** Calls whose handler was dispatched; rejected, denied and invalid calls are not among them. */
  toolCalls: CountSchema,
  /** Model calls that ended in an error; their tokens are counted where the provider reported them. */
  failedModelCalls: CountSchema,
  /** Model calls that were open when their attempt was lost: paid for, perhaps, and repeated (REC-03). */
  interruptedModelCalls: CountSchema,
}).meta({ id: "Usage" });
export type Usage = z.infer<typeof UsageSchema>;

export const USAGE_FIELDS = Object.keys(UsageSchema.shape);

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
};

/** The sum of two token counts. */
export function addTokens(left: TokenUsage, right: TokenUsage): TokenUsage {
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    cacheReadInputTokens: left.cacheReadInputTokens + right.cacheReadInputTokens,
    cacheWriteInputTokens: left.cacheWriteInputTokens + right.cacheWriteInputTokens,
  };
}

/** The sum of two accounts. */
export function addUsage(left: Usage, right: Usage): Usage {
  return {
    ...addTokens(left, right),
    turns: left.turns + right.turns,
    toolCalls: left.toolCalls + right.toolCalls,
    failedModelCalls: left.failedModelCalls + right.failedModelCalls,
    interruptedModelCalls: left.interruptedModelCalls + right.interruptedModelCalls,
  };
}

/** What a thread spent: settled and owed work together, and what of it is still open. */
export const ThreadUsageSchema = z
  .object({
    threadId: z.string(),
    usage: UsageSchema,
    settled: CountSchema,
    owed: z.array(z.object({ submissionId: z.string(), usage: UsageSchema })),
  })
  .meta({ id: "ThreadUsage" });
export type ThreadUsage = z.infer<typeof ThreadUsageSchema>;
