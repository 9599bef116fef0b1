// Parts of a stream that only their provider understands, as records keep them: what it wants back with the next request goes back
// untouched, and where an answer has something from stays readable. Pure.
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { isJsonValue, type JsonValue } from "../../shared/canonical-json.ts";
import type { AssistantPart, ProviderToolResultPart, Source } from "../../shared/wire/messages.ts";

type PartOf<Type extends LanguageModelV4StreamPart["type"]> = Extract<
  LanguageModelV4StreamPart,
  { type: Type }
>;
export type ProviderOptions = NonNullable<AssistantPart["providerOptions"]>;

/** What the provider's own tool returned, as the AI SDK gives it back: never bounded (TOOL-07). */
export function readProviderResult(part: PartOf<"tool-result">): ProviderToolResultPart {
  const { toolCallId, toolName, isError } = part;
  return {
    type: "tool-result",
    toolCallId,
    toolName,
    output: outputOf(part.result, isError === true),
    ...readProviderOptions(part.providerMetadata),
  };
}

/** A value that is more than a record's JSON may be, in depth or in entries, is kept whole as its text. */
function outputOf(result: unknown, isError: boolean): ProviderToolResultPart["output"] {
  const text = JSON.stringify(result) ?? "null";
  const copy: unknown = JSON.parse(text);
  const value = isJsonValue(copy) ? copy : text;
  if (isError) return { type: "error-json", value };
  return typeof value === "string" ? { type: "text", value } : { type: "json", value };
}

/** A file that the model made, or looked at while it thought. */
export function readFile(
  part: PartOf<"file" | "reasoning-file">,
): Extract<AssistantPart, { type: "file" | "reasoning-file" }> {
  const { type, mediaType, data } = part;
  return {
    type,
    mediaType,
    data:
      data.type === "url"
        ? { type: "url", url: data.originalUrl ?? data.url.href }
        : {
            type: "data",
            data: typeof data.data === "string" ? data.data : toBase64(data.data),
          },
    ...readProviderOptions(part.providerMetadata),
  };
}

export function readSource(part: PartOf<"source">): Source {
  const { id, title } = part;
  if (part.sourceType === "url") {
    return { sourceType: "url", id, url: part.url, ...(title !== undefined && { title }) };
  }
  const { mediaType, filename } = part;
  return {
    sourceType: "document",
    id,
    mediaType,
    title: part.title,
    ...(filename !== undefined && { filename }),
  };
}

/** Provider metadata goes back as provider options; what is not JSON in it is dropped whole. */
export function readProviderOptions(providerMetadata: unknown): {
  providerOptions?: ProviderOptions;
} {
  if (providerMetadata === undefined) return {};
  const copy: unknown = JSON.parse(JSON.stringify(providerMetadata) ?? "null");
  if (!isJsonObject(copy)) return {};
  const providerOptions: ProviderOptions = {};
  for (const [provider, values] of Object.entries(copy)) {
    if (isJsonObject(values)) providerOptions[provider] = values;
  }
  return Object.keys(providerOptions).length === 0 ? {} : { providerOptions };
}

export function isJsonObject(value: unknown): value is { [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && isJsonValue(value);
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
