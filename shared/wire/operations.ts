// Operations: approvals and unknown outcomes that wait for a person's decision.
import { z } from "zod";
import { JsonSchema } from "../canonical-json.ts";
import { MAX_DECISIONS, MAX_REASON_CHARACTERS } from "../limits.ts";

export const DecisionKindSchema = z.enum([
  "approve",
  "deny",
  "edit",
  "completed",
  "failed",
  "never-started",
  "safe-to-retry",
  "abort",
]);
export type DecisionKind = z.infer<typeof DecisionKindSchema>;

export const ReasonSchema = z.string().min(1).max(MAX_REASON_CHARACTERS);

/** A decision that says more than its name: which field it needs, and what that field is. */
const FIELD_OF: Partial<Record<DecisionKind, "result" | "arguments">> = {
  completed: "result",
  edit: "arguments",
};

/** One decision. `result` is what the call returned, and belongs to `completed` alone; `arguments` are those that the call runs with, and
 * belong to `edit` alone; `argumentsDigest` binds the decision to the arguments that were shown, and is refused when they are not those. */
export const DecisionSchema = z
  .strictObject({
    operationId: z.string().min(1).max(512),
    decision: DecisionKindSchema,
    result: JsonSchema.optional(),
    arguments: JsonSchema.optional(),
    reason: ReasonSchema,
    argumentsDigest: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
  })
  .superRefine((decision, context) => {
    for (const field of ["result", "arguments"] as const) {
      const isNeeded = FIELD_OF[decision.decision] === field;
      if ((decision[field] !== undefined) === isNeeded) continue;
      const message = isNeeded
        ? `\`${decision.decision}\` needs \`${field}\``
        : `\`${decision.decision}\` takes no \`${field}\``;
      context.addIssue({ code: "custom", path: [field], message });
    }
  })
  .meta({ id: "Decision" });
export type Decision = z.infer<typeof DecisionSchema>;

/** Decided together or not at all (TOOL-10). */
export const DecideRequestSchema = z
  .strictObject({
    decisions: z
      .array(DecisionSchema)
      .min(1)
      .max(MAX_DECISIONS)
      .refine((all) => new Set(all.map(({ operationId }) => operationId)).size === all.length, {
        message: "an operation is decided once in a batch",
      }),
  })
  .meta({ id: "DecideRequest" });
export type DecideRequest = z.infer<typeof DecideRequestSchema>;

/** One result per decision, in the order of the request. */
export const DecideResultSchema = z
  .object({
    results: z.array(
      z.object({ operationId: z.string(), status: z.enum(["applied", "replayed"]) }),
    ),
  })
  .meta({ id: "DecideResult" });
export type DecideResult = z.infer<typeof DecideResultSchema>;

export const OperationSchema = z
  .object({
    operationId: z.string(),
    kind: z.enum(["approval", "unknown"]),
    submissionId: z.string(),
    runId: z.string(),
    turn: z.int(),
    toolCallId: z.string(),
    toolName: z.string(),
    arguments: JsonSchema,
    argumentsDigest: z.string(),
    since: z.iso.datetime(),
    reason: z.string(),
  })
  .meta({ id: "Operation" });
export type Operation = z.infer<typeof OperationSchema>;

export const OperationListSchema = z
  .object({ operations: z.array(OperationSchema) })
  .meta({ id: "OperationList" });
export type OperationList = z.infer<typeof OperationListSchema>;
