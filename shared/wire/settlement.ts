// The one terminal outcome of a submission (RUN-11 to RUN-13).
import { z } from "zod";
import { JsonSchema } from "../canonical-json.ts";
import { ExhaustedSchema, PolicyLimitSchema } from "./policy.ts";
import { RunUsageSchema } from "./usage.ts";

export const OutcomeSchema = z.enum(["completed", "failed", "aborted"]);
export type Outcome = z.infer<typeof OutcomeSchema>;

export const FailureTagSchema = z.enum([
  "PolicyLimitError",
  "ToolDenied",
  "ModelFailed",
  "OutputInvalid",
  "PreparationFailed",
  "ContextBudgetError",
  "ContextOverflowError",
]);
export type FailureTag = z.infer<typeof FailureTagSchema>;

/** Never a stack, a provider body or a secret (RUN-12). */
export const FailureSchema = z.object({ tag: FailureTagSchema, message: z.string() });
export type Failure = z.infer<typeof FailureSchema>;

/** The run that a joined input went into. */
export const HostRunSchema = z.object({ submissionId: z.string(), runId: z.string() });
export type HostRun = z.infer<typeof HostRunSchema>;

/** The payload of `SubmissionSettled`. */
export const SettlementPayloadSchema = z.object({
  outcome: OutcomeSchema,
  output: JsonSchema.optional(),
  failure: FailureSchema.optional(),
  limit: PolicyLimitSchema.optional(),
  finishReason: z.enum(["stop", "budget-exhausted"]).optional(),
  exhausted: ExhaustedSchema.optional(),
  /** Tool calls that may have happened outside and stay on record as evidence. */
  unknowns: z.array(z.string()).optional(),
  /** Of a joined input: the run whose outcome this is. The output and the usage are the host's alone (RUN-12, RUN-13). */
  host: HostRunSchema.optional(),
  usage: RunUsageSchema,
});
export type SettlementPayload = z.infer<typeof SettlementPayloadSchema>;

/** A settlement as callers read it: the payload, when, and at which record. */
export const SettlementSchema = SettlementPayloadSchema.extend({
  settledAt: z.iso.datetime(),
  sequence: z.int().positive(),
}).meta({ id: "Settlement" });
export type Settlement = z.infer<typeof SettlementSchema>;

/** A settlement without its output: what `awaitSettlement` tells. */
export const SettlementMetadataSchema = SettlementSchema.omit({ output: true }).meta({
  id: "SettlementMetadata",
});
export type SettlementMetadata = z.infer<typeof SettlementMetadataSchema>;
