// What a refusal or a failure looks like over HTTP: RFC 9457, with a stable code.
import { z } from "zod";
import { ERROR_CODES } from "../errors/codes.ts";
import { SchemaFaultSchema } from "../errors/holdfast-error.ts";

export const ProblemSchema = z
  .looseObject({
    /** The page of the code in the error catalogue. */
    type: z.url(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().meta({ enum: Object.keys(ERROR_CODES) }),
    requestId: z.string(),
    /** The identical request may be repeated. */
    retryable: z.boolean(),
    /** What became of the change that was asked for. */
    outcome: z.enum(["not-applied", "applied", "unknown"]),
    errors: z.array(SchemaFaultSchema).optional(),
  })
  .meta({ id: "Problem" });
export type Problem = z.infer<typeof ProblemSchema>;
