// Refuses a wrong definition when it is made, naming its field, so that a deployment never starts with one.
import type { z } from "zod";
import { HoldfastError, schemaFaultsOf } from "../errors/holdfast-error.ts";

/** The parsed value, or throws `InvalidDefinition`: "<what>: <field>: <message>". */
export function validateDefinition<Schema extends z.ZodType>(
  what: string,
  schema: Schema,
  value: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = schemaFaultsOf(parsed.error).map(
    (fault) => `${fault.pointer.slice(1).replaceAll("/", ".") || "value"}: ${fault.message}`,
  );
  throw new HoldfastError("InvalidDefinition", `${what}: ${faults.join("; ")}`);
}

/** A field that nobody reads is a mistake, mostly of spelling. Throws `InvalidDefinition` that names it and the fields there are. */
export function refuseUnknownFields(what: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).filter((field) => !known.includes(field));
  if (unknown.length === 0) return;
  throw new HoldfastError(
    "InvalidDefinition",
    `${what}: ${unknown.join(", ")}: no such field; the fields are ${known.join(", ")}`,
  );
}
