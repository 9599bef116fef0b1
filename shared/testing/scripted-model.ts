// A model that answers as planned, and misbehaves the way providers do.
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Message,
  type LanguageModelV4Prompt,
  type LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { z } from "zod";
import { REPAIR_REQUEST_START } from "../wire/messages.ts";
import type { TestWorld } from "./test-world.ts";

const PieceSchema = z.union([z.string(), z.object({ reasoning: z.string() })]);
type Piece = z.infer<typeof PieceSchema>;

/** One answer of the model. */
export const PlannedTurnSchema = z.object({
  text: z.string().optional(),
  /** Text that streams in piece by piece, before everything else. */
  pieces: z.array(PieceSchema).optional(),
  /** Where the stream waits: before piece 1 at `<gate>-1`, and so on, and after the last piece too. */
  pieceGate: z.string().optional(),
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
  /** Calls that the provider runs itself, with their results; before all other calls. */
  providerCalls: z.array(z.object({ tool: z.string(), result: z.json() })).optional(),
  finish: z.enum(["stop", "length", "content-filter", "tool-calls", "error", "other"]).optional(),
  /** Fails the first `times` calls for this turn. */
  fail: z
    .object({
      how: z.enum(["http", "error-part", "throw", "break-off", "stall", "stall-open"]),
      status: z.int().optional(),
      /** Of the refusal, such as `retry-after`. */
      headers: z.record(z.string(), z.string()).optional(),
      times: z.int().optional(),
    })
    .optional(),
  inputTokens: z.int().optional(),
  outputTokens: z.int().optional(),
  cacheReadTokens: z.int().optional(),
  /** Waits at this gate before it answers. */
  gate: z.string().optional(),
});
export type PlannedTurn = z.infer<typeof PlannedTurnSchema>;

export interface ModelScript {
  /** What the model answers, turn by turn, given what it is asked: its last answer is repeated. Contract: a function of the prompt alone, so that
   * a call that is repeated after a crash gets the same answer. */
  readonly planOf: (prompt: LanguageModelV4Prompt) => readonly PlannedTurn[];
  /** Where gates are, and where calls are counted. */
  readonly world: TestWorld;
  /** Told of every call. */
  readonly onCall?: (options: LanguageModelV4CallOptions) => void;
}

/** A model under the test's control. Its turn is the number of its own answers since the newest user message. */
export function scriptModel({ planOf, world, onCall }: ModelScript): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "test",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("the run loop streams")),
    doStream: async (options) => {
      onCall?.(options);
      const { prompt } = options;
      const from = prompt.findLastIndex(isInput);
      const answered = prompt.slice(from).filter((later) => later.role === "assistant").length;
      const plan = planOf(prompt);
      const turn = plan[Math.min(answered, plan.length - 1)] ?? { text: "{}" };
      const key = `${answered}:${lastUserText(prompt)}`;
      const calls = (world.modelCalls.get(key) ?? 0) + 1;
      world.modelCalls.set(key, calls);
      if (turn.gate !== undefined) await world.passGate(turn.gate);
      const { fail } = turn;
      const mayFail = fail !== undefined && calls <= (fail.times ?? Number.MAX_SAFE_INTEGER);
      if (turn.pieces !== undefined && (!mayFail || fail.how === "break-off")) {
        const end = mayFail ? [] : partsOf(turn, prompt);
        return { stream: streamInPieces(world, turn.pieces, turn.pieceGate, end) };
      }
      if (mayFail) return { stream: failingStream(fail, turn, options.abortSignal) };
      return { stream: streamOf(partsOf(turn, prompt)) };
    },
  };
}

/** The text of the newest input: of the newest user message that no request for a repair is. */
export function lastUserText(prompt: LanguageModelV4Prompt): string {
  const message = prompt.findLast(isInput);
  return message === undefined ? "" : textOf(message);
}

function isInput(message: LanguageModelV4Message): boolean {
  return message.role === "user" && !textOf(message).startsWith(REPAIR_REQUEST_START);
}

function textOf({ content }: LanguageModelV4Message): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function streamOf(parts: LanguageModelV4StreamPart[]): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** The pieces, each after its gate, and then the rest. */
function streamInPieces(
  world: TestWorld,
  pieces: readonly Piece[],
  gate: string | undefined,
  end: readonly LanguageModelV4StreamPart[],
): ReadableStream<LanguageModelV4StreamPart> {
  const reach = async (piece: number): Promise<void> => {
    if (gate !== undefined) await world.passGate(`${gate}-${piece}`);
  };
  return new ReadableStream({
    async start(controller) {
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) await reach(index);
        controller.enqueue(
          typeof piece === "string"
            ? { type: "text-delta", id: "pieces", delta: piece }
            : { type: "reasoning-delta", id: "pieces", delta: piece.reasoning },
        );
      }
      await reach(pieces.length);
      for (const part of end) controller.enqueue(part);
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
    ...(fail.headers === undefined ? {} : { responseHeaders: fail.headers }),
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
  for (const [index, { tool: toolName, result }] of (turn.providerCalls ?? []).entries()) {
    const identity = { toolCallId: `search-${answered}-${index}`, toolName };
    parts.push({ type: "tool-call", ...identity, input: "{}", providerExecuted: true });
    parts.push({ type: "tool-result", ...identity, result: result ?? "nothing" });
  }
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
        cacheRead: turn.cacheReadTokens,
        cacheWrite: undefined,
      },
      outputTokens: { total: turn.outputTokens ?? 5, text: undefined, reasoning: undefined },
    },
  });
  return parts;
}
