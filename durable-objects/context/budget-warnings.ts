// Which budgets a run has used to four fifths (CTX-13). Pure.
import {
  BudgetDimensionSchema,
  type AgentPolicy,
  type BudgetDimension,
} from "../../shared/wire/policy.ts";
import type { RunUsage } from "../../shared/wire/usage.ts";
import { researchTokens, tokensUsed } from "./exhaustion.ts";

export interface BudgetUse {
  readonly dimension: BudgetDimension;
  readonly used: number;
  readonly limit: number;
}

const DIMENSIONS = BudgetDimensionSchema.options;

/** What of a limit is left without a word. Source: CTX-13. */
const WARNING_SHARE = 0.8;

export interface Spent {
  readonly usage: RunUsage;
  readonly elapsedMillis: number;
  readonly maxDurationMillis: number;
}

/** The budgets, not among those already `warned` of, that are used to four fifths, or that cannot cover another input like the last. */
export function findBudgetWarnings(
  policy: AgentPolicy,
  spent: Spent,
  warned: readonly BudgetDimension[],
): BudgetUse[] {
  const found: BudgetUse[] = [];
  for (const dimension of DIMENSIONS) {
    if (warned.includes(dimension)) continue;
    const { used, limit } = useOf(dimension, policy, spent);
    if (limit === undefined || limit < 1) continue;
    const cannotRepeat = dimension === "tokens" && limit - used < spent.usage.lastInputTokens;
    if (used >= limit * WARNING_SHARE || cannotRepeat) found.push({ dimension, used, limit });
  }
  return found;
}

function useOf(
  dimension: BudgetDimension,
  policy: AgentPolicy,
  { usage, elapsedMillis, maxDurationMillis }: Spent,
): { readonly used: number; readonly limit: number | undefined } {
  switch (dimension) {
    case "turns":
      return { used: usage.turns, limit: policy.maxTurns };
    case "tool-calls":
      return { used: usage.toolCalls, limit: policy.maxToolCalls };
    case "tokens":
      return { used: tokensUsed(usage), limit: researchTokens(policy) };
    case "cost":
      return { used: usage.costMicrousd, limit: policy.costBudgetMicrousd };
    case "duration":
      return { used: elapsedMillis, limit: maxDurationMillis };
  }
}
