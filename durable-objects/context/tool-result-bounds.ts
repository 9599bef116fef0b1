// The bound that every application tool result passes once, before it is recorded (CTX-18). Pure.
import type { JsonValue } from "../../shared/canonical-json.ts";
import { MAX_TOOL_RESULT_BYTES } from "../../shared/limits.ts";
import { utf8Length, utf8Prefix, utf8Suffix } from "../../shared/bytes.ts";
import type { ToolOutput } from "../../shared/wire/messages.ts";

/** Within the limit the value is unchanged; above it, an envelope with its head and tail, half the budget each. */
export function boundToolOutput(output: ToolOutput, maxBytes: number): ToolOutput {
  switch (output.type) {
    case "text":
    case "json": {
      const envelope = envelopeOf(output.value, maxBytes);
      return envelope === null ? output : { type: "json", value: envelope };
    }
    case "error-text":
    case "error-json": {
      const envelope = envelopeOf(output.value, maxBytes);
      return envelope === null ? output : { type: "error-json", value: envelope };
    }
    case "execution-denied":
      return output;
  }
}

/** What a policy may allow at most, with room for the envelope's own fields. */
const MAX_STORED_BYTES = MAX_TOOL_RESULT_BYTES + 512;

/** A stored result that passed no bound is refused when it is read, never cut then: the model saw what the log holds (CTX-18). */
export function isBoundedOutput(output: ToolOutput): boolean {
  if (output.type === "execution-denied") return true;
  const { value } = output;
  return utf8Length(typeof value === "string" ? value : JSON.stringify(value)) <= MAX_STORED_BYTES;
}

/** The value itself, or its envelope. */
export function boundValue(value: JsonValue, maxBytes: number): JsonValue {
  return envelopeOf(value, maxBytes) ?? value;
}

function envelopeOf(value: JsonValue, maxBytes: number): JsonValue | null {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const originalBytes = utf8Length(text);
  if (originalBytes <= maxBytes) return null;
  const half = Math.floor(maxBytes / 2);
  return {
    truncatedToolResult: true,
    originalBytes,
    head: utf8Prefix(text, half),
    tail: utf8Suffix(text, half),
  };
}
