// The outcome of checking outside data against an author's schema: a value, or faults that name the place and never the content.
import type { z } from "zod";
import { findJsonFault, isJsonValue, type JsonValue } from "../canonical-json.ts";
import { schemaFaultsOf, type SchemaFault } from "../errors/holdfast-error.ts";

export type Decoded<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly SchemaFault[] };

/** Checks `value` with `schema`; synchronous schemas only. A schema whose own code throws has refused the value. */
export function decodeWith<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): Decoded<z.output<Schema>> {
  try {
    const parsed = schema.safeParse(value);
    return parsed.success
      ? { ok: true, value: parsed.data }
      : { ok: false, faults: schemaFaultsOf(parsed.error) };
  } catch {
    // What it threw may hold the value.
    return { ok: false, faults: [{ pointer: "", message: "the schema's own code threw" }] };
  }
}

/** The same, for a value that is stored: what the schema produced must be JSON inside the bounds. */
export function decodeToJson(schema: z.ZodType, value: unknown): Decoded<JsonValue> {
  const decoded = decodeWith(schema, value);
  if (!decoded.ok) return decoded;
  const stored: unknown = decoded.value;
  if (isJsonValue(stored)) return { ok: true, value: stored };
  const fault = findJsonFault(stored);
  return {
    ok: false,
    faults: [{ pointer: "", message: `the schema's result cannot be stored: ${fault}` }],
  };
}

/** One line for a model or a person out of the first faults. */
export function renderFaults(faults: readonly SchemaFault[]): string {
  return faults
    .slice(0, 8)
    .map((fault) => `${fault.pointer === "" ? "/" : fault.pointer}: ${fault.message}`)
    .join("; ");
}
