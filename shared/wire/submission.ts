// Submitting, reading and aborting work: requests and answers.
import { z } from "zod";
import { JsonValueSchema } from "../canonical-json.ts";
import { PrintableIdSchema } from "../ids.ts";
import { MAX_REASON_CHARACTERS } from "../limits.ts";
import { ExpectedDefinitionsSchema } from "./agent.ts";
import { SettlementSchema } from "./settlement.ts";
import { UsageSchema } from "./usage.ts";

/** The body of a submission as sent. `input` is checked by the agent's own schema. */
export const SubmitRequestSchema = z.strictObject({
  agent: PrintableIdSchema,
  input: JsonValueSchema,
  expectDefinitions: ExpectedDefinitionsSchema.optional(),
});
export type SubmitRequest = z.infer<typeof SubmitRequestSchema>;

export const ReceiptSchema = z.object({
  threadId: z.string(),
  submissionId: z.string(),
  queueSequence: z.int().positive(),
  agentId: z.string(),
  acceptedAt: z.iso.datetime(),
});
export type Receipt = z.infer<typeof ReceiptSchema>;

/** Why owed work does not run. `deadline` null says that nothing but a decision moves it. */
export const WaitReasonSchema = z.enum([
  "approval",
  "unknown-outcome",
  "binding",
  "attempts-exhausted",
  "retry-backoff",
]);
export type WaitReason = z.infer<typeof WaitReasonSchema>;

export const WaitSchema = z.object({
  reason: WaitReasonSchema,
  since: z.iso.datetime(),
  deadline: z.iso.datetime().nullable(),
  operationIds: z.array(z.string()).optional(),
  /** Of `attempts-exhausted`: how many ended without a new record. */
  attempts: z.int().optional(),
});
export type Wait = z.infer<typeof WaitSchema>;

export const SubmissionStateSchema = z.enum(["queued", "running", "waiting", "settled"]);
export type SubmissionState = z.infer<typeof SubmissionStateSchema>;

export const SubmissionViewSchema = ReceiptSchema.extend({
  runId: z.string(),
  state: SubmissionStateSchema,
  wait: WaitSchema.optional(),
  settlement: SettlementSchema.optional(),
  usage: UsageSchema,
});
export type SubmissionView = z.infer<typeof SubmissionViewSchema>;

/** `submission` is there when the caller asked to wait: as it was once it settled, or when the wait ended. */
export const SubmitResultSchema = z.object({
  receipt: ReceiptSchema,
  replayed: z.boolean(),
  submission: SubmissionViewSchema.optional(),
});
export type SubmitResult = z.infer<typeof SubmitResultSchema>;

export const AbortRequestSchema = z.strictObject({
  reason: z.string().max(MAX_REASON_CHARACTERS).optional(),
});
export type AbortRequest = z.infer<typeof AbortRequestSchema>;

/** The real effect of an abort. `settlement` is there whenever the submission is settled by the time of the answer. */
export const AbortResultSchema = z.object({
  effect: z.enum(["dequeued", "signalled", "already-settled"]),
  settlement: SettlementSchema.optional(),
});
export type AbortResult = z.infer<typeof AbortResultSchema>;

export const RetryRequestSchema = z.strictObject({
  action: z.literal("retry"),
  target: z.string().min(1).max(256),
  reason: z.string().min(1).max(MAX_REASON_CHARACTERS),
});
export type RetryRequest = z.infer<typeof RetryRequestSchema>;

export const RetryResultSchema = z.object({ effect: z.enum(["resumed", "not-parked"]) });
export type RetryResult = z.infer<typeof RetryResultSchema>;
