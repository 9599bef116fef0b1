// Two readings of one stream in one shape, so that they can be compared whole.
import type { JsonValue } from "../../../../shared/canonical-json.ts";
import type { ModelResponse } from "../../../../durable-objects/model/reduce-stream.ts";
import type { SdkReading } from "./conversation.ts";
import type { Frame, Json } from "./wire.ts";

export interface Shape {
  readonly content: readonly Json[];
  readonly sources: readonly Json[];
  readonly finishReason: string;
  readonly usage: Json;
}

export function shapeOfOurs(response: ModelResponse, frames: readonly Frame[]): Shape {
  const { content, sources, finishReason, usage } = response;
  return named(
    {
      content: content.map((part) => ({ ...part })),
      sources: sources.map((source) => ({ ...source })),
      finishReason,
      usage,
    },
    frames,
  );
}

export function shapeOfSdk(reading: SdkReading, frames: readonly Frame[]): Shape {
  const { inputTokens, outputTokens, inputTokenDetails: details } = reading.usage;
  return named(
    {
      content: reading.content.flatMap(shapeOfPart),
      sources: reading.content.flatMap((part) => {
        if (part.type !== "source") return [];
        const { type: _, providerMetadata: __, ...source } = part;
        return [source];
      }),
      finishReason: reading.finishReason,
      usage: {
        // What a provider does not count is zero in a record.
        inputTokens: inputTokens ?? 0,
        outputTokens: outputTokens ?? 0,
        cacheReadInputTokens: details.cacheReadTokens ?? 0,
        cacheWriteInputTokens: details.cacheWriteTokens ?? 0,
      },
    },
    frames,
  );
}

type SdkPart = SdkReading["content"][number];

function shapeOfPart(part: SdkPart): Json[] {
  const metadata = "providerMetadata" in part ? part.providerMetadata : undefined;
  const options = metadata === undefined ? {} : { providerOptions: metadata };
  switch (part.type) {
    case "text":
    case "reasoning":
      // A block without text and without proof is nothing to keep.
      return part.text === "" && metadata === undefined
        ? []
        : [{ type: part.type, text: part.text, ...options }];
    case "tool-call": {
      const { toolCallId, toolName, input, providerExecuted } = part;
      const executed = providerExecuted === true ? { providerExecuted } : {};
      return [{ type: part.type, toolCallId, toolName, input, ...executed, ...options }];
    }
    case "tool-result":
    case "tool-error": {
      const { toolCallId, toolName } = part;
      if (part.providerExecuted !== true) return [];
      return [{ type: "tool-result", toolCallId, toolName, output: outputOf(part), ...options }];
    }
    case "file":
    case "reasoning-file": {
      const { mediaType, base64 } = part.file;
      return [{ type: part.type, mediaType, data: { type: "data", data: base64 }, ...options }];
    }
    case "custom":
      return [{ type: part.type, kind: part.kind, ...options }];
    default:
      return [];
  }
}

function outputOf(part: Extract<SdkPart, { type: "tool-result" | "tool-error" }>): Json {
  if (part.type === "tool-error") return { type: "error-json", value: part.error };
  return { type: typeof part.output === "string" ? "text" : "json", value: part.output };
}

/** As JSON, where ids that a client made up are named by their order: each client makes up its own. */
function named(shape: Shape, frames: readonly Frame[]): Shape {
  const json: Shape = JSON.parse(JSON.stringify(shape));
  const renamed: Shape = JSON.parse(nameIds(JSON.stringify(json), idsOf(json, frames)));
  return renamed;
}

/** The ids of a reading that no frame holds. */
function idsOf({ content, sources }: Shape, frames: readonly Frame[]): string[] {
  const wire = JSON.stringify(frames);
  const ids = [...content.map(({ toolCallId }) => toolCallId), ...sources.map(({ id }) => id)];
  return [...new Set(ids)].flatMap((id) =>
    typeof id === "string" && !wire.includes(JSON.stringify(id)) ? [id] : [],
  );
}

function nameIds(text: string, ids: readonly string[]): string {
  return ids.reduce(
    (named, id, at) => named.replaceAll(JSON.stringify(id), `"made-up-${at}"`),
    text,
  );
}

/** A request body in which the ids that the client of its conversation made up are named by their order. */
export function nameRequest(
  body: unknown,
  content: readonly { readonly type: string; readonly toolCallId?: string }[],
  frames: readonly Frame[],
): JsonValue {
  const calls = content.map(({ toolCallId }) => ({ toolCallId }));
  const shape: Shape = { content: calls, sources: [], finishReason: "", usage: {} };
  const renamed: JsonValue = JSON.parse(nameIds(JSON.stringify(body), idsOf(shape, frames)));
  return renamed;
}

/** What is left of a reading when the input of calls is left out. */
export function withoutInputs(shape: Shape): Shape {
  return {
    ...shape,
    content: shape.content.map((part) =>
      part["type"] === "tool-call" ? { ...part, input: null } : part,
    ),
  };
}
