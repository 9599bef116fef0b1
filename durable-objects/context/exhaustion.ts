// Which limit of the policy a run has used up, and what that means for its next batch or its next model call (CTX-12, CTX-14, CTX-15,
// CTX-36). Pure.
import type { AgentPolicy, Exhausted } from "../../shared/wire/policy.ts";
import type { RunUsage } from "../../shared/wire/usage.ts";

/** What a run did so far, as far as limits go. */
export interface Spending {
  readonly usage: RunUsage;
  /** The limit of the grace turn, once it was taken: there is one per run, over all limits. */
  readonly graceFor: Exhausted | null;
  /** The limit for which the last batch was rejected. */
  readonly rejectedFor: Exhausted | null;
}

/** The model call that would come next. */
export interface NextCall {
  /** Estimated; 0 where nothing needs it (CTX-17). */
  readonly inputTokens: number;
  /** The provider runs tools of its own while it answers: no rejection can come between, so the call itself needs room for one. */
  readonly runsProviderTools: boolean;
}

/** Stops at the largest exact count, as the counts themselves do. */
export function tokensUsed(usage: RunUsage): number {
  return Math.min(usage.inputTokens + usage.outputTokens, Number.MAX_SAFE_INTEGER);
}

/** What of the token budget may be spent before the final answer; undefined without a budget. */
export function researchTokens(policy: AgentPolicy): number | undefined {
  const { tokenBudget, completionReserveTokens } = policy;
  return tokenBudget === undefined ? undefined : tokenBudget - completionReserveTokens;
}

/**
 * The limit that keeps a batch of `calls` handlers from running, or null. A batch runs whole or not at all, so that the model never
 * sees half of what it asked for.
 */
export function decideBatchExhaustion(
  policy: AgentPolicy,
  usage: RunUsage,
  calls: number,
): Exhausted | null {
  if (tokensUsed(usage) >= (researchTokens(policy) ?? Infinity)) return "tokens";
  if (calls > 0 && usage.toolCalls + calls > policy.maxToolCalls) return "tool-calls";
  return null;
}

export type CallAllowance =
  | { readonly kind: "free" }
  /** One more call, without tools: the run's only grace turn. */
  | { readonly kind: "grace"; readonly exhausted: Exhausted }
  | { readonly kind: "refused"; readonly exhausted: Exhausted };

/**
 * Whether the run may call the model again, and how. A call that does not fit what research may spend ends research; the grace turn may
 * spend the reserve too, and one that does not fit even that is not made.
 */
export function decideCallAllowance(
  policy: AgentPolicy,
  spending: Spending,
  next: NextCall,
): CallAllowance {
  const { usage, graceFor, rejectedFor } = spending;
  const afterwards = tokensUsed(usage) + next.inputTokens;
  const exhausted =
    graceFor ??
    rejectedFor ??
    (isPast(afterwards, researchTokens(policy)) ? "tokens" : null) ??
    (usage.turns >= policy.maxTurns ? "turns" : null) ??
    (next.runsProviderTools && usage.toolCalls >= policy.maxToolCalls ? "tool-calls" : null);
  if (exhausted === null) return { kind: "free" };
  // A grace turn that was answered with tool calls has no successor.
  if (policy.onExhaustion === "fail" || graceFor !== null) return { kind: "refused", exhausted };
  if (isPast(afterwards, policy.tokenBudget)) return { kind: "refused", exhausted: "tokens" };
  return { kind: "grace", exhausted };
}

/** With nothing left there is no room for even the smallest call. */
function isPast(tokens: number, limit: number | undefined): boolean {
  return limit !== undefined && tokens >= limit;
}

/** The mark of a final answer: the limit of the grace turn, or tokens when this very answer went past the budget. */
export function decideFinalExhaustion(policy: AgentPolicy, spending: Spending): Exhausted | null {
  if (spending.graceFor !== null) return spending.graceFor;
  const { tokenBudget } = policy;
  return tokenBudget !== undefined && tokensUsed(spending.usage) > tokenBudget ? "tokens" : null;
}

/** Why the cost budget ends the run now, or null. More money cannot be unspent, so a breach always fails (CTX-15). */
export function isCostBreached(policy: AgentPolicy, usage: RunUsage): boolean {
  return policy.costBudgetMicrousd !== undefined && usage.costMicrousd > policy.costBudgetMicrousd;
}

/** Nothing of the cost budget is left for another call. */
export function isCostSpent(policy: AgentPolicy, usage: RunUsage): boolean {
  return policy.costBudgetMicrousd !== undefined && usage.costMicrousd >= policy.costBudgetMicrousd;
}
