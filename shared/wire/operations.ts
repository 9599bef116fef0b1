// Operations: approvals and unknown outcomes that wait for a person's decision.
import { z } from "zod";
import { JsonValueSchema } from "../canonical-json.ts";
import { MAX_REASON_CHARACTERS } from "../limits.ts";

export const DecisionKindSchema = z.enum([
  "approve",
  "deny",
  "completed",
  "failed",
  "never-started",
  "safe-to-retry",
  "abort",
]);
export type DecisionKind = z.infer<typeof DecisionKindSchema>;

export const ReasonSchema = z.string().min(1).max(MAX_REASON_CHARACTERS);

/** One decision. `result` is what the call returned, and belongs to `completed` alone; `argumentsDigest` binds the decision to the
 * arguments that were shown, and is refused when they are not those. */
export const DecisionSchema = z
  .strictObject({
    operationId: z.string().min(1).max(512),
    decision: DecisionKindSchema,
    result: JsonValueSchema.optional(),
    reason: ReasonSchema,
    argumentsDigest: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
  })
  .refine((decision) => (decision.result !== undefined) === (decision.decision === "completed"), {
    path: ["result"],
    message: "`completed` needs a result, and no other decision takes one",
  });
export type Decision = z.infer<typeof DecisionSchema>;

/** A list of one: batches that are decided together come with the rest of the operations surface. */
export const DecideRequestSchema = z.strictObject({ decisions: z.array(DecisionSchema).length(1) });
export type DecideRequest = z.infer<typeof DecideRequestSchema>;

export const DecideResultSchema = z.object({
  results: z.array(z.object({ operationId: z.string(), status: z.enum(["applied", "replayed"]) })),
});
export type DecideResult = z.infer<typeof DecideResultSchema>;

export const OperationSchema = z.object({
  operationId: z.string(),
  kind: z.enum(["approval", "unknown"]),
  submissionId: z.string(),
  runId: z.string(),
  turn: z.int(),
  toolCallId: z.string(),
  toolName: z.string(),
  arguments: z.json(),
  argumentsDigest: z.string(),
  since: z.iso.datetime(),
  reason: z.string(),
});
export type Operation = z.infer<typeof OperationSchema>;

export const OperationListSchema = z.object({ operations: z.array(OperationSchema) });
export type OperationList = z.infer<typeof OperationListSchema>;
