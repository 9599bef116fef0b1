// What OpenAI's Responses API streams, as a list of named answers.
import {
  call,
  completed,
  incomplete,
  item,
  message,
  opened,
  reasoning,
  refusal,
  RESPONSE,
  SEARCHED,
} from "./openai-wire.ts";
import {
  BROKE_OFF,
  FILTERED,
  LOST,
  KEPT_MALFORMED,
  NO_LAST_THOUGHT,
  ODD_ARGUMENTS,
  pieces,
} from "./wire.ts";
import type { Frame, RecordedStream } from "./wire.ts";

const OSLO = ['{"ci', 'ty":"Oslo"}'];
const BERGEN = ['{"city":"Bergen"}'];

const OVERLOADED = {
  code: "server_error",
  message: "The server is overloaded, please retry.",
} as const;

export const OPENAI_STREAMS: readonly RecordedStream[] = [
  {
    name: "plain text",
    covers: ["text", "usage"],
    frames: opened(...message(0, ["Regn ", "i Tromsø 🌧", "."]), completed()),
  },
  {
    name: "text without usage details",
    covers: ["usage"],
    frames: opened(...message(0, ["Rain."]), completed({ input_tokens: 3, output_tokens: 2 })),
  },
  {
    name: "reasoning in two summaries, then text",
    covers: ["reasoning"],
    frames: opened(
      ...reasoning(0, ["First the coast.", "Then the fjord."]),
      ...message(1, ["Rain."]),
      completed(),
    ),
  },
  {
    name: "reasoning without a summary, then a call",
    covers: ["reasoning"],
    frames: opened(...reasoning(0, []), ...call(1, OSLO), completed()),
  },
  {
    name: "two calls",
    covers: ["parallel calls"],
    frames: opened(...reasoning(0, []), ...call(1, OSLO), ...call(2, BERGEN), completed()),
  },
  {
    name: "arguments in fragments",
    covers: ["fragmented arguments"],
    frames: opened(...call(0, pieces(ODD_ARGUMENTS, 3)), completed()),
  },
  {
    name: "text, then a call without arguments",
    covers: ["text and call"],
    frames: opened(...message(0, ["I look."]), ...call(1, []), completed()),
  },
  {
    name: "web search with citations",
    covers: ["provider tool", "sources"],
    providerTools: ["openai.web_search"],
    frames: opened(...reasoning(0, []), ...SEARCHED, completed()),
  },
  {
    name: "web search that fails, then a call",
    covers: ["provider tool"],
    providerTools: ["openai.web_search"],
    frames: opened(
      ...item(0, { type: "web_search_call", id: "ws_0", status: "in_progress" }, [], {
        status: "failed",
        action: { type: "search", query: "weather oslo" },
      }),
      ...call(1, OSLO),
      completed(),
    ),
  },
  {
    name: "refusal",
    covers: ["refusal"],
    frames: opened(...refusal(0, ["I cannot ", "help."]), completed()),
    fault: FILTERED,
  },
  {
    name: "content filter",
    covers: ["content filter"],
    frames: opened(...message(0, ["The"], [], "incomplete"), incomplete("content_filter")),
    fault: FILTERED,
  },
  {
    name: "text cut by length",
    covers: ["cut by length"],
    frames: opened(...message(0, ["The rain"], [], "incomplete"), incomplete("max_output_tokens")),
  },
  {
    name: "call cut by length",
    covers: ["cut by length"],
    frames: opened(
      ...reasoning(0, []),
      ...call(1, ['{"city":"Os'], "incomplete"),
      incomplete("max_output_tokens"),
    ),
    differs: KEPT_MALFORMED,
  },
  {
    name: "reasoning cut by length",
    covers: ["cut by length"],
    frames: opened(...reasoning(0, ["So long"]), incomplete("max_output_tokens")),
    differs: { request: NO_LAST_THOUGHT },
  },
  {
    name: "text, then reasoning cut by length",
    covers: ["cut by length"],
    frames: opened(
      ...message(0, ["I look."]),
      ...reasoning(1, ["So long"]),
      incomplete("max_output_tokens"),
    ),
    differs: { request: NO_LAST_THOUGHT },
  },
  {
    name: "stream that ends midway",
    covers: ["ends midway"],
    frames: opened(...message(0, ["The rain", " in"])).slice(0, -3),
    fault: BROKE_OFF,
  },
  {
    name: "connection torn midway",
    covers: ["connection lost"],
    frames: opened(...message(0, ["The rain", " in"])).slice(0, -3),
    isTorn: true,
    fault: LOST,
  },
  {
    name: "error event before any output",
    covers: ["error event"],
    frames: opened({ type: "error", ...OVERLOADED, param: null }),
    fault: { reason: "http", isTransient: true },
  },
  {
    name: "error event after output",
    covers: ["error event"],
    frames: opened(...message(0, ["The"]), { type: "error", ...OVERLOADED, param: null }),
    fault: { isTransient: true },
  },
  {
    name: "response.failed after output",
    covers: ["error event"],
    frames: opened(...message(0, ["The"]), {
      type: "response.failed",
      response: { ...RESPONSE, status: "failed", error: OVERLOADED },
    }),
    fault: { isTransient: true },
  },
  {
    name: "empty answer",
    covers: ["empty"],
    frames: opened(...message(0, []), completed()),
  },
  {
    name: "no output at all",
    covers: ["empty"],
    frames: opened(completed()),
  },
];

export const OPENAI_GOODBYE: readonly Frame[] = opened(...message(9, ["Bye."]), completed());
