// What a run's records say: everything that a decision about it needs. Derived from the log alone, at any time. Pure.
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { runIdOf } from "../../../shared/ids.ts";
import type { EpochMillis } from "../../../shared/time.ts";
import type { ModelIdentity } from "../../../shared/wire/agent.ts";
import type { AssistantPart, FinishReason, UserMessage } from "../../../shared/wire/messages.ts";
import type { Allowances, BudgetDimension, Exhausted } from "../../../shared/wire/policy.ts";
import type { Effect, RecordOf } from "../../../shared/wire/records.ts";
import type { SettlementPayload } from "../../../shared/wire/settlement.ts";
import { NO_RUN_USAGE, type RunUsage } from "../../../shared/wire/usage.ts";
import type { CallPhase } from "./call-phase.ts";

/** Why a declared call can never run, found when the response was reduced. */
export type CallFault = "malformed-arguments" | "repeated-call-id";

/** A step of a call: `output` undefined while all that is known is that it began. */
export interface StepState {
  readonly name: string;
  readonly output: JsonValue | undefined;
}

export interface CallState {
  readonly operationId: string;
  readonly index: number;
  readonly toolCallId: string;
  readonly toolName: string;
  /** What the call runs with: the model's, or a person's edit of them. */
  readonly args: JsonValue;
  readonly argumentsDigest: string;
  readonly fault: CallFault | null;
  readonly phase: CallPhase;
  /** Intents so far: 0 before the first dispatch of a call that is not `read`. */
  readonly dispatch: number;
  /** The effect that the last intent recorded; null before it. */
  readonly preparedEffect: Exclude<Effect, "read"> | null;
  /** By the last intent, the call may be entered again behind its recorded steps. */
  readonly isResumable: boolean;
  readonly steps: readonly StepState[];
  /** When the call began to wait for a person. */
  readonly waitingSince: EpochMillis | null;
  readonly unknownReason: RecordOf<"ToolUnknown">["payload"]["reason"] | null;
  /** One per question that was answered; by its digest a repeated command is recognised. */
  readonly decisions: readonly RecordOf<"OperationDecided">["payload"][];
  readonly result: Pick<
    RecordOf<"ToolSettled">["payload"],
    "outcome" | "output" | "exhausted"
  > | null;
}

export interface TurnState {
  readonly turn: number;
  /** The response as the model reads it: edited calls in the place of its own. */
  readonly content: readonly AssistantPart[];
  readonly finishReason: FinishReason;
  readonly model: ModelIdentity;
  readonly graceFor: Exhausted | null;
  readonly outputFaults: string | null;
  readonly calls: readonly CallState[];
}

export interface RunStart {
  readonly startedAt: EpochMillis;
  readonly deadlineAt: EpochMillis;
  readonly payload: RecordOf<"RunStarted">["payload"];
}

/** Input of another submission that joined the run (RUN-09). */
export interface JoinedInput {
  readonly submissionId: string;
  /** Its record. */
  readonly sequence: number;
  readonly input: JsonValue;
  /** Null where the model gets the input itself. */
  readonly prompt: readonly UserMessage[] | null;
  /** The turns that were there before it: a later response counts as the answer to it. */
  readonly afterTurn: number;
  /** Its own settlement, in the batch of the run's. */
  readonly settlement: RunState["settlement"];
}

export interface RunState {
  readonly submissionId: string;
  readonly runId: string;
  readonly input: JsonValue | null;
  readonly allowances: Allowances | null;
  readonly metadata: JsonValue;
  /** Oldest first. */
  readonly joined: readonly JoinedInput[];
  /** Null for a submission that never ran. */
  readonly start: RunStart | null;
  readonly turns: readonly TurnState[];
  /** Failures of the model call that comes next. */
  readonly modelFailures: number;
  readonly retryAt: EpochMillis | null;
  readonly usage: RunUsage;
  /** Budgets of which the run was warned. */
  readonly warned: readonly BudgetDimension[];
  /** A model call may have been open when the last attempt ended: only then is its loss worth a record. */
  readonly callMayBeOpen: boolean;
  readonly interruptedEpoch: number;
  /** The last attempt that committed a record of this run. */
  readonly lastEpoch: number;
  readonly abort: RecordOf<"AbortRequested">["payload"] | null;
  readonly settlement: { readonly payload: SettlementPayload; readonly sequence: number } | null;
  /** The last record that counts as progress. */
  readonly lastProgress: number;
}

/** A run of which nothing is recorded; its id follows from the submission's. */
export function emptyRun(submissionId: string): RunState {
  return {
    submissionId,
    runId: runIdOf(submissionId),
    input: null,
    allowances: null,
    metadata: null,
    joined: [],
    start: null,
    turns: [],
    modelFailures: 0,
    retryAt: null,
    usage: NO_RUN_USAGE,
    warned: [],
    callMayBeOpen: false,
    interruptedEpoch: 0,
    lastEpoch: 0,
    abort: null,
    settlement: null,
    lastProgress: 0,
  };
}

/** The last turn, or null before the first response. */
export function lastTurn(state: RunState): TurnState | null {
  return state.turns.at(-1) ?? null;
}

/** It was dispatched outside, its attempt is gone, and it may not simply be entered again. */
export function isLostOutside(call: CallState): boolean {
  if (call.phase !== "prepared" || call.preparedEffect !== "external") return false;
  return !call.isResumable || call.steps.some((step) => step.output === undefined);
}

/** A response of the run came after the input: it was delivered, and settles with the run. */
export function isDelivered(state: RunState, joined: JoinedInput): boolean {
  return state.turns.length > joined.afterTurn;
}

/** The calls of the last turn that have no result yet. */
export function openCalls(state: RunState): readonly CallState[] {
  return lastTurn(state)?.calls.filter((call) => call.phase !== "settled") ?? [];
}

export function findCall(
  state: RunState,
  operationId: string,
): { readonly turn: number; readonly call: CallState } | null {
  for (const { turn, calls } of state.turns) {
    const call = calls.find((candidate) => candidate.operationId === operationId);
    if (call !== undefined) return { turn, call };
  }
  return null;
}
