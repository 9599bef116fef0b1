// A JSON Schema as models get it: objects say that they have no other fields. OpenAI's structured output refuses a schema that leaves it
// open, and a model that reads it invents fewer fields. What callers and digests see stays as the author wrote it. Pure.
import type { JSONSchema7, JSONSchema7Definition } from "@ai-sdk/provider";

/** A copy in which objects with known fields are closed, unless the author said what else they hold. */
export function closeSchema(schema: JSONSchema7): JSONSchema7 {
  const { properties, additionalProperties, items, anyOf, oneOf, definitions } = schema;
  // Closed parts of an intersection would refuse each other's fields, so those stay open.
  if (schema.allOf !== undefined) return schema;
  const { oneOf: _, ...rest } = schema;
  // A union whose members are told apart: `anyOf` says the same to a model, and every provider takes it.
  const union = anyOf ?? oneOf;
  return {
    ...rest,
    ...(properties === undefined
      ? {}
      : { properties: closeEach(properties), additionalProperties: false }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: close(additionalProperties) }),
    ...(items === undefined
      ? {}
      : { items: Array.isArray(items) ? items.map(close) : close(items) }),
    ...(union === undefined ? {} : { anyOf: union.map(close) }),
    ...(definitions === undefined ? {} : { definitions: closeEach(definitions) }),
  };
}

function close(schema: JSONSchema7Definition): JSONSchema7Definition {
  return typeof schema === "boolean" ? schema : closeSchema(schema);
}

function closeEach(
  schemas: Readonly<Record<string, JSONSchema7Definition>>,
): Record<string, JSONSchema7Definition> {
  // fromEntries defines: a field named __proto__ stays a field.
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, close(schema)]));
}

/**
 * What OpenAI's strict mode takes: objects that are closed and whose fields are all required, and no keyword that it does not know. The root has
 * to be an object.
 */
export function isStrictSchema(schema: JSONSchema7): boolean {
  return schema.type === "object" && isStrictPart(schema);
}

const LOOSE_KEYWORDS = ["oneOf", "allOf", "not", "propertyNames", "patternProperties"] as const;

function isStrictPart(part: JSONSchema7Definition): boolean {
  if (typeof part === "boolean") return false;
  const { properties, required = [], items, anyOf = [], definitions = {} } = part;
  if (LOOSE_KEYWORDS.some((keyword) => part[keyword] !== undefined)) return false;
  if (Array.isArray(items)) return false;
  const isTyped = [part.type, part.anyOf, part.$ref, part.enum, part.const].some(
    (value) => value !== undefined,
  );
  const isClosed =
    part.type !== "object" ||
    (part.additionalProperties === false &&
      Object.keys(properties ?? {}).every((name) => required.includes(name)));
  const inside = [
    ...Object.values(properties ?? {}),
    ...(items === undefined ? [] : [items]),
    ...anyOf,
    ...Object.values(definitions),
  ];
  return isTyped && isClosed && inside.every(isStrictPart);
}
