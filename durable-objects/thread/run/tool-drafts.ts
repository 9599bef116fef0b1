// The records of a tool batch. Pure.
import type { JsonValue } from "../../../shared/canonical-json.ts";
import type { RecordDraft, RecordOf, ToolOutcome } from "../../../shared/wire/records.ts";
import type { ToolOutput } from "../../../shared/wire/messages.ts";
import type { Exhausted } from "../../../shared/wire/policy.ts";
import type { CandidateCall } from "./plan-batch.ts";
import type { CallState, RunState } from "./run-state.ts";

function ofTurn(state: RunState, turn: number) {
  return { submissionId: state.submissionId, runId: state.runId, turn };
}

function identityOf({ operationId, toolCallId, toolName }: CallState) {
  return { operationId, toolCallId, toolName };
}

/** A call's one result. */
export function resultDraft(
  state: RunState,
  turn: number,
  call: CallState,
  result: {
    readonly outcome: ToolOutcome;
    readonly output: ToolOutput;
    readonly by: RecordOf<"ToolSettled">["payload"]["by"];
    readonly exhausted?: Exhausted;
  },
): RecordDraft {
  return {
    type: "ToolSettled",
    ...ofTurn(state, turn),
    payload: { ...identityOf(call), ...result },
  };
}

/** The answer to a question about a call: a person's, or the tool's own. */
export function decisionDraft(
  state: RunState,
  turn: number,
  call: CallState,
  decided: Omit<RecordOf<"OperationDecided">["payload"], keyof ReturnType<typeof identityOf>>,
): RecordDraft {
  return {
    type: "OperationDecided",
    ...ofTurn(state, turn),
    payload: { ...identityOf(call), ...decided },
  };
}

/** A step of a call that began, or, with its output, that is done. */
export function stepDraft(
  state: RunState,
  turn: number,
  call: CallState,
  step: string,
  output: JsonValue | undefined,
): RecordDraft {
  return {
    type: "StepRecorded",
    ...ofTurn(state, turn),
    payload: {
      ...identityOf(call),
      dispatch: call.dispatch,
      step,
      ...(output !== undefined && { output }),
    },
  };
}

/** The result of a call that a limit kept from running. */
export function budgetRejectionDraft(
  state: RunState,
  turn: number,
  call: CallState,
  exhausted: Exhausted,
): RecordDraft {
  return resultDraft(state, turn, call, {
    outcome: "budget-rejected",
    output: {
      type: "error-text",
      value: `This call did not run: the run's ${exhausted} limit is used up. Answer now with what you have.`,
    },
    exhausted,
    by: "runtime",
  });
}

/** A question to a person about exactly these arguments. */
export function approvalDraft(state: RunState, turn: number, call: CallState): RecordDraft {
  return {
    type: "ApprovalRequested",
    ...ofTurn(state, turn),
    payload: { ...identityOf(call), argumentsDigest: call.argumentsDigest },
  };
}

/** The intents of all calls that touch the outside, in one record, or null when none does. A repeat of an idempotent call that was
 * prepared before needs no second intent. */
export function intentsDraft(
  state: RunState,
  turn: number,
  candidates: readonly CandidateCall[],
): RecordDraft | null {
  const calls = candidates.flatMap(({ call, tool }) =>
    tool.effect === "read" || call.phase === "prepared"
      ? []
      : [
          {
            ...identityOf(call),
            effect: tool.effect,
            ...(tool.isResumable && { resumable: true as const }),
            argumentsDigest: call.argumentsDigest,
            dispatch: call.dispatch + 1,
          },
        ],
  );
  return calls.length === 0
    ? null
    : { type: "ToolsPrepared", ...ofTurn(state, turn), payload: { calls } };
}
