// An ending as records: the unknown outcomes that it leaves as evidence, then the one settlement. Pure.
import { unknownOperationIdOf } from "../../../shared/ids.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import type { SettlementPayload } from "../../../shared/wire/settlement.ts";
import { NO_RUN_USAGE } from "../../../shared/wire/usage.ts";
import type { Ending } from "./decide-step.ts";
import { resultDraft } from "./tool-drafts.ts";
import { isDelivered, lastTurn, openCalls, type CallState, type RunState } from "./run-state.ts";

/** Why an external call without a result is unknown when its run ends. */
type LossReason = "aborted" | "deadline" | "attempt-lost";

/**
 * The records that end a run. An external call that was prepared and never answered may have happened: it becomes an unknown outcome
 * that stays on record, and is no longer an open operation (RUN-10).
 */
export function planSettlement(state: RunState, ending: Ending): RecordDraft[] {
  const { submissionId, runId } = state;
  const turn = lastTurn(state)?.turn ?? 0;
  const open = openCalls(state);
  const lost = open.filter(
    (call) => call.phase === "prepared" && call.preparedEffect === "external",
  );
  const unknowns = open.filter((call) => call.phase === "unknown" || lost.includes(call));
  const payload: SettlementPayload = {
    ...renderEnding(ending),
    ...(unknowns.length === 0
      ? {}
      : {
          unknowns: unknowns.map((call) => unknownOperationIdOf(call.operationId, call.dispatch)),
        }),
    usage: state.usage,
  };
  return [
    ...lost.map((call) => unknownDraft(state, turn, call, lossReason(ending))),
    ...completionDrafts(state, turn, ending),
    ...joinedDrafts(state, ending),
    { type: "SubmissionSettled", submissionId, runId, payload },
  ];
}

/** A completed run leaves no call without a result: later runs show its turns to their models (RUN-16). */
function completionDrafts(state: RunState, turn: number, ending: Ending): RecordDraft[] {
  if (ending.outcome !== "completed" || ending.completion === null) return [];
  const output = { type: "text", value: "The result was accepted." } as const;
  const result = { outcome: "success", output, by: "runtime" } as const;
  return [resultDraft(state, turn, ending.completion, result)];
}

/** Input that was delivered ends as its host does, without the output; the rest gets a run of its own (RUN-12, RUN-13). */
function joinedDrafts(state: RunState, ending: Ending): RecordDraft[] {
  const { submissionId, runId } = state;
  const { output: _output, ...shared } = renderEnding(ending);
  return state.joined
    .filter((joined) => isDelivered(state, joined))
    .map((joined) => ({
      type: "SubmissionSettled" as const,
      submissionId: joined.submissionId,
      runId,
      payload: { ...shared, host: { submissionId, runId }, usage: NO_RUN_USAGE },
    }));
}

/** The record that a call may have happened. */
export function unknownDraft(
  state: RunState,
  turn: number,
  call: CallState,
  reason: LossReason | "timeout" | "answer-lost",
): RecordDraft {
  return {
    type: "ToolUnknown",
    submissionId: state.submissionId,
    runId: state.runId,
    turn,
    payload: {
      operationId: call.operationId,
      toolCallId: call.toolCallId,
      toolName: call.toolName,
      dispatch: call.dispatch,
      argumentsDigest: call.argumentsDigest,
      reason,
    },
  };
}

function lossReason(ending: Ending): LossReason {
  if (ending.outcome === "aborted") return "aborted";
  return ending.outcome === "failed" && ending.limit === "duration" ? "deadline" : "attempt-lost";
}

function renderEnding(ending: Ending): Omit<SettlementPayload, "usage"> {
  switch (ending.outcome) {
    case "completed":
      return {
        outcome: "completed",
        output: ending.output,
        ...(ending.exhausted === null
          ? { finishReason: "stop" }
          : { finishReason: "budget-exhausted", exhausted: ending.exhausted }),
      };
    case "failed":
      return {
        outcome: "failed",
        failure: ending.failure,
        ...(ending.limit === null ? {} : { limit: ending.limit }),
      };
    case "aborted":
      return { outcome: "aborted" };
  }
}
