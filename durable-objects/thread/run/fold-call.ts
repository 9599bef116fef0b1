// The part of the fold that is about calls of the last turn: their moves, results, steps and decisions. Pure.
import { must } from "../../../shared/assert.ts";
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { isOwnCall } from "../../../shared/wire/messages.ts";
import type { RecordOf } from "../../../shared/wire/records.ts";
import { LogCorrupt } from "../journal/record-codec.ts";
import { digestJson } from "../../platform/digest.ts";
import { CALL_MOVES, type CallEvent } from "./call-phase.ts";
import { lastTurn, type CallState, type RunState } from "./run-state.ts";

export function foldResult(
  state: RunState,
  record: RecordOf<"ToolSettled">,
  byAttempt: boolean,
): RunState {
  const { operationId, outcome, output, exhausted } = record.payload;
  const moved = moveCall(state, record, operationId, "settled", () => ({
    result: { outcome, output, ...(exhausted !== undefined && { exhausted }) },
    waitingSince: null,
  }));
  const isComplete = lastTurn(moved)?.calls.every((call) => call.phase === "settled") ?? false;
  return {
    ...moved,
    // An attempt that completed a batch may have opened the next model call before it was lost; a control cannot have.
    callMayBeOpen: isComplete && byAttempt,
  };
}

export function foldStep(state: RunState, record: RecordOf<"StepRecorded">): RunState {
  const { operationId, dispatch, step: name, output } = record.payload;
  return updateCall(state, record, operationId, (call) => {
    const known = call.steps.find((step) => step.name === name);
    const mayRun = CALL_MOVES[call.phase].settled === "settled" && call.phase !== "unknown";
    // A handler that outlived its timeout may run beside the next dispatch of its call, and records nothing there.
    const isCurrent = mayRun && dispatch === call.dispatch;
    // A start may be repeated by a person's leave; a result stands once.
    if (!isCurrent || known?.output !== undefined) throw new LogCorrupt("a step out of order");
    const others = call.steps.filter((step) => step !== known);
    return { steps: [...others, { name, output }] };
  });
}

export function foldDecision(state: RunState, record: RecordOf<"OperationDecided">): RunState {
  const { payload } = record;
  const event = eventOf(payload.decision);
  const decide = (call: CallState): Partial<CallState> => {
    if (call.decisions.some((earlier) => earlier.dispatch === payload.dispatch)) {
      throw new LogCorrupt("a second decision of one operation");
    }
    return { decisions: [...call.decisions, payload], waitingSince: null };
  };
  if (event !== null) {
    const moved = moveCall(state, record, payload.operationId, event, decide);
    return payload.arguments === undefined
      ? moved
      : replaceArguments(moved, payload.operationId, payload.arguments);
  }
  // `completed` and `failed` bring their result as the next record; `abort` brings the abort of the run.
  return updateCall(state, record, payload.operationId, decide);
}

function eventOf(decision: RecordOf<"OperationDecided">["payload"]["decision"]): CallEvent | null {
  switch (decision) {
    case "approve":
    case "edit":
      return "approved";
    case "deny":
      return "denied";
    case "never-started":
    case "safe-to-retry":
      return "cleared";
    case "completed":
    case "failed":
    case "abort":
      return null;
  }
}

/** What runs, and what the model reads from here on, is the call as the person edited it; the response on record keeps its own (TOOL-05). */
function replaceArguments(state: RunState, operationId: string, args: JsonValue): RunState {
  const turn = must(lastTurn(state), "a decided call has a turn");
  const edited = must(
    turn.calls.find((call) => call.operationId === operationId),
    "the decided call was found",
  );
  const calls = turn.calls.map((call) =>
    call === edited ? { ...call, args, argumentsDigest: digestJson(args) } : call,
  );
  const content = turn.content.map((part) =>
    isOwnCall(part) && part.toolCallId === edited.toolCallId ? { ...part, input: args } : part,
  );
  return { ...state, turns: [...state.turns.slice(0, -1), { ...turn, content, calls }] };
}

export function moveCall(
  state: RunState,
  record: { type: string; turn: number },
  operationId: string,
  event: CallEvent,
  change: (call: CallState) => Partial<CallState>,
): RunState {
  return updateCall(state, record, operationId, (call) => {
    const phase = CALL_MOVES[call.phase][event];
    if (phase === "refused") {
      throw new LogCorrupt(`${record.type} for a call that is ${call.phase}`);
    }
    return { ...change(call), phase };
  });
}

function updateCall(
  state: RunState,
  record: { type: string; turn: number },
  operationId: string,
  change: (call: CallState) => Partial<CallState>,
): RunState {
  const turn = lastTurn(state);
  const index = turn?.calls.findIndex((call) => call.operationId === operationId) ?? -1;
  if (turn === null || turn.turn !== record.turn || index < 0) {
    throw new LogCorrupt(`${record.type} for a call that the last turn did not declare`);
  }
  const call = must(turn.calls[index], "the index was found");
  const calls = turn.calls.with(index, { ...call, ...change(call) });
  return { ...state, turns: [...state.turns.slice(0, -1), { ...turn, calls }] };
}
