// The embedded model behind `local/…`: deterministic, a function of the prompt, no network. It lets a fresh clone run without an account,
// and says in its text that it is the local model.
import type {
  JSONSchema7,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import type { JsonValue } from "../../shared/canonical-json.ts";
import { sampleJson } from "./sample-json.ts";

/** What a script answers with: text, or calls. */
export type LocalReply =
  | { readonly text: string }
  | { readonly calls: readonly { readonly tool: string; readonly input: JsonValue }[] };

/** Contract: pure, a function of the prompt's shape alone, so that a repeated call after a crash answers the same. */
export type LocalScript = (prompt: LanguageModelV4Prompt) => LocalReply;

/** Without a script, a sample of the output schema, or one sentence. */
export function localModel(name: string, script: LocalScript | null): LanguageModelV4 {
  const answer = (options: LanguageModelV4CallOptions): LanguageModelV4StreamPart[] =>
    toParts(script === null ? { text: sampleAnswer(options) } : script(options.prompt), options);
  return {
    specificationVersion: "v4",
    provider: "local",
    modelId: name,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("the local model only streams")),
    doStream: (options) =>
      Promise.resolve({
        stream: new ReadableStream({
          start(controller) {
            for (const part of answer(options)) controller.enqueue(part);
            controller.close();
          },
        }),
      }),
  };
}

function sampleAnswer(options: LanguageModelV4CallOptions): string {
  const text = "This is the local model: it answers with a sample.";
  const schema: JSONSchema7 | undefined =
    options.responseFormat?.type === "json" ? options.responseFormat.schema : undefined;
  return schema === undefined ? text : JSON.stringify(sampleJson(schema, text));
}

function toParts(
  reply: LocalReply,
  options: LanguageModelV4CallOptions,
): LanguageModelV4StreamPart[] {
  const parts: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
  const turn = options.prompt.filter((message) => message.role === "assistant").length + 1;
  let written = "";
  if ("text" in reply) {
    written = reply.text;
    parts.push({ type: "text-start", id: "0" });
    // Word by word, as a remote model would send it.
    for (const delta of reply.text.match(/\S+\s*|\s+/g) ?? []) {
      parts.push({ type: "text-delta", id: "0", delta });
    }
    parts.push({ type: "text-end", id: "0" });
  } else {
    for (const [index, call] of reply.calls.entries()) {
      const input = JSON.stringify(call.input);
      written += input;
      parts.push({
        type: "tool-call",
        toolCallId: `call-${turn}-${index}`,
        toolName: call.tool,
        input,
      });
    }
  }
  parts.push({
    type: "finish",
    finishReason: { unified: "text" in reply ? "stop" : "tool-calls", raw: undefined },
    usage: {
      // Four characters a token, the usual rule of thumb.
      inputTokens: {
        total: Math.ceil(JSON.stringify(options.prompt).length / 4),
        noCache: undefined,
        cacheRead: undefined,
        cacheWrite: undefined,
      },
      outputTokens: { total: Math.ceil(written.length / 4), text: undefined, reasoning: undefined },
    },
  });
  return parts;
}
