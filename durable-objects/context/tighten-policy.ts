// The limits that a submission runs under: its agent's, tightened by what its caller allowed (CTX-02). Pure.
import type { AgentPolicy, Allowances } from "../../shared/wire/policy.ts";

/** An allowance never widens a limit, and never takes the last turn or call. */
export function tightenPolicy(policy: AgentPolicy, allowances: Allowances | null): AgentPolicy {
  if (allowances === null) return policy;
  return {
    ...policy,
    maxTurns: tighten(policy.maxTurns, allowances.turns),
    maxToolCalls: tighten(policy.maxToolCalls, allowances.toolCalls),
  };
}

function tighten(limit: number, allowance: number | undefined): number {
  return allowance === undefined ? limit : Math.min(limit, Math.max(1, Math.floor(allowance)));
}
