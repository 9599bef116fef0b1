// A JSON Schema as models get it: objects say that they have no other fields. OpenAI's structured output refuses a schema that leaves it
// open, and a model that reads it invents fewer fields. What callers and digests see stays as the author wrote it. Pure.
import type { JSONSchema7, JSONSchema7Definition } from "@ai-sdk/provider";

/** A copy in which objects with known fields are closed, unless the author said what else they hold. */
export function closeSchema(schema: JSONSchema7): JSONSchema7 {
  const { properties, additionalProperties, items, anyOf, oneOf, definitions } = schema;
  // Closed parts of an intersection would refuse each other's fields, so those stay open.
  if (schema.allOf !== undefined) return schema;
  return {
    ...schema,
    ...(properties === undefined
      ? {}
      : { properties: closeEach(properties), additionalProperties: false }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: close(additionalProperties) }),
    ...(items === undefined
      ? {}
      : { items: Array.isArray(items) ? items.map(close) : close(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(close) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(close) }),
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

/** Every field of every object in it has to be there: what OpenAI's strict mode asks of a schema. */
export function requiresAll(schema: JSONSchema7): boolean {
  const { properties = {}, required = [], items, anyOf = [], oneOf = [], allOf = [] } = schema;
  const parts = [
    ...Object.values(properties),
    ...[items ?? []].flat(),
    ...anyOf,
    ...oneOf,
    ...allOf,
    ...Object.values(schema.definitions ?? {}),
  ];
  return (
    Object.keys(properties).every((name) => required.includes(name)) &&
    parts.every((part) => typeof part === "boolean" || requiresAll(part))
  );
}
