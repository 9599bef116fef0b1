// Records of model calls: one that answered, one that failed, one that may have been open when its attempt was lost.
import { z } from "zod";
import { ModelIdentitySchema } from "./agent.ts";
import { OfTurnSchema } from "./envelope.ts";
import { AssistantPartSchema, FinishReasonSchema, SourceSchema } from "./messages.ts";
import { ExhaustedSchema } from "./policy.ts";
import { CostSchema, TokenUsageSchema } from "./usage.ts";

export const ModelRespondedSchema = OfTurnSchema.extend({
  type: z.literal("ModelResponded"),
  payload: z.object({
    content: z.array(AssistantPartSchema),
    finishReason: FinishReasonSchema,
    usage: TokenUsageSchema,
    /** With the prices of the deployment that made the call. */
    costMicrousd: CostSchema,
    model: ModelIdentitySchema,
    /** Of the agent, as it ran this turn: a later deployment may run a later one (THR-08). */
    revision: z.int().positive().optional(),
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
    /** Of an answer that does not fit the output schema: what the model is told before its one repair turn (RUN-16). */
    outputFaults: z.string().optional(),
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
    costMicrousd: CostSchema,
  }),
});

/** An attempt was lost while a model call may have been open; the call is repeated (REC-03). */
export const ModelInterruptedSchema = OfTurnSchema.extend({
  type: z.literal("ModelInterrupted"),
  payload: z.object({ supersededEpoch: z.int().positive() }),
});
