// An author's zod schema as JSON Schema, converted once when the definition is made.
import type { JSONSchema7 } from "@ai-sdk/provider";
import { z } from "zod";
import { HoldfastError } from "../errors/holdfast-error.ts";

/** A zod schema of whichever copy of zod: an author's may be another than ours. */
export const ZodSchemaSchema = z.custom<z.ZodType>(
  (value) => typeof value === "object" && value !== null && "_zod" in value,
  { message: "a zod schema" },
);

const JsonSchemaSchema = z.custom<JSONSchema7>(
  (value) => typeof value === "object" && value !== null,
);

/**
 * The JSON Schema (draft 7, the dialect of the model interface) of what a caller or a model has to
 * send. Throws `InvalidDefinition` naming `field` when the schema has no JSON form.
 */
export function jsonSchemaOf(schema: z.ZodType, field: string): JSONSchema7 {
  try {
    const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
      io: "input",
      target: "draft-7",
    });
    return JsonSchemaSchema.parse(rest);
  } catch (cause) {
    throw new HoldfastError("InvalidDefinition", `${field} has no JSON Schema form`, { cause });
  }
}

/** The same for a tool's arguments, which providers take as an object alone. Throws `InvalidDefinition`. */
export function objectSchemaOf(schema: z.ZodType, field: string): JSONSchema7 {
  const json = jsonSchemaOf(schema, field);
  if (json.type === "object") return json;
  throw new HoldfastError("InvalidDefinition", `${field} is not an object: use z.object({ … })`);
}
