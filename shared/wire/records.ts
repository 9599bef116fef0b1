// Canonical records: the facts of a thread's log. One zod schema per type is the source of what is stored, sent and documented. A
// record is never changed; a new fact is a new record.
import { z } from "zod";
import { JsonSchema } from "../canonical-json.ts";
import { DefinitionDigestsSchema, ModelIdentitySchema } from "./agent.ts";
import {
  AssistantPartSchema,
  FinishReasonSchema,
  SourceSchema,
  ToolOutputSchema,
  UserMessageSchema,
} from "./messages.ts";
import { DecisionKindSchema } from "./operations.ts";
import { ExhaustedSchema } from "./policy.ts";
import { SettlementPayloadSchema } from "./settlement.ts";
import { TokenUsageSchema } from "./usage.ts";

/** Raised with every change of a stored payload's shape; one line of history per change.
 *  1: the first release. */
export const RECORD_SCHEMA_VERSION = 1;

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

const EnvelopeSchema = z.object({
  sequence: z.int().positive(),
  recordId: z.string(),
  schemaVersion: z.literal(RECORD_SCHEMA_VERSION),
  createdAt: z.iso.datetime(),
  deploymentId: z.string(),
});
const OfSubmissionSchema = EnvelopeSchema.extend({ submissionId: z.string() });
const OfRunSchema = OfSubmissionSchema.extend({ runId: z.string() });
const OfTurnSchema = OfRunSchema.extend({ turn: z.int().positive() });

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

/** The input in its decoded, canonical form; its `createdAt` starts the run's clock. */
export const InputRecordedSchema = OfRunSchema.extend({
  type: z.literal("InputRecorded"),
  payload: z.object({ kind: z.literal("user"), input: JsonSchema }),
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
  }),
});

export const ModelRespondedSchema = OfTurnSchema.extend({
  type: z.literal("ModelResponded"),
  payload: z.object({
    content: z.array(AssistantPartSchema),
    finishReason: FinishReasonSchema,
    usage: TokenUsageSchema,
    model: ModelIdentitySchema,
    /** The log that the prompt was a function of: everything up to this record, by the chain's digest there. */
    saw: z.object({ through: z.int().positive(), digest: z.string() }),
    /** Calls of this response that can never run, by their index among its calls. */
    callFaults: z
      .array(
        z.object({
          index: z.int().nonnegative(),
          fault: z.enum(["malformed-arguments", "repeated-call-id"]),
        }),
      )
      .optional(),
    /** Where the provider says that the answer has something from. */
    sources: z.array(SourceSchema).optional(),
    /** Set on the one turn that had to answer without tools, with the limit that ended research (CTX-14). */
    graceFor: ExhaustedSchema.optional(),
  }),
});

export const ModelCallFailedSchema = OfTurnSchema.extend({
  type: z.literal("ModelCallFailed"),
  payload: z.object({
    /** 1 for the first failure of this turn. */
    failure: z.int().positive(),
    reason: z.string(),
    httpStatus: z.int().optional(),
    retryAt: z.iso.datetime().nullable(),
    usage: TokenUsageSchema,
  }),
});

/** An attempt was lost while a model call may have been open; the call is repeated (REC-03). */
export const ModelInterruptedSchema = OfTurnSchema.extend({
  type: z.literal("ModelInterrupted"),
  payload: z.object({ supersededEpoch: z.int().positive() }),
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
    /** Who knew the result: the handler, the runtime that never started one, or a person who decided an unknown outcome. */
    by: z.enum(["handler", "runtime", "decision"]),
  }),
});

export const ToolUnknownSchema = OfTurnSchema.extend({
  type: z.literal("ToolUnknown"),
  payload: CallIdentitySchema.extend({
    dispatch: z.int().positive(),
    argumentsDigest: z.string(),
    reason: z.enum(["attempt-lost", "timeout", "aborted", "deadline"]),
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
    reason: z.string(),
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
    ToolSettledSchema,
    ToolUnknownSchema,
    ApprovalRequestedSchema,
    OperationDecidedSchema,
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
