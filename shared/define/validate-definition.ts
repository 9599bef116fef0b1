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
