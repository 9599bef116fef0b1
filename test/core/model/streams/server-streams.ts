// Chat completions where a server has ways of its own: Ollama's, and Workers AI's as AI Gateway's REST API passes them on.
import { chatFrames } from "./chat-streams.ts";
import type { ChatDialect } from "./chat-streams.ts";
import { BROKE_OFF, FILTERED, KEPT_MALFORMED, LOST, ODD_ARGUMENTS, TAKEN, pieces } from "./wire.ts";
import type { Frame, RecordedStream } from "./wire.ts";

/** A call in one piece: Ollama parses a call before it sends it. Old versions give every call the index 0. */
function wholeCall(id: string, index: number, args: string): Readonly<Record<string, unknown>> {
  return { id, index, type: "function", function: { name: "weather", arguments: args } };
}

const OLLAMA: ChatDialect = {
  envelope: { id: "chatcmpl-417", model: "qwen3:8b", system_fingerprint: "fp_ollama" },
  // Every delta says who speaks, and has content.
  delta: { role: "assistant", content: "" },
  usage: { prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 },
};

export const OLLAMA_STREAMS: readonly RecordedStream[] = streamsOf(OLLAMA, (frames) => {
  const { chunk, texts, closed } = frames;
  return [
    {
      name: "reasoning, then a call",
      covers: ["reasoning"],
      frames: [
        chunk({ reasoning: "First the coast. " }),
        chunk({ reasoning: "Then the fjord." }),
        chunk({ tool_calls: [wholeCall("call_a", 0, '{"city":"Oslo"}')] }),
        ...closed("tool_calls"),
      ],
    },
    {
      name: "two calls under one index",
      covers: ["parallel calls"],
      frames: [
        chunk({ tool_calls: [wholeCall("call_a", 0, '{"city":"Oslo"}')] }),
        chunk({ tool_calls: [wholeCall("call_b", 0, '{"city":"Bergen"}')] }),
        ...closed("tool_calls"),
      ],
    },
    {
      name: "two calls in one delta",
      covers: ["parallel calls"],
      frames: [
        chunk({
          tool_calls: [
            wholeCall("call_a", 0, '{"city":"Oslo"}'),
            wholeCall("call_b", 1, '{"city":"Bergen"}'),
          ],
        }),
        ...closed("tool_calls"),
      ],
    },
    {
      name: "text, then a call without arguments, ended by stop",
      covers: ["text and call"],
      frames: [
        ...texts("I look."),
        chunk({ tool_calls: [wholeCall("call_a", 0, "{}")] }),
        ...closed("stop"),
      ],
    },
    {
      name: "error object after output",
      covers: ["error event"],
      frames: [
        ...texts("The"),
        {
          error: {
            message: "an error was encountered while running the model",
            type: "api_error",
            param: null,
            code: null,
          },
        },
      ],
      fault: { isTransient: true },
      differs: TAKEN,
    },
  ];
});

const WORKERS_AI: ChatDialect = {
  // `p` pads every event to hide how long its text is.
  envelope: { id: "id-1790000000000", model: "@cf/meta/llama-4", p: "abdefghijk" },
  usage: {
    prompt_tokens: 40,
    completion_tokens: 12,
    total_tokens: 52,
    prompt_tokens_details: { cached_tokens: 24 },
  },
};

export const WORKERS_AI_STREAMS: readonly RecordedStream[] = streamsOf(WORKERS_AI, (frames) => {
  const { chunk, closed } = frames;
  const call = (index: number, ...fragments: readonly string[]): Frame[] => [
    chunk({
      tool_calls: [
        { id: `chatcmpl-tool-${index}`, type: "function", index, function: { name: "weather" } },
      ],
    }),
    ...fragments.map((args) =>
      chunk({
        tool_calls: [{ id: null, type: null, index, function: { name: null, arguments: args } }],
      }),
    ),
  ];
  /** A delta of nothing ends a call. */
  const end = (index: number): Frame =>
    chunk({
      tool_calls: [{ id: null, type: null, index, function: { name: null, arguments: "" } }],
    });
  return [
    {
      name: "reasoning, then a call",
      covers: ["reasoning"],
      frames: [
        chunk({ role: "assistant", content: null, reasoning_content: "I look." }),
        ...call(0, '{"ci', 'ty":"Oslo"}'),
        end(0),
        ...closed("tool_calls"),
      ],
    },
    {
      name: "two calls",
      covers: ["parallel calls"],
      frames: [
        ...call(0, '{"city":"Oslo"}'),
        end(0),
        ...call(1, '{"city":"Bergen"}'),
        end(1),
        ...closed("tool_calls"),
      ],
    },
    {
      name: "arguments in fragments",
      covers: ["fragmented arguments"],
      frames: [...call(0, ...pieces(ODD_ARGUMENTS, 3)), end(0), ...closed("tool_calls")],
    },
    {
      name: "text, then a call without arguments, ended by stop",
      covers: ["text and call"],
      frames: [chunk({ content: "I look." }), ...call(0, "{}"), end(0), ...closed("stop")],
    },
    {
      name: "call cut by length",
      covers: ["cut by length"],
      frames: [...call(0, '{"city":"Os'), ...closed("length")],
      differs: KEPT_MALFORMED,
    },
    {
      name: "error object after output",
      covers: ["error event"],
      frames: [
        chunk({ content: "The" }),
        { error: { message: "AiError: Capacity temporarily exceeded", type: "error", code: 3040 } },
      ],
      // A code of Workers AI's own is no HTTP status, and nothing in it blames the request.
      fault: { isTransient: true },
      differs: TAKEN,
    },
    {
      name: "error object with an HTTP status",
      covers: ["error event"],
      frames: [
        chunk({ content: "The" }),
        { error: { message: "Service unavailable upstream", type: "error", code: 503 } },
      ],
      fault: { isTransient: true },
    },
  ];
});

/** What both servers send alike, in the words of their dialect, and what they do not. */
function streamsOf(
  dialect: ChatDialect,
  own: (frames: ReturnType<typeof chatFrames>) => RecordedStream[],
): RecordedStream[] {
  const frames = chatFrames(dialect);
  const { texts, closed } = frames;
  return [
    {
      name: "plain text",
      covers: ["text", "usage"],
      frames: [...texts("Regn ", "i Tromsø 🌧", "."), ...closed("stop")],
    },
    {
      name: "text cut by length",
      covers: ["cut by length"],
      frames: [...texts("The rain"), ...closed("length")],
    },
    {
      name: "content filter",
      covers: ["content filter"],
      frames: [...texts("The"), ...closed("content_filter")],
      fault: FILTERED,
    },
    {
      name: "stream that ends midway",
      covers: ["ends midway"],
      frames: texts("The rain", " in"),
      fault: BROKE_OFF,
    },
    {
      name: "connection torn midway",
      covers: ["connection lost"],
      frames: texts("The rain", " in"),
      isTorn: true,
      fault: LOST,
    },
    { name: "empty answer", covers: ["empty"], frames: closed("stop") },
    ...own(frames),
  ];
}
