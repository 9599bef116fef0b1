// Hand-made models and stream parts.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

export type Parts = readonly LanguageModelV4StreamPart[];

export function usage(input: number | undefined = 3, output: number | undefined = 2) {
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: 1, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  } satisfies LanguageModelV4Usage;
}

type Unified = Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"]["unified"];

export function finish(
  unified: Unified = "stop",
  counts: LanguageModelV4Usage = usage(),
): LanguageModelV4StreamPart {
  return { type: "finish", finishReason: { unified, raw: undefined }, usage: counts };
}

export function text(value: string, id = "0"): LanguageModelV4StreamPart[] {
  return [
    { type: "text-start", id },
    { type: "text-delta", id, delta: value },
    { type: "text-end", id },
  ];
}

export function toolCall(toolCallId: string, input = "{}"): LanguageModelV4StreamPart {
  return { type: "tool-call", toolCallId, toolName: "act", input };
}

export function model(
  doStream: (options: LanguageModelV4CallOptions) => ReturnType<LanguageModelV4["doStream"]>,
): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "test",
    modelId: "model",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("only streams")),
    doStream,
  };
}

export type Ending = "closes" | "stalls" | { readonly breaksWith: unknown };

/** A stream of these parts, which then closes, says nothing more, or breaks. */
export function streamOf(
  parts: Parts,
  ending: Ending = "closes",
  onCancel: () => void = () => undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const part = parts[next];
      next += 1;
      if (part !== undefined) controller.enqueue(part);
      else if (ending === "closes") controller.close();
      else if (ending === "stalls") return Promise.withResolvers<void>().promise;
      else controller.error(ending.breaksWith);
      return undefined;
    },
    cancel: onCancel,
  });
}

export function streaming(parts: Parts, ending: Ending = "closes"): LanguageModelV4 {
  return model(() => Promise.resolve({ stream: streamOf(parts, ending) }));
}
