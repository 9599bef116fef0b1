// Hand-written event logs for tests of pure code: drafts of one run, stamped and checked by the record schema.
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { operationIdOf, runIdOf, submissionIdOf } from "../../../shared/ids.ts";
import { must } from "../../../shared/assert.ts";
import type { AssistantPart, FinishReason } from "../../../shared/wire/messages.ts";
import type { DecisionKind } from "../../../shared/wire/operations.ts";
import { AgentPolicySchema, type AgentPolicyInput } from "../../../shared/wire/policy.ts";
import type { BudgetDimension, Exhausted } from "../../../shared/wire/policy.ts";
import {
  ThreadRecordSchema,
  type RecordDraft,
  type RecordOf,
  type ToolOutcome,
} from "../../../shared/wire/records.ts";
import { NO_RUN_USAGE, NO_TOKENS, type TokenUsage } from "../../../shared/wire/usage.ts";
import { digestJson } from "../../../durable-objects/platform/digest.ts";
import type { StoredRecord } from "../../../durable-objects/thread/journal/journal.store.ts";
import { stampRecord } from "../../../durable-objects/thread/journal/record-codec.ts";
import type { OutputContract } from "../../../durable-objects/agents/output-contract.ts";
import type { StepFacts } from "../../../durable-objects/thread/run/decide-step.ts";
import { foldRun } from "../../../durable-objects/thread/run/fold-run.ts";
import type { RunState } from "../../../durable-objects/thread/run/run-state.ts";

export const SUBMISSION = submissionIdOf(1, "aaaaaaaaaaaaaaaa");
export const RUN = runIdOf(SUBMISSION);
/** When the log of a test begins; record n is made n milliseconds later. */
export const T0 = Date.parse("2026-11-01T12:00:00.000Z");
export const DEADLINE = T0 + 300_000;
export const DIGEST = "a".repeat(64);

const OF_RUN = { submissionId: SUBMISSION, runId: RUN } as const;

export interface Entry {
  readonly draft: RecordDraft;
  readonly epoch: number | null;
}

/** The same record from another attempt; null is a control. */
export function by(epoch: number | null, draft: RecordDraft): Entry {
  return { draft, epoch };
}

function isOfControl(draft: RecordDraft): boolean {
  return (
    draft.type === "OperationDecided" ||
    draft.type === "AbortRequested" ||
    draft.type === "RepairAnnotated" ||
    (draft.type === "ToolSettled" && draft.payload.by === "decision")
  );
}

/** Stamps drafts from `first` on. A draft that the schema refuses is a fault of the test. */
export function log(entries: readonly (RecordDraft | Entry)[], first = 1): StoredRecord[] {
  return entries.map((entry, index) => {
    const draft = "draft" in entry ? entry.draft : entry;
    const sequence = first + index;
    const stamped = stampRecord(draft, sequence, { now: T0 + sequence, deploymentId: "test" });
    const record = ThreadRecordSchema.parse(JSON.parse(JSON.stringify(stamped)));
    const epoch = "draft" in entry ? entry.epoch : isOfControl(draft) ? null : 1;
    return { record, epoch };
  });
}

export function fold(...entries: readonly (RecordDraft | Entry)[]): RunState {
  return must(foldRun(log(entries)), "the log has a run");
}

export function input(value: JsonValue = { ask: "go" }): RecordDraft {
  return { type: "InputRecorded", ...OF_RUN, payload: { kind: "user", input: value } };
}

/** Input of the submission of that place in the queue that joined this run. */
export function joined(queueSequence: number): RecordDraft {
  const { runId } = OF_RUN;
  const submissionId = submissionIdOf(queueSequence, "bbbbbbbbbbbbbbbb");
  const payload = { kind: "joined", input: { ask: queueSequence } } as const;
  return { type: "InputRecorded", submissionId, runId, payload };
}

export function started(changes: Partial<RecordOf<"RunStarted">["payload"]> = {}): RecordDraft {
  return {
    type: "RunStarted",
    ...OF_RUN,
    payload: {
      agentId: "agent",
      revision: 1,
      digests: { agent: DIGEST, model: DIGEST, tools: DIGEST },
      instructions: "Be brief.",
      prompt: null,
      deadlineAt: new Date(DEADLINE).toISOString(),
      historyFrom: 1,
      ...changes,
    },
  };
}

/** Input and start: what every run begins with. */
export const OPENING: readonly RecordDraft[] = [input(), started()];

export interface Call {
  readonly tool: string;
  readonly args: JsonValue;
}

export function call(tool = "act", args: JsonValue = {}): Call {
  return { tool, args };
}

export interface Response {
  readonly text?: string;
  readonly calls?: readonly Call[];
  /** What the response holds, in the place of both. */
  readonly parts?: readonly AssistantPart[];
  readonly finishReason?: FinishReason;
  readonly usage?: Partial<TokenUsage>;
  readonly costMicrousd?: number | null;
  readonly outputFaults?: string;
  readonly graceFor?: Exhausted;
  readonly callFaults?: RecordOf<"ModelResponded">["payload"]["callFaults"];
}

export function responded(turn: number, response: Response = {}): RecordDraft {
  const { text, calls = [], finishReason, usage, graceFor, callFaults, outputFaults } = response;
  const content: AssistantPart[] = [
    ...(text === undefined ? [] : [{ type: "text" as const, text }]),
    ...calls.map(({ tool, args }, index) => ({
      type: "tool-call" as const,
      toolCallId: `id-${turn}-${index}`,
      toolName: tool,
      input: args,
    })),
  ];
  return {
    type: "ModelResponded",
    ...OF_RUN,
    turn,
    payload: {
      content: response.parts === undefined ? content : [...response.parts],
      finishReason: finishReason ?? (calls.length === 0 ? "stop" : "tool-calls"),
      usage: { ...NO_TOKENS, ...usage },
      costMicrousd: response.costMicrousd === undefined ? 0 : response.costMicrousd,
      model: { provider: "test", name: "model" },
      saw: { through: 1, digest: DIGEST },
      ...(graceFor === undefined ? {} : { graceFor }),
      ...(outputFaults === undefined ? {} : { outputFaults }),
      ...(callFaults === undefined ? {} : { callFaults }),
    },
  };
}

export function modelFailed(
  turn: number,
  failure: number,
  retryAt: number | null,
  usage: Partial<TokenUsage> = {},
): RecordDraft {
  return {
    type: "ModelCallFailed",
    ...OF_RUN,
    turn,
    payload: {
      failure,
      reason: "http",
      httpStatus: 503,
      retryAt: retryAt === null ? null : new Date(retryAt).toISOString(),
      usage: { ...NO_TOKENS, ...usage },
      costMicrousd: 0,
    },
  };
}

export function interrupted(turn: number, supersededEpoch: number): RecordDraft {
  return { type: "ModelInterrupted", ...OF_RUN, turn, payload: { supersededEpoch } };
}

export function op(turn: number, index: number): string {
  return operationIdOf(RUN, turn, index);
}

function identity(turn: number, index: number) {
  return { operationId: op(turn, index), toolCallId: `id-${turn}-${index}`, toolName: "act" };
}

export interface Intent {
  readonly index: number;
  readonly effect?: "idempotent" | "external";
  readonly dispatch?: number;
}

export function prepared(turn: number, ...intents: readonly Intent[]): RecordDraft {
  return {
    type: "ToolsPrepared",
    ...OF_RUN,
    turn,
    payload: {
      calls: intents.map(({ index, effect = "external", dispatch = 1 }) => ({
        ...identity(turn, index),
        effect,
        argumentsDigest: digestJson({}),
        dispatch,
      })),
    },
  };
}

/** Outcomes that only a handler that ran can have. */
const BY_HANDLER = new Set<ToolOutcome>(["success", "failure", "timeout"]);

export function settled(
  turn: number,
  index: number,
  outcome: ToolOutcome = "success",
  options: {
    readonly by?: "handler" | "runtime" | "decision";
    readonly output?: RecordOf<"ToolSettled">["payload"]["output"];
    readonly exhausted?: Exhausted;
  } = {},
): RecordDraft {
  return {
    type: "ToolSettled",
    ...OF_RUN,
    turn,
    payload: {
      ...identity(turn, index),
      outcome,
      output: options.output ?? { type: "text", value: `${outcome} ${turn}.${index}` },
      by: options.by ?? (BY_HANDLER.has(outcome) ? "handler" : "runtime"),
      ...(options.exhausted === undefined ? {} : { exhausted: options.exhausted }),
    },
  };
}

export function lost(turn: number, index: number, dispatch = 1): RecordDraft {
  return {
    type: "ToolUnknown",
    ...OF_RUN,
    turn,
    payload: {
      ...identity(turn, index),
      dispatch,
      argumentsDigest: digestJson({}),
      reason: "attempt-lost",
    },
  };
}

export function asked(turn: number, index: number): RecordDraft {
  return {
    type: "ApprovalRequested",
    ...OF_RUN,
    turn,
    payload: { ...identity(turn, index), argumentsDigest: digestJson({}) },
  };
}

export function decided(
  turn: number,
  index: number,
  decision: DecisionKind,
  dispatch: number,
  result: JsonValue = null,
): RecordDraft {
  return {
    type: "OperationDecided",
    ...OF_RUN,
    turn,
    payload: {
      ...identity(turn, index),
      decision,
      dispatch,
      decisionDigest: digestJson({ decision, result }),
      argumentsDigest: digestJson({}),
      author: "ann",
      reason: "because",
    },
  };
}

/** A person's edit of a call that was shown with `shown`. */
export function edited(
  turn: number,
  index: number,
  args: JsonValue,
  shown: JsonValue = {},
): RecordDraft {
  return {
    type: "OperationDecided",
    ...OF_RUN,
    turn,
    payload: {
      ...identity(turn, index),
      decision: "edit",
      dispatch: 0,
      decisionDigest: digestJson({ decision: "edit", result: null, arguments: args }),
      argumentsDigest: digestJson(shown),
      arguments: args,
      author: "ann",
      reason: "because",
    },
  };
}

export function warned(dimension: BudgetDimension): RecordDraft {
  return { type: "BudgetWarned", ...OF_RUN, payload: { dimension, used: 8, limit: 10 } };
}

export function abortAsked(): RecordDraft {
  return { type: "AbortRequested", ...OF_RUN, payload: { author: "ann", reason: null } };
}

export function settlement(unknowns: readonly string[] = []): RecordDraft {
  return {
    type: "SubmissionSettled",
    ...OF_RUN,
    payload: {
      outcome: "aborted",
      usage: NO_RUN_USAGE,
      ...(unknowns.length === 0 ? {} : { unknowns: [...unknowns] }),
    },
  };
}

export function retried(afterEpoch: number): RecordDraft {
  return {
    type: "RepairAnnotated",
    submissionId: SUBMISSION,
    payload: { action: "retry", afterEpoch, author: "ann", reason: "look again" },
  };
}

/** A step of a call that began, or with an output is done. */
export function stepped(
  turn: number,
  index: number,
  step: string,
  output?: JsonValue,
): RecordDraft {
  return {
    type: "StepRecorded",
    ...OF_RUN,
    turn,
    payload: {
      ...identity(turn, index),
      dispatch: 1,
      step,
      ...(output !== undefined && { output }),
    },
  };
}

/** Any text is an answer. */
export const ANY_TEXT: OutputContract = {
  decodeOutput: (value) => ({ ok: true, value }),
  decodeCompletion: (value) => ({ ok: true, value }),
  hasOutputSchema: false,
  completionTool: null,
};

/** The facts of a decision: the default policy, early in the run, any text is an answer, a call takes one token. */
export function facts(
  changes: Partial<Omit<StepFacts, "policy" | "model">> & {
    readonly policy?: AgentPolicyInput;
    readonly model?: Partial<StepFacts["model"]>;
  } = {},
): StepFacts {
  return {
    ...ANY_TEXT,
    now: T0 + 1_000,
    supersededEpoch: null,
    hasJoiners: false,
    estimateCallTokens: () => 1,
    ...changes,
    policy: AgentPolicySchema.parse(changes.policy ?? {}),
    model: { id: "test/model", isPriced: true, runsProviderTools: false, ...changes.model },
  };
}
