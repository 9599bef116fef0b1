// Exponential delays. Randomness is an argument, so that a decision stays a function of its inputs.

/** `attempt` counts from 1. `random` is in [0, 1). */
export interface BackoffPolicy {
  readonly baseMillis: number;
  readonly capMillis: number;
}

/**
 * The delay before try `attempt + 1`: the base doubled per attempt up to the cap, then drawn uniformly from its upper half, so that
 * many objects that failed together do not come back together.
 */
export function planBackoff(policy: BackoffPolicy, attempt: number, random: number): number {
  const doublings = Math.min(Math.max(attempt, 1) - 1, 30);
  const ceiling = Math.min(policy.capMillis, policy.baseMillis * 2 ** doublings);
  return Math.max(1, Math.round(ceiling / 2 + (ceiling / 2) * random));
}
