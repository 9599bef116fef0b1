// The model under test's control: it answers with the plan that the input of the run carries, as a function of the prompt's shape, so
// that a call repeated after a crash gets the same answer. Faulty plans misbehave the way providers do.
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Prompt,
  type LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { z } from "zod";
import { world } from "./world.ts";

/** One answer of the model. */
export const PlannedTurnSchema = z.object({
  text: z.string().optional(),
  calls: z
    .array(
      z.object({
        tool: z.string(),
        input: z.json().optional(),
        /** Arguments exactly as the model sends them. */
        raw: z.string().optional(),
        id: z.string().optional(),
      }),
    )
    .optional(),
  finish: z.enum(["stop", "length", "content-filter", "tool-calls", "error", "other"]).optional(),
  /** Fails the first `times` calls for this turn. */
  fail: z
    .object({
      how: z.enum(["http", "error-part", "throw", "break-off", "stall", "stall-open"]),
      status: z.int().optional(),
      times: z.int().optional(),
    })
    .optional(),
  inputTokens: z.int().optional(),
  outputTokens: z.int().optional(),
  /** Waits at this gate before it answers. */
  gate: z.string().optional(),
});
export type PlannedTurn = z.infer<typeof PlannedTurnSchema>;

/** The input of every scripted agent. */
export const ScriptedInputSchema = z.object({
  plan: z.array(PlannedTurnSchema),
  note: z.string().optional(),
});
export type ScriptedInput = z.infer<typeof ScriptedInputSchema>;

/** Prompts as the model saw them, newest last. */
export const seenPrompts: LanguageModelV4CallOptions[] = [];

export const scriptedModel: LanguageModelV4 = {
  specificationVersion: "v4",
  provider: "test",
  modelId: "scripted",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("the run loop streams")),
  doStream: async (options) => {
    seenPrompts.push(options);
    if (seenPrompts.length > 200) seenPrompts.shift();
    const { turn, key } = plannedTurn(options.prompt);
    const calls = (world.modelCalls.get(key) ?? 0) + 1;
    world.modelCalls.set(key, calls);
    if (turn.gate !== undefined) await world.passGate(turn.gate);
    const { fail } = turn;
    if (fail !== undefined && calls <= (fail.times ?? Number.MAX_SAFE_INTEGER)) {
      return { stream: failingStream(fail, turn, options.abortSignal) };
    }
    return { stream: streamOf(partsOf(turn, options.prompt)) };
  },
};

function plannedTurn(prompt: LanguageModelV4Prompt): { turn: PlannedTurn; key: string } {
  const from = prompt.findLastIndex((message) => message.role === "user");
  const message = prompt[from];
  const text =
    message?.role === "user"
      ? message.content.map((part) => (part.type === "text" ? part.text : "")).join("")
      : "{}";
  const { plan } = ScriptedInputSchema.parse(JSON.parse(text));
  const answered = prompt.slice(from).filter((later) => later.role === "assistant").length;
  const turn = plan[Math.min(answered, plan.length - 1)] ?? { text: "{}" };
  return { turn, key: `${answered}:${text}` };
}

function streamOf(parts: LanguageModelV4StreamPart[]): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

function failingStream(
  fail: NonNullable<PlannedTurn["fail"]>,
  turn: PlannedTurn,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const error = new APICallError({
    message: "provider secret body",
    url: "http://provider.invalid",
    requestBodyValues: {},
    statusCode: fail.status ?? 500,
    responseBody: "provider secret body",
  });
  switch (fail.how) {
    case "http":
    case "throw":
      if (fail.how === "throw") throw new Error("secret inside an unknown error");
      throw error;
    case "error-part":
      return streamOf([
        { type: "stream-start", warnings: [] },
        { type: "error", error },
      ]);
    case "break-off":
      return streamOf(textParts(turn.text ?? "half an ans").slice(0, 2));
    case "stall":
    case "stall-open":
      return new ReadableStream({
        async start(controller) {
          if (fail.how === "stall-open") {
            for (const part of textParts("half").slice(0, 2)) controller.enqueue(part);
          }
          await new Promise<void>((resolve) => {
            if (signal === undefined || signal.aborted) resolve();
            signal?.addEventListener("abort", () => resolve());
          });
          controller.error(new Error("aborted"));
        },
      });
  }
}

function textParts(text: string): LanguageModelV4StreamPart[] {
  return [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: text },
    { type: "text-end", id: "0" },
  ];
}

function partsOf(turn: PlannedTurn, prompt: LanguageModelV4Prompt): LanguageModelV4StreamPart[] {
  const parts: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
  if (turn.text !== undefined) parts.push(...textParts(turn.text));
  const answered = prompt.filter((message) => message.role === "assistant").length;
  for (const [index, call] of (turn.calls ?? []).entries()) {
    parts.push({
      type: "tool-call",
      toolCallId: call.id ?? `call-${answered}-${index}`,
      toolName: call.tool,
      input: call.raw ?? JSON.stringify(call.input ?? {}),
    });
  }
  const unified = turn.finish ?? (turn.calls === undefined ? "stop" : "tool-calls");
  parts.push({
    type: "finish",
    finishReason: { unified, raw: undefined },
    usage: {
      inputTokens: {
        total: turn.inputTokens ?? 10,
        noCache: undefined,
        cacheRead: undefined,
        cacheWrite: undefined,
      },
      outputTokens: { total: turn.outputTokens ?? 5, text: undefined, reasoning: undefined },
    },
  });
  return parts;
}
