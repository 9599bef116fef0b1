// Which limit of the policy a run has used up, and what that means for its next batch or its next model call (CTX-12, CTX-14, CTX-15).
// Pure.
import type { AgentPolicy, Exhausted } from "../../shared/wire/policy.ts";
import type { Usage } from "../../shared/wire/usage.ts";

/** What a run did so far, as far as limits go. */
export interface Spending {
  readonly usage: Usage;
  /** The limit of the grace turn, once it was taken: there is one per run, over all limits. */
  readonly graceFor: Exhausted | null;
  /** The limit for which the last batch was rejected. */
  readonly rejectedFor: Exhausted | null;
}

export function tokensUsed(usage: Usage): number {
  return usage.inputTokens + usage.outputTokens;
}

/** The token budget is gone: there is nothing left for another call. */
function tokensAreSpent(policy: AgentPolicy, usage: Usage): boolean {
  return policy.tokenBudget !== undefined && tokensUsed(usage) >= policy.tokenBudget;
}

/**
 * The limit that keeps a batch of `calls` handlers from running, or null. A batch runs whole or not at all, so that the model never
 * sees half of what it asked for.
 */
export function decideBatchExhaustion(
  policy: AgentPolicy,
  usage: Usage,
  calls: number,
): Exhausted | null {
  if (tokensAreSpent(policy, usage)) return "tokens";
  if (calls > 0 && usage.toolCalls + calls > policy.maxToolCalls) return "tool-calls";
  return null;
}

export type CallAllowance =
  | { readonly kind: "free" }
  /** One more call, without tools: the run's only grace turn. */
  | { readonly kind: "grace"; readonly exhausted: Exhausted }
  | { readonly kind: "refused"; readonly exhausted: Exhausted };

/** Whether the run may call the model again, and how. */
export function decideCallAllowance(policy: AgentPolicy, spending: Spending): CallAllowance {
  const exhausted =
    spending.graceFor ??
    spending.rejectedFor ??
    (tokensAreSpent(policy, spending.usage) ? "tokens" : null) ??
    (spending.usage.turns >= policy.maxTurns ? "turns" : null);
  if (exhausted === null) return { kind: "free" };
  // A grace turn that was answered with tool calls has no successor.
  if (policy.onExhaustion === "fail" || spending.graceFor !== null) {
    return { kind: "refused", exhausted };
  }
  return { kind: "grace", exhausted };
}

/** The mark of a final answer: the limit of the grace turn, or tokens when this very answer went past the budget. */
export function decideFinalExhaustion(policy: AgentPolicy, spending: Spending): Exhausted | null {
  if (spending.graceFor !== null) return spending.graceFor;
  const { tokenBudget } = policy;
  return tokenBudget !== undefined && tokensUsed(spending.usage) > tokenBudget ? "tokens" : null;
}
