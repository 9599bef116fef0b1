// What a handler returned or threw, as the output that is recorded and that the model reads. Total: no value, getter or proxy that a
// handler hands over can throw out of here, and nothing that it throws is ever taken for a signal of ours. Pure.
import { findJsonFault, isJsonValue } from "../../shared/canonical-json.ts";
import { utf8Prefix } from "../../shared/bytes.ts";
import { renderFaults } from "../../shared/define/decoded.ts";
import type { Tool } from "../../shared/define/tool.ts";
import { ToolUnavailable } from "../../shared/define/tool-outcome.ts";
import { MAX_FAILURE_MESSAGE_BYTES } from "../../shared/limits.ts";
import type { ToolOutput } from "../../shared/wire/messages.ts";
import { boundToolOutput } from "../context/tool-result-bounds.ts";

export interface ToolAnswer {
  readonly outcome: "success" | "failure" | "unavailable";
  readonly output: ToolOutput;
}

/** A returned value: checked against the tool's own output schema, encoded, bounded. A string is text, all else is JSON. */
export function encodeReturned(tool: Tool, returned: unknown, maxBytes: number): ToolAnswer {
  try {
    const decoded = tool.decodeOutput(returned);
    if (!decoded.ok) {
      return failure(
        `The tool returned what its output schema forbids: ${renderFaults(decoded.faults)}`,
        maxBytes,
      );
    }
    return encodeValue(decoded.value, maxBytes);
  } catch {
    // A getter, proxy or toJSON of the value threw, or it holds a cycle or a bigint.
    return failure("The tool returned a value that is not JSON.", maxBytes);
  }
}

/** A handler that throws has answered (TOOL-08): the model reads the message. */
export function encodeThrown(error: unknown, maxBytes: number): ToolAnswer {
  const answer = failure(messageOf(error), maxBytes);
  return ToolUnavailable.isInstance(error) ? { ...answer, outcome: "unavailable" } : answer;
}

function encodeValue(value: unknown, maxBytes: number): ToolAnswer {
  if (typeof value === "string") {
    return { outcome: "success", output: boundToolOutput({ type: "text", value }, maxBytes) };
  }
  const text: string | undefined = JSON.stringify(value);
  // The copy is plain JSON, whatever the handler's object was.
  const copy: unknown = text === undefined ? null : JSON.parse(text);
  // Above the bound only head and tail of the text are kept, so its shape does not matter.
  if (text !== undefined && text.length > maxBytes) {
    const bounded = boundToolOutput({ type: "text", value: text }, maxBytes);
    return { outcome: "success", output: bounded };
  }
  if (!isJsonValue(copy)) {
    return failure(
      `The tool returned a value that cannot be stored: ${findJsonFault(copy)}.`,
      maxBytes,
    );
  }
  return { outcome: "success", output: boundToolOutput({ type: "json", value: copy }, maxBytes) };
}

function failure(message: string, maxBytes: number): ToolAnswer {
  return {
    outcome: "failure",
    output: boundToolOutput({ type: "error-text", value: message }, maxBytes),
  };
}

function messageOf(error: unknown): string {
  try {
    if (typeof error === "string") return utf8Prefix(error, MAX_FAILURE_MESSAGE_BYTES);
    if (error instanceof Error) {
      // Read once: a getter may answer differently each time.
      const message: unknown = error.message;
      if (typeof message === "string" && message !== "") {
        return utf8Prefix(message, MAX_FAILURE_MESSAGE_BYTES);
      }
    }
  } catch {
    // A hostile getter or proxy: there is nothing to say about it.
  }
  return "The tool threw a value that is not an error.";
}
