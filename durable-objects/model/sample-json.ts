// A deterministic value that fits a JSON Schema, for the local model's answer when no script is registered. Pure.
import type { JSONSchema7, JSONSchema7Definition } from "@ai-sdk/provider";
import type { JsonValue } from "../../shared/canonical-json.ts";

/** Covers what zod emits: objects, arrays, strings, numbers, booleans, enums, constants and unions. `text` fills every free string. */
export function sampleJson(schema: JSONSchema7Definition | undefined, text: string): JsonValue {
  if (schema === undefined || typeof schema === "boolean") return {};
  if (schema.const !== undefined) return asJson(schema.const);
  if (schema.enum?.[0] !== undefined) return asJson(schema.enum[0]);
  if (schema.default !== undefined) return asJson(schema.default);
  const union = schema.anyOf ?? schema.oneOf;
  if (union !== undefined) return sampleJson(union[0], text);
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "object":
      return sampleObject(schema, text);
    case "array":
      return Array.from({ length: schema.minItems ?? 1 }, () =>
        sampleJson(Array.isArray(schema.items) ? schema.items[0] : schema.items, text),
      );
    case "string":
      return text.padEnd(schema.minLength ?? 0, ".").slice(0, schema.maxLength);
    case "integer":
    case "number":
      return schema.minimum ?? (schema.exclusiveMinimum ?? -1) + 1;
    case "boolean":
      return true;
    default:
      return null;
  }
}

function sampleObject(schema: JSONSchema7, text: string): JsonValue {
  const sample: { [key: string]: JsonValue } = {};
  for (const key of schema.required ?? []) sample[key] = sampleJson(schema.properties?.[key], text);
  return sample;
}

function asJson(value: unknown): JsonValue {
  const copy: JsonValue = JSON.parse(JSON.stringify(value));
  return copy;
}
