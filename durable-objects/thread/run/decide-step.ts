// decide(RunState, policy, now) → Step: the one decision of the run loop. It never reads a clock, a store or a network, and it is asked
// the same way in a fresh run, at the next turn, and after a crash (RUN-01). Pure.
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { unknownOperationIdOf } from "../../../shared/ids.ts";
import type { EpochMillis } from "../../../shared/time.ts";
import type { AgentPolicy, Exhausted, PolicyLimit } from "../../../shared/wire/policy.ts";
import type { Failure } from "../../../shared/wire/settlement.ts";
import type { WaitReason } from "../../../shared/wire/submission.ts";
import {
  decideCallAllowance,
  decideFinalExhaustion,
  isCostBreached,
  isCostSpent,
  type Spending,
} from "../../context/exhaustion.ts";
import type { OutputContract } from "../../agents/output-contract.ts";
import { hadRepairTurn, isAnswer, readAnswer } from "./decide-output.ts";
import { countTrailingFailures } from "./repeated-failures.ts";
import {
  isDelivered,
  isLostOutside,
  lastTurn,
  type CallState,
  type RunState,
  type TurnState,
} from "./run-state.ts";

export type Ending =
  | {
      readonly outcome: "completed";
      readonly output: JsonValue;
      readonly exhausted: Exhausted | null;
      /** The call of the completion tool that brought the output; null where a text did. */
      readonly completion: CallState | null;
    }
  | { readonly outcome: "failed"; readonly failure: Failure; readonly limit: PolicyLimit | null }
  | { readonly outcome: "aborted" };

/** How a run ends at its deadline, whatever it does or waits for then (RUN-07). */
export const DURATION_PASSED: Ending = {
  outcome: "failed",
  failure: { tag: "PolicyLimitError", message: "The run passed its maxDuration." },
  limit: "duration",
};

export interface RunWait {
  readonly reason: Extract<WaitReason, "approval" | "unknown-outcome" | "retry-backoff">;
  /** When the run moves by itself; null when only a decision moves it. */
  readonly dueAt: EpochMillis | null;
  readonly operationIds: readonly string[];
}

export type Step =
  | { readonly kind: "call-model"; readonly turn: number; readonly graceFor: Exhausted | null }
  /** An earlier attempt was lost with a model call that may have been open: say so before calling again. */
  | { readonly kind: "note-interruption"; readonly turn: number; readonly supersededEpoch: number }
  /** A turn boundary: input of other submissions waits to join before the next call (RUN-09). */
  | { readonly kind: "join-inputs" }
  | { readonly kind: "run-tools"; readonly turn: TurnState }
  /** Prepared by a lost attempt, never answered, not safe to repeat: these may have happened. */
  | { readonly kind: "mark-unknown"; readonly turn: number; readonly calls: readonly CallState[] }
  | { readonly kind: "wait"; readonly wait: RunWait }
  | { readonly kind: "settle"; readonly ending: Ending };

export interface StepFacts extends OutputContract {
  /** The agent's, tightened by what the caller allowed. */
  readonly policy: AgentPolicy;
  readonly model: {
    /** Under which its price stands. */
    readonly id: string;
    readonly isPriced: boolean;
    readonly runsProviderTools: boolean;
  };
  /** Of the call that the run would make next; asked only where a limit on tokens is set (CTX-17). */
  readonly estimateCallTokens: (state: RunState) => number;
  /** Input of other submissions waits to join the run. */
  readonly hasJoiners: boolean;
  readonly now: EpochMillis;
  /** The epoch of the attempt that this one took over from while it ran; null when there was none or it ended in order. */
  readonly supersededEpoch: number | null;
}

/** The next step of a run whose input is canonical and that is not settled. */
export function decideStep(state: RunState, facts: StepFacts): Step {
  if (state.abort !== null) return { kind: "settle", ending: { outcome: "aborted" } };
  if (state.start !== null && facts.now >= state.start.deadlineAt) {
    return { kind: "settle", ending: DURATION_PASSED };
  }
  if (isCostBreached(facts.policy, state.usage)) return settleOnCost(facts.policy);
  const turn = lastTurn(state);
  if (turn === null) return decideModelCall(state, facts);
  const open = turn.calls.filter((call) => call.phase !== "settled");
  if (isAnswer(turn, facts.completionTool)) return decideAnswer(state, turn, facts);
  return open.length > 0 ? decideBatch(state, turn, open) : decideModelCall(state, facts);
}

/** A batch with open calls. An unknown outcome stops everything of the run, not only its own call (TOOL-04). */
function decideBatch(state: RunState, turn: TurnState, open: readonly CallState[]): Step {
  const lost = open.filter(isLostOutside);
  if (lost.length > 0) return { kind: "mark-unknown", turn: turn.turn, calls: lost };
  const unknown = open.filter((call) => call.phase === "unknown");
  if (unknown.length > 0) return waitFor("unknown-outcome", null, unknown);
  const asked = open.filter((call) => call.phase === "awaiting-approval");
  if (asked.length > 0) return waitFor("approval", state.start?.deadlineAt ?? null, asked);
  return { kind: "run-tools", turn };
}

function decideModelCall(state: RunState, facts: StepFacts): Step {
  const { policy, now, supersededEpoch } = facts;
  const turn = state.turns.length + 1;
  const failures = countTrailingFailures(state.turns, facts.completionTool);
  if (policy.repeatedFailureLimit > 0 && failures >= policy.repeatedFailureLimit) {
    return settleOnLimit(
      "repeated-failures",
      `${failures} tool results in a row failed; repeatedFailureLimit is ${policy.repeatedFailureLimit}.`,
    );
  }
  const refusal = refuseOnCost(state, facts);
  if (refusal !== null) return refusal;
  const { tokenBudget, contextTokenLimit } = policy;
  const isMeasured = tokenBudget !== undefined || contextTokenLimit !== undefined;
  const inputTokens = isMeasured ? facts.estimateCallTokens(state) : 0;
  const { runsProviderTools } = facts.model;
  const next = { inputTokens, runsProviderTools };
  const allowance = decideCallAllowance(policy, spendingOf(state), next);
  if (allowance.kind === "refused") {
    return settleOnLimit(allowance.exhausted, renderExhausted(allowance.exhausted, policy));
  }
  if (contextTokenLimit !== undefined && inputTokens > contextTokenLimit) {
    return fail(
      "ContextBudgetError",
      `The next call would take about ${inputTokens} input tokens; contextTokenLimit is ${contextTokenLimit}.`,
    );
  }
  if (state.retryAt !== null && state.retryAt > now) {
    const deadlineAt = state.start?.deadlineAt ?? state.retryAt;
    return waitFor("retry-backoff", Math.min(state.retryAt, deadlineAt), []);
  }
  if (mayHaveLostCall(state, supersededEpoch)) {
    return { kind: "note-interruption", turn, supersededEpoch };
  }
  // A grace turn has no room for more: what did not join by then gets a run of its own.
  if (facts.hasJoiners && allowance.kind === "free") return { kind: "join-inputs" };
  return {
    kind: "call-model",
    turn,
    graceFor: allowance.kind === "grace" ? allowance.exhausted : null,
  };
}

/** The attempt before this one committed nothing after it could have called the model: it may have been lost inside that call. */
export function mayHaveLostCall(
  state: RunState,
  supersededEpoch: number | null,
): supersededEpoch is number {
  if (supersededEpoch === null || supersededEpoch <= state.interruptedEpoch) return false;
  return (
    supersededEpoch > state.lastEpoch ||
    (supersededEpoch === state.lastEpoch && state.callMayBeOpen)
  );
}

/** An answer that does not decode gets one repair turn, inside the limits of the run (RUN-16). */
function decideAnswer(state: RunState, turn: TurnState, facts: StepFacts): Step {
  const answer = readAnswer(turn, facts);
  if (answer.kind === "output") {
    const restart = decideRestart(state, turn, facts);
    if (restart !== null) return restart;
    const exhausted = decideFinalExhaustion(facts.policy, spendingOf(state));
    const { output, call } = answer;
    return {
      kind: "settle",
      ending: { outcome: "completed", output, exhausted, completion: call },
    };
  }
  if (turn.graceFor === null && !hadRepairTurn(state, facts.completionTool)) {
    const next = decideModelCall(state, facts);
    const isOver = next.kind === "settle" || (next.kind === "call-model" && next.graceFor !== null);
    // A call of the completion tool gets its result before the model is asked again.
    if (!isOver) return turn.calls.length > 0 ? { kind: "run-tools", turn } : next;
  }
  const cut = turn.finishReason === "length" ? " It was cut by its length limit." : "";
  return fail(
    "OutputInvalid",
    `The model's answer does not fit the output schema; its record says where.${cut}`,
  );
}

/** Another turn of a run that has its answer, for input that joined while it was made; null where it settles (RUN-09). */
function decideRestart(state: RunState, turn: TurnState, facts: StepFacts): Step | null {
  const hasOpenInput =
    facts.hasJoiners || state.joined.some((joined) => !isDelivered(state, joined));
  if (!facts.policy.restartOnJoinedInput || !hasOpenInput || turn.graceFor !== null) return null;
  const next = decideModelCall(state, facts);
  const isOver = next.kind === "settle" || (next.kind === "call-model" && next.graceFor !== null);
  if (isOver) return null;
  // The input first: with it there may be no room for another turn, and then the run still ends with the answer that it has.
  if (next.kind === "join-inputs") return next;
  // A call of the completion tool gets its result before the model is asked again.
  return turn.calls.length > 0 ? { kind: "run-tools", turn } : next;
}

/** What the exhaustion rules need to know of a run. */
export function spendingOf(state: RunState): Spending {
  const turn = lastTurn(state);
  const rejected = turn?.calls.find((call) => call.result?.outcome === "budget-rejected");
  return {
    usage: state.usage,
    graceFor: state.turns.find((earlier) => earlier.graceFor !== null)?.graceFor ?? null,
    rejectedFor: rejected?.result?.exhausted ?? null,
  };
}

function renderExhausted(exhausted: Exhausted, policy: AgentPolicy): string {
  switch (exhausted) {
    case "turns":
      return `The run used its ${policy.maxTurns} turns without a final answer.`;
    case "tool-calls":
      return `The run asked for more than its ${policy.maxToolCalls} tool calls.`;
    case "tokens":
      return `Nothing is left of the run's ${policy.tokenBudget} tokens for another call (completionReserveTokens is ${policy.completionReserveTokens}).`;
  }
}

/** More money cannot be unspent: a breach fails the run, and a budget without a price would measure nothing (CTX-12, CTX-15). */
function refuseOnCost(state: RunState, { policy, model }: StepFacts): Step | null {
  if (policy.costBudgetMicrousd === undefined) return null;
  if (isCostSpent(policy, state.usage)) return settleOnCost(policy);
  return model.isPriced
    ? null
    : settleOnLimit(
        "cost",
        `costBudgetMicrousd is set, and the model has no price: add ${JSON.stringify(model.id)} to \`prices\` of holdfast({ … }).`,
      );
}

function settleOnCost(policy: AgentPolicy): Step {
  return settleOnLimit(
    "cost",
    `The run used its ${policy.costBudgetMicrousd} millionths of a US dollar.`,
  );
}

function fail(tag: Failure["tag"], message: string): Step {
  return {
    kind: "settle",
    ending: { outcome: "failed", failure: { tag, message }, limit: null },
  };
}

function settleOnLimit(limit: PolicyLimit, message: string): Step {
  return {
    kind: "settle",
    ending: { outcome: "failed", failure: { tag: "PolicyLimitError", message }, limit },
  };
}

function operationIdOfWait(call: CallState): string {
  return call.phase === "unknown"
    ? unknownOperationIdOf(call.operationId, call.dispatch)
    : call.operationId;
}

function waitFor(
  reason: RunWait["reason"],
  dueAt: EpochMillis | null,
  calls: readonly CallState[],
): Step {
  return {
    kind: "wait",
    wait: { reason, dueAt, operationIds: calls.map(operationIdOfWait) },
  };
}
