// fold(records) → RunState. A fresh start, the next turn and recovery after a crash all read this and nothing else. A second fact of one
// identity, or a fact that no decision could have made here, is a corrupt log. Pure.
import { operationIdOf, submissionIdOfRun } from "../../../shared/ids.ts";
import { isOwnCall } from "../../../shared/wire/messages.ts";
import type { RecordOf } from "../../../shared/wire/records.ts";
import type { StoredRecord } from "../journal/journal.store.ts";
import { LogCorrupt } from "../journal/record-codec.ts";
import { digestJson } from "../../platform/digest.ts";
import { foldDecision, foldResult, foldStep, moveCall } from "./fold-call.ts";
import { usageAfter } from "./fold-usage.ts";
import { emptyRun, lastTurn, type CallState, type RunState, type TurnState } from "./run-state.ts";

/** The state of a run from all of its records, or null when there are none. Records about the thread are passed over. */
export function foldRun(records: Iterable<StoredRecord>): RunState | null {
  let state: RunState | null = null;
  for (const stored of records) {
    const { record } = stored;
    if (record.type === "ThreadCreated") continue;
    if (state === null && "runId" in record) state = emptyRun(submissionIdOfRun(record.runId));
    if (state !== null) state = foldRecord(state, stored);
  }
  return state;
}

/** The state after one more record. Throws `LogCorrupt` when the record cannot follow. */
export function foldRecord(state: RunState, { record, epoch }: StoredRecord): RunState {
  if (record.type === "ThreadCreated") return state;
  // Notes of operators change nothing, and are the only records that may follow a settlement.
  if (record.type === "RepairAnnotated") return state;
  if (state.settlement !== null) throw new LogCorrupt(`${record.type} after the settlement`);
  if (record.type === "ModelInterrupted") return foldInterruption(state, record);
  if (record.type === "BudgetWarned") return foldWarning(state, record);
  const progressed: RunState = {
    ...state,
    usage: usageAfter(state, state.usage, record),
    lastProgress: record.sequence,
    lastEpoch: epoch ?? state.lastEpoch,
    callMayBeOpen: false,
  };
  switch (record.type) {
    case "InputRecorded":
      return record.payload.kind === "joined"
        ? foldJoined(progressed, record)
        : {
            ...once(progressed, state.input === null, record),
            input: record.payload.input,
            allowances: record.payload.allowances ?? null,
            metadata: record.payload.metadata ?? null,
          };
    case "RunStarted":
      return foldStart(once(progressed, state.start === null, record), record);
    case "ModelResponded":
      return foldResponse(progressed, record);
    case "ModelCallFailed":
      return foldModelFailure(progressed, record);
    case "ToolsPrepared":
      return record.payload.calls.reduce(
        (next, intent) =>
          moveCall(next, record, intent.operationId, "prepared", (call) => {
            if (intent.dispatch !== call.dispatch + 1) throw new LogCorrupt("a repeated intent");
            return {
              dispatch: intent.dispatch,
              preparedEffect: intent.effect,
              isResumable: intent.resumable === true,
            };
          }),
        progressed,
      );
    case "StepRecorded":
      return foldStep(progressed, record);
    case "ToolSettled":
      return foldResult(progressed, record, epoch !== null);
    case "ToolUnknown":
      return moveCall(progressed, record, record.payload.operationId, "lost", () => ({
        waitingSince: Date.parse(record.createdAt),
        unknownReason: record.payload.reason,
      }));
    case "ApprovalRequested":
      return moveCall(progressed, record, record.payload.operationId, "approval-requested", () => ({
        waitingSince: Date.parse(record.createdAt),
      }));
    case "OperationDecided":
      return foldDecision(progressed, record);
    case "AbortRequested":
      return { ...once(progressed, state.abort === null, record), abort: record.payload };
    case "SubmissionSettled":
      return foldSettlement(progressed, record);
  }
}

function once(state: RunState, isFirst: boolean, record: { type: string }): RunState {
  if (!isFirst) throw new LogCorrupt(`a second ${record.type}`);
  return state;
}

function foldJoined(state: RunState, record: RecordOf<"InputRecorded">): RunState {
  const { submissionId, sequence, payload } = record;
  const isKnown = state.joined.some((joined) => joined.submissionId === submissionId);
  const { input, prompt = null } = payload;
  const joined = { submissionId, sequence, input, prompt, afterTurn: state.turns.length };
  return {
    ...once(state, !isKnown && submissionId !== state.submissionId, record),
    joined: [...state.joined, { ...joined, settlement: null }],
    // The attempt that took it in called the model next.
    callMayBeOpen: true,
  };
}

/** Of the run, or, in its batch, of an input that joined it. */
function foldSettlement(state: RunState, record: RecordOf<"SubmissionSettled">): RunState {
  const { submissionId, payload, sequence } = record;
  const settlement = { payload, sequence };
  if (submissionId === state.submissionId) return { ...state, settlement };
  const index = state.joined.findIndex((joined) => joined.submissionId === submissionId);
  const joined = state.joined[index];
  if (joined?.settlement !== null) throw new LogCorrupt("a settlement of what did not join");
  return { ...state, joined: state.joined.with(index, { ...joined, settlement }) };
}

function foldStart(state: RunState, record: RecordOf<"RunStarted">): RunState {
  return {
    ...state,
    callMayBeOpen: true,
    start: {
      startedAt: Date.parse(record.createdAt),
      deadlineAt: Date.parse(record.payload.deadlineAt),
      payload: record.payload,
    },
  };
}

function foldResponse(state: RunState, record: RecordOf<"ModelResponded">): RunState {
  const { payload, turn } = record;
  const open = lastTurn(state)?.calls.some((call) => call.phase !== "settled") ?? false;
  if (turn !== state.turns.length + 1 || open) throw new LogCorrupt(`turn ${turn} out of order`);
  const calls: CallState[] = [];
  for (const part of payload.content) {
    if (!isOwnCall(part)) continue;
    const index = calls.length;
    calls.push({
      operationId: operationIdOf(record.runId, turn, index),
      index,
      toolCallId: part.toolCallId,
      toolName: part.toolName,
      args: part.input,
      argumentsDigest: digestJson(part.input),
      fault: payload.callFaults?.find((fault) => fault.index === index)?.fault ?? null,
      phase: "declared",
      dispatch: 0,
      preparedEffect: null,
      isResumable: false,
      steps: [],
      waitingSince: null,
      unknownReason: null,
      decisions: [],
      result: null,
    });
  }
  const next: TurnState = {
    turn,
    content: payload.content,
    finishReason: payload.finishReason,
    model: payload.model,
    graceFor: payload.graceFor ?? null,
    outputFaults: payload.outputFaults ?? null,
    calls,
  };
  return {
    ...state,
    turns: [...state.turns, next],
    modelFailures: 0,
    retryAt: null,
    // An answer that needs a repair, or a model that paused, leads straight to the next call.
    callMayBeOpen: calls.length === 0,
  };
}

function foldModelFailure(state: RunState, record: RecordOf<"ModelCallFailed">): RunState {
  const { failure, retryAt } = record.payload;
  if (failure !== state.modelFailures + 1) throw new LogCorrupt("a repeated model failure");
  return {
    ...state,
    modelFailures: failure,
    retryAt: retryAt === null ? null : Date.parse(retryAt),
  };
}

/** An audit record: no progress, so that a run that only ever loses its attempts is parked in the end (REC-10). */
function foldInterruption(state: RunState, record: RecordOf<"ModelInterrupted">): RunState {
  const { supersededEpoch } = record.payload;
  if (supersededEpoch <= state.interruptedEpoch) throw new LogCorrupt("a repeated interruption");
  return {
    ...state,
    interruptedEpoch: supersededEpoch,
    usage: usageAfter(state, state.usage, record),
  };
}

/** An audit record too: what it shares its batch with is the progress, and says whether a call may be open. */
function foldWarning(state: RunState, record: RecordOf<"BudgetWarned">): RunState {
  const { dimension } = record.payload;
  const isFirst = !state.warned.includes(dimension);
  return { ...once(state, isFirst, record), warned: [...state.warned, dimension] };
}
