// The operations of a thread: approvals and unknown outcomes of owed work that wait for a person. Derived from the log.
import { unknownOperationIdOf } from "../../../shared/ids.ts";
import { toIsoInstant } from "../../../shared/time.ts";
import type { Operation } from "../../../shared/wire/operations.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import { readRunIfReadable } from "../run/read-run.ts";
import { lastTurn, type CallState, type RunState } from "../run/run-state.ts";
import type { ThreadCore } from "../thread-core.ts";

/** Reads the runs of those owed submissions alone that wait: at most the queue's depth. */
export function listOperations(core: ThreadCore, owed: readonly LedgerEntry[]): Operation[] {
  return owed
    .filter((entry) => entry.wait !== null)
    .flatMap((entry) => {
      const run = readRunIfReadable(core, entry);
      return run === null ? [] : operationsOf(run);
    });
}

/** Pure. */
function operationsOf(run: RunState): Operation[] {
  const turn = lastTurn(run);
  if (turn === null || run.settlement !== null) return [];
  return turn.calls.flatMap((call) => {
    const question = questionOf(call);
    return question === null
      ? []
      : [
          {
            ...question,
            submissionId: run.submissionId,
            runId: run.runId,
            turn: turn.turn,
            toolCallId: call.toolCallId,
            toolName: call.toolName,
            arguments: call.args,
            argumentsDigest: call.argumentsDigest,
            since: toIsoInstant(call.waitingSince ?? 0),
          },
        ];
  });
}

function questionOf(call: CallState): Pick<Operation, "operationId" | "kind" | "reason"> | null {
  if (call.phase === "awaiting-approval") {
    return {
      operationId: call.operationId,
      kind: "approval",
      reason: "The tool asks for approval before this call runs.",
    };
  }
  if (call.phase !== "unknown") return null;
  return {
    operationId: unknownOperationIdOf(call.operationId, call.dispatch),
    kind: "unknown",
    reason: UNKNOWN_REASONS[call.unknownReason ?? "attempt-lost"],
  };
}

const UNKNOWN_REASONS: Record<NonNullable<CallState["unknownReason"]>, string> = {
  "attempt-lost": "The call was dispatched and its attempt was lost before a result was recorded.",
  timeout: "The call exceeded its timeout; it may still have happened.",
  aborted: "The run was aborted while the call was in flight.",
  deadline: "The run's deadline passed while the call was in flight.",
  "answer-lost": "The call was sent and its answer was lost; it may still have happened.",
};
