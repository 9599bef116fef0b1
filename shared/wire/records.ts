// Canonical records: the facts of a thread's log. One zod schema per type is the source of what is stored, sent and documented. A
// record is never changed; a new fact is a new record.
import { z } from "zod";
import { JsonSchema } from "../canonical-json.ts";
import { DefinitionDigestsSchema } from "./agent.ts";
import { EnvelopeSchema, OfRunSchema, OfSubmissionSchema, OfTurnSchema } from "./envelope.ts";
import { ToolOutputSchema, UserMessageSchema } from "./messages.ts";
import {
  ModelCallFailedSchema,
  ModelInterruptedSchema,
  ModelRespondedSchema,
} from "./model-records.ts";
import { MAX_STEP_NAME_CHARACTERS } from "../limits.ts";
import { DecisionKindSchema } from "./operations.ts";
import { AllowancesSchema, BudgetDimensionSchema, ExhaustedSchema } from "./policy.ts";
import { SettlementPayloadSchema } from "./settlement.ts";

export const EffectSchema = z.enum(["read", "idempotent", "external"]);
export type Effect = z.infer<typeof EffectSchema>;

export const ToolOutcomeSchema = z.enum([
  "success",
  "failure",
  "denied",
  "budget-rejected",
  "invalid",
  "unavailable",
  "timeout",
]);
export type ToolOutcome = z.infer<typeof ToolOutcomeSchema>;

const CallIdentitySchema = z.object({
  operationId: z.string(),
  toolCallId: z.string(),
  toolName: z.string(),
});

/** Opens the log: always sequence 1. */
export const ThreadCreatedSchema = EnvelopeSchema.extend({
  type: z.literal("ThreadCreated"),
  payload: z.object({ threadId: z.string(), createdBy: z.string() }),
});

/** The input in its decoded, canonical form; its `createdAt` starts the run's clock. A joined one is a record of the run that it joined: the
 * submission is its own, the run its host's (RUN-09). */
export const InputRecordedSchema = OfRunSchema.extend({
  type: z.literal("InputRecorded"),
  payload: z.object({
    kind: z.enum(["user", "joined"]),
    input: JsonSchema,
    allowances: AllowancesSchema.optional(),
    metadata: JsonSchema.optional(),
    /** Of a joined one: what the model is asked, evaluated once. `RunStarted` has it of the others. */
    prompt: z.array(UserMessageSchema).optional(),
  }),
});

/** What every attempt of the run sees alike: instructions and prompt are evaluated once (CTX-04). */
export const RunStartedSchema = OfRunSchema.extend({
  type: z.literal("RunStarted"),
  payload: z.object({
    agentId: z.string(),
    revision: z.int().positive(),
    digests: DefinitionDigestsSchema,
    instructions: z.string(),
    /** Null where the model gets the input itself as a JSON user message; then `InputRecorded` holds it. */
    prompt: z.array(UserMessageSchema).nullable(),
    deadlineAt: z.iso.datetime(),
    /** The first record of the earlier runs that this run's prompts hold; its own first record when none. */
    historyFrom: z.int().positive(),
    /** Where the input stands, when it is not among this run's records: it joined a run that ended without a response to it. */
    inputAt: z.int().positive().optional(),
  }),
});

/** The intents of a turn: committed before the first of these handlers starts (RUN-02). */
export const ToolsPreparedSchema = OfTurnSchema.extend({
  type: z.literal("ToolsPrepared"),
  payload: z.object({
    calls: z
      .array(
        CallIdentitySchema.extend({
          effect: z.enum(["idempotent", "external"]),
          argumentsDigest: z.string(),
          /** A lost call goes on behind its recorded steps. */
          resumable: z.literal(true).optional(),
          /** 1, and one more for each decision that let an unknown call run again. */
          dispatch: z.int().positive(),
        }),
      )
      .min(1),
  }),
});

export const ToolSettledSchema = OfTurnSchema.extend({
  type: z.literal("ToolSettled"),
  payload: CallIdentitySchema.extend({
    outcome: ToolOutcomeSchema,
    output: ToolOutputSchema,
    /** Of `budget-rejected`: the limit. */
    exhausted: ExhaustedSchema.optional(),
    /** Who knew the result: the handler, the runtime that never started one, a person who decided an unknown outcome, or the tool that found out
     * what had become of a lost call. */
    by: z.enum(["handler", "runtime", "decision", "reconcile"]),
  }),
});

/** A part of a call. Without an output it began, which only a resumable tool's steps say: until the output follows, it may have happened. */
export const StepRecordedSchema = OfTurnSchema.extend({
  type: z.literal("StepRecorded"),
  payload: CallIdentitySchema.extend({
    /** Of the call, when the step ran; 0 of a call that needs no intent. */
    dispatch: z.int().nonnegative(),
    step: z.string().min(1).max(MAX_STEP_NAME_CHARACTERS),
    output: JsonSchema.optional(),
  }),
});

export const ToolUnknownSchema = OfTurnSchema.extend({
  type: z.literal("ToolUnknown"),
  payload: CallIdentitySchema.extend({
    dispatch: z.int().positive(),
    argumentsDigest: z.string(),
    reason: z.enum(["attempt-lost", "timeout", "aborted", "deadline", "answer-lost"]),
  }),
});

export const ApprovalRequestedSchema = OfTurnSchema.extend({
  type: z.literal("ApprovalRequested"),
  payload: CallIdentitySchema.extend({ argumentsDigest: z.string() }),
});

export const OperationDecidedSchema = OfTurnSchema.extend({
  type: z.literal("OperationDecided"),
  payload: CallIdentitySchema.extend({
    decision: DecisionKindSchema,
    /** 0 for an approval; else the dispatch whose unknown outcome this decides. */
    dispatch: z.int().nonnegative(),
    decisionDigest: z.string(),
    /** Of the arguments that the person was shown. */
    argumentsDigest: z.string(),
    /** Of `edit`: what the call runs with instead. The response keeps what the model asked for. */
    arguments: JsonSchema.optional(),
    author: z.string(),
    /** The tool itself found it out (TOOL-02); a person otherwise. */
    by: z.literal("reconcile").optional(),
    reason: z.string(),
  }),
});

/** Four fifths of a budget are gone, once per dimension (CTX-13). `used` and `limit` are turns, calls, tokens, millionths of a US dollar
 * or milliseconds; the limit on tokens is what research may spend, without the completion reserve. */
export const BudgetWarnedSchema = OfRunSchema.extend({
  type: z.literal("BudgetWarned"),
  payload: z.object({
    dimension: BudgetDimensionSchema,
    used: z.int().nonnegative(),
    limit: z.int().positive(),
  }),
});

export const AbortRequestedSchema = OfRunSchema.extend({
  type: z.literal("AbortRequested"),
  payload: z.object({ author: z.string(), reason: z.string().nullable() }),
});

/** An operator's act that changes no outcome: a retry of parked work, or a note on the unknown outcome of a settled run. */
export const RepairAnnotatedSchema = OfSubmissionSchema.extend({
  type: z.literal("RepairAnnotated"),
  payload: z.discriminatedUnion("action", [
    z.object({
      action: z.literal("retry"),
      afterEpoch: z.int().nonnegative(),
      author: z.string(),
      reason: z.string(),
    }),
    z.object({
      action: z.literal("annotate"),
      operationId: z.string(),
      decision: DecisionKindSchema,
      result: JsonSchema.optional(),
      author: z.string(),
      reason: z.string(),
    }),
  ]),
});

export const SubmissionSettledSchema = OfRunSchema.extend({
  type: z.literal("SubmissionSettled"),
  payload: SettlementPayloadSchema,
});

export const ThreadRecordSchema = z
  .discriminatedUnion("type", [
    ThreadCreatedSchema,
    InputRecordedSchema,
    RunStartedSchema,
    ModelRespondedSchema,
    ModelCallFailedSchema,
    ModelInterruptedSchema,
    ToolsPreparedSchema,
    StepRecordedSchema,
    ToolSettledSchema,
    ToolUnknownSchema,
    ApprovalRequestedSchema,
    OperationDecidedSchema,
    BudgetWarnedSchema,
    AbortRequestedSchema,
    RepairAnnotatedSchema,
    SubmissionSettledSchema,
  ])
  .meta({ id: "ThreadRecord" });
export type ThreadRecord = z.infer<typeof ThreadRecordSchema>;
export type RecordType = ThreadRecord["type"];
export type RecordOf<Type extends RecordType> = Extract<ThreadRecord, { type: Type }>;

export const RECORD_TYPES = ThreadRecordSchema.options.map(
  (option): RecordType => option.shape.type.value,
);

/** What the journal adds to a draft when it appends it. */
type StampedKeys = "sequence" | "recordId" | "schemaVersion" | "createdAt" | "deploymentId";
type DraftOf<Stored> = Stored extends ThreadRecord ? Omit<Stored, StampedKeys> : never;

/** A record before it has a place in the log. */
export type RecordDraft = DraftOf<ThreadRecord>;

/**
 * A record's identity: its kind plus the ids it is about. A log never holds two records of one identity; the fold refuses the second.
 */
export function recordIdentity(draft: RecordDraft): string {
  switch (draft.type) {
    case "ThreadCreated":
      return draft.type;
    case "InputRecorded":
    case "AbortRequested":
    case "SubmissionSettled":
      return `${draft.type}:${draft.submissionId}`;
    case "RunStarted":
      return `${draft.type}:${draft.runId}`;
    case "ModelResponded":
      return `${draft.type}:${draft.runId}.t${draft.turn}`;
    case "ModelCallFailed":
      return `${draft.type}:${draft.runId}.t${draft.turn}.f${draft.payload.failure}`;
    case "ModelInterrupted":
      return `${draft.type}:${draft.runId}.e${draft.payload.supersededEpoch}`;
    case "ToolsPrepared": {
      const first = draft.payload.calls[0];
      return `${draft.type}:${first?.operationId}.d${first?.dispatch}`;
    }
    case "ToolSettled":
    case "ApprovalRequested":
      return `${draft.type}:${draft.payload.operationId}`;
    case "ToolUnknown":
    case "OperationDecided":
      return `${draft.type}:${draft.payload.operationId}.d${draft.payload.dispatch}`;
    case "StepRecorded": {
      const { operationId, dispatch, step, output } = draft.payload;
      // A start may be repeated by a person's leave, under a dispatch of its own; a result stands once.
      const part = output === undefined ? `d${dispatch}.started` : "done";
      return `${draft.type}:${operationId}.${part}:${step}`;
    }
    case "BudgetWarned":
      return `${draft.type}:${draft.runId}.${draft.payload.dimension}`;
    case "RepairAnnotated":
      return draft.payload.action === "retry"
        ? `${draft.type}:${draft.submissionId}.e${draft.payload.afterEpoch}`
        : `${draft.type}:${draft.payload.operationId}`;
  }
}

/** A record id is the identity behind the sequence, so that an id resolves to its batch by primary key. Opaque to clients. */
export function recordIdOf(sequence: number, draft: RecordDraft): string {
  return `${sequence}:${recordIdentity(draft)}`;
}
