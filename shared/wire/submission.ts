// Submitting, reading and aborting work: requests and answers.
import { z } from "zod";
import { JsonSchema } from "../canonical-json.ts";
import { PrintableIdSchema } from "../ids.ts";
import { MAX_PAGE_SUBMISSIONS, MAX_REASON_CHARACTERS } from "../limits.ts";
import { ExpectedDefinitionsSchema } from "./agent.ts";
import { AllowancesSchema } from "./policy.ts";
import { HostRunSchema, OutcomeSchema, SettlementSchema } from "./settlement.ts";
import { RunUsageSchema } from "./usage.ts";

/**
 * What a submission does where the thread has work that is not parked (RUN-09): waits its turn, goes into the run that is active, is refused,
 * or aborts that run and takes its turn.
 */
export const OnBusySchema = z.enum(["enqueue", "join", "reject", "interrupt"]);
export type OnBusy = z.infer<typeof OnBusySchema>;

/** The body of a submission as sent. `input` is checked by the agent's own schema. */
export const SubmitRequestSchema = z
  .strictObject({
    agent: PrintableIdSchema,
    input: JsonSchema,
    onBusy: OnBusySchema.optional(),
    /** Checked by the agent's own schema, like `input`: what the host keeps with the work (THR-11). */
    metadata: JsonSchema.optional(),
    allowances: AllowancesSchema.optional(),
    expectDefinitions: ExpectedDefinitionsSchema.optional(),
  })
  .meta({ id: "SubmitRequest" });
export type SubmitRequest = z.infer<typeof SubmitRequestSchema>;

export const ReceiptSchema = z
  .object({
    threadId: z.string(),
    submissionId: z.string(),
    queueSequence: z.int().positive(),
    agentId: z.string(),
    acceptedAt: z.iso.datetime(),
  })
  .meta({ id: "Receipt" });
export type Receipt = z.infer<typeof ReceiptSchema>;

/** Why owed work does not run. `deadline` null says that nothing but a decision moves it. */
export const WaitReasonSchema = z.enum([
  "approval",
  "unknown-outcome",
  "binding",
  "attempts-exhausted",
  "retry-backoff",
  "recovery-fault",
]);
export type WaitReason = z.infer<typeof WaitReasonSchema>;

export const WaitSchema = z
  .object({
    reason: WaitReasonSchema,
    since: z.iso.datetime(),
    deadline: z.iso.datetime().nullable(),
    operationIds: z.array(z.string()).optional(),
    /** Of `attempts-exhausted`: how many ended without a new record; of `recovery-fault`: how many tries failed. */
    attempts: z.int().optional(),
  })
  .meta({ id: "Wait" });
export type Wait = z.infer<typeof WaitSchema>;

export const SubmissionStateSchema = z.enum(["queued", "running", "waiting", "joined", "settled"]);
export type SubmissionState = z.infer<typeof SubmissionStateSchema>;

export const SubmissionViewSchema = ReceiptSchema.extend({
  runId: z.string(),
  state: SubmissionStateSchema,
  wait: WaitSchema.optional(),
  /** Of `joined`: the run that has the input. */
  host: HostRunSchema.optional(),
  settlement: SettlementSchema.optional(),
  usage: RunUsageSchema,
}).meta({ id: "Submission" });
export type SubmissionView = z.infer<typeof SubmissionViewSchema>;

/** A settlement that is still owed, as its route answers it. */
export const OwedSettlementSchema = z
  .object({
    state: SubmissionStateSchema,
    wait: WaitSchema.optional(),
    host: HostRunSchema.optional(),
  })
  .meta({ id: "OwedSettlement" });

export const ListSubmissionsRequestSchema = z.strictObject({
  /** Only submissions past this queue sequence. */
  after: z.int().nonnegative().default(0),
  limit: z.int().min(1).max(MAX_PAGE_SUBMISSIONS).default(50),
  state: SubmissionStateSchema.optional(),
});
export type ListSubmissionsRequest = z.infer<typeof ListSubmissionsRequestSchema>;

export const SubmissionSummarySchema = ReceiptSchema.extend({
  runId: z.string(),
  state: SubmissionStateSchema,
  wait: WaitSchema.optional(),
  host: HostRunSchema.optional(),
  outcome: OutcomeSchema.optional(),
}).meta({ id: "SubmissionSummary" });
export type SubmissionSummary = z.infer<typeof SubmissionSummarySchema>;

/** By queue sequence. `next` is the cursor of the following page, null after the last. */
export const SubmissionListSchema = z
  .object({
    submissions: z.array(SubmissionSummarySchema),
    next: z.int().positive().nullable(),
  })
  .meta({ id: "SubmissionList" });
export type SubmissionList = z.infer<typeof SubmissionListSchema>;

/** `submission` is there when the caller asked to wait: as it was once it settled, or when the wait ended. */
export const SubmitResultSchema = z
  .object({
    receipt: ReceiptSchema,
    replayed: z.boolean(),
    submission: SubmissionViewSchema.optional(),
  })
  .meta({ id: "SubmitResult" });
export type SubmitResult = z.infer<typeof SubmitResultSchema>;

export const AbortRequestSchema = z
  .strictObject({ reason: z.string().max(MAX_REASON_CHARACTERS).optional() })
  .meta({ id: "AbortRequest" });
export type AbortRequest = z.infer<typeof AbortRequestSchema>;

/** The real effect of an abort. `joined` aborts nothing: the input is part of its host's run. `settlement` is there whenever the submission is settled by the time of the answer. */
export const AbortResultSchema = z
  .object({
    effect: z.enum(["dequeued", "signalled", "joined", "already-settled"]),
    host: HostRunSchema.optional(),
    settlement: SettlementSchema.optional(),
  })
  .meta({ id: "AbortResult" });
export type AbortResult = z.infer<typeof AbortResultSchema>;

/** `retry`: the submission `target`, which is parked. `retry-lane`: the lane `target`, which is. `clear-fault`: tries a thread at fault now. `rearm`:
 * arms the alarm for what is due. */
export const RepairRequestSchema = z
  .strictObject({
    action: z.enum(["retry", "retry-lane", "clear-fault", "rearm"]),
    target: z.string().min(1).max(256).optional(),
    reason: z.string().min(1).max(MAX_REASON_CHARACTERS),
  })
  .meta({ id: "RepairRequest" });
export type RepairRequest = z.infer<typeof RepairRequestSchema>;

export const RepairResultSchema = z
  .object({ effect: z.enum(["resumed", "not-parked", "rearmed"]) })
  .meta({ id: "RepairResult" });
export type RepairResult = z.infer<typeof RepairResultSchema>;
