// Chat completions, as OpenAI's API and the servers that copy it stream them: what is common, then vLLM's dialect.
import { BROKE_OFF, FILTERED, KEPT_MALFORMED, LOST, ODD_ARGUMENTS, pieces } from "./wire.ts";
import type { Frame, Json, RecordedStream } from "./wire.ts";

export interface ChatDialect {
  readonly envelope: Json;
  readonly usage: Json;
  /** What every delta of the dialect carries beside what it says. */
  readonly delta?: Json;
}

export function chatFrames(dialect: ChatDialect) {
  const chunk = (delta: Json, finish_reason: string | null = null): Json => ({
    ...dialect.envelope,
    object: "chat.completion.chunk",
    created: 1_790_000_000,
    choices: [{ index: 0, delta: { ...dialect.delta, ...delta }, logprobs: null, finish_reason }],
  });
  return {
    chunk,
    texts: (...texts: readonly string[]): Json[] => texts.map((content) => chunk({ content })),
    closed: (reason: string, usage: Json = dialect.usage): Frame[] => [
      chunk({}, reason),
      { ...dialect.envelope, object: "chat.completion.chunk", choices: [], usage },
      "[DONE]",
    ],
  };
}

const { chunk, texts, closed } = chatFrames({
  envelope: { id: "chatcmpl-1", model: "qwen3", system_fingerprint: null },
  usage: {
    prompt_tokens: 40,
    completion_tokens: 12,
    total_tokens: 52,
    prompt_tokens_details: { cached_tokens: 24 },
    completion_tokens_details: { reasoning_tokens: 5 },
  },
});

const ROLE = chunk({ role: "assistant", content: "" });

function thoughts(...values: readonly string[]): Json[] {
  return values.map((reasoning_content) => chunk({ reasoning_content }));
}

/** The id and the name come first and once; arguments follow under the call's index. */
function call(index: number, ...fragments: readonly string[]): Json[] {
  const begin = { id: `chatcmpl-tool-${index}`, type: "function", index };
  return [
    chunk({ tool_calls: [{ ...begin, function: { name: "weather", arguments: "" } }] }),
    ...fragments.map((args) => chunk({ tool_calls: [{ index, function: { arguments: args } }] })),
  ];
}

const OSLO = ['{"ci', 'ty":"Oslo"}'];

export const CHAT_STREAMS: readonly RecordedStream[] = [
  {
    name: "plain text",
    covers: ["text", "usage"],
    frames: [ROLE, ...texts("Regn ", "i Tromsø 🌧", "."), ...closed("stop")],
  },
  {
    name: "text without usage",
    covers: ["usage"],
    frames: [ROLE, ...texts("Rain."), chunk({}, "stop"), "[DONE]"],
  },
  {
    name: "reasoning, then text",
    covers: ["reasoning"],
    frames: [
      ROLE,
      ...thoughts("First the coast. ", "Then the fjord."),
      ...texts("Rain."),
      ...closed("stop"),
    ],
  },
  {
    name: "reasoning, then a call",
    covers: ["reasoning"],
    frames: [ROLE, ...thoughts("I look."), ...call(0, ...OSLO), ...closed("tool_calls")],
  },
  {
    name: "reasoning around text",
    covers: ["reasoning"],
    frames: [
      ROLE,
      ...thoughts("The coast."),
      ...texts("Rain, "),
      ...thoughts("The fjord."),
      ...texts("snow."),
      ...closed("stop"),
    ],
  },
  {
    name: "two calls",
    covers: ["parallel calls"],
    frames: [ROLE, ...call(0, ...OSLO), ...call(1, '{"city":"Bergen"}'), ...closed("tool_calls")],
  },
  {
    name: "two calls whose fragments alternate",
    covers: ["parallel calls"],
    frames: [
      ROLE,
      ...call(0),
      ...call(1),
      ...call(0, '{"city":').slice(1),
      ...call(1, '{"city":').slice(1),
      ...call(0, '"Oslo"}').slice(1),
      ...call(1, '"Bergen"}').slice(1),
      ...closed("tool_calls"),
    ],
  },
  {
    name: "arguments in fragments",
    covers: ["fragmented arguments"],
    frames: [ROLE, ...call(0, ...pieces(ODD_ARGUMENTS, 3)), ...closed("tool_calls")],
  },
  {
    name: "text, then a call without arguments",
    covers: ["text and call"],
    frames: [ROLE, ...texts("I look."), ...call(0), ...closed("tool_calls")],
  },
  {
    name: "refusal",
    covers: ["refusal"],
    frames: [ROLE, chunk({ refusal: "I cannot " }), chunk({ refusal: "help." }), ...closed("stop")],
    fault: FILTERED,
  },
  {
    name: "content filter",
    covers: ["content filter"],
    frames: [ROLE, ...texts("The"), ...closed("content_filter")],
    fault: FILTERED,
  },
  {
    name: "text cut by length",
    covers: ["cut by length"],
    frames: [ROLE, ...texts("The rain"), ...closed("length")],
  },
  {
    name: "call cut by length",
    covers: ["cut by length"],
    frames: [ROLE, ...texts("I look."), ...call(0, '{"city":"Os'), ...closed("length")],
    differs: KEPT_MALFORMED,
  },
  {
    name: "stream that ends midway",
    covers: ["ends midway"],
    frames: [ROLE, ...texts("The rain", " in")],
    fault: BROKE_OFF,
  },
  {
    name: "connection torn midway",
    covers: ["connection lost"],
    frames: [ROLE, ...texts("The rain", " in")],
    isTorn: true,
    fault: LOST,
  },
  {
    name: "error object after output",
    covers: ["error event"],
    frames: [
      ROLE,
      ...texts("The"),
      {
        error: {
          object: "error",
          message: "EngineCore encountered an issue.",
          type: "InternalServerError",
          param: null,
          code: 500,
        },
      },
      "[DONE]",
    ],
    fault: { isTransient: true },
  },
  {
    name: "error object that blames the request",
    covers: ["error event"],
    frames: [
      ROLE,
      { error: { object: "error", message: "bad", type: "BadRequestError", code: 400 } },
      "[DONE]",
    ],
    fault: { isTransient: false },
  },
  {
    name: "empty answer",
    covers: ["empty"],
    frames: [ROLE, ...closed("stop")],
  },
];

export const CHAT_GOODBYE: readonly Frame[] = [ROLE, ...texts("Bye."), ...closed("stop")];
