// Anthropic's Messages API, as streamed: blocks that start, grow and stop, between message_start and message_stop.
import {
  BROKE_OFF,
  FILTERED,
  LOST,
  KEPT_MALFORMED,
  NO_EMPTY_MESSAGE,
  NO_LAST_THOUGHT,
  ODD_ARGUMENTS,
  pieces,
} from "./wire.ts";
import type { Frame, Json, RecordedStream } from "./wire.ts";

const USAGE = { input_tokens: 12, cache_creation_input_tokens: 6, cache_read_input_tokens: 20 };

function opened(...frames: readonly Json[]): Json[] {
  return [
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "claude-opus-5",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...USAGE, output_tokens: 1, service_tier: "standard" },
      },
    },
    { type: "ping" },
    ...frames,
  ];
}

function closed(stop_reason: string): Json[] {
  return [
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: 9 },
    },
    { type: "message_stop" },
  ];
}

function block(index: number, content_block: Json, ...deltas: readonly Json[]): Json[] {
  return [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

function text(index: number, ...deltas: readonly string[]): Json[] {
  return block(
    index,
    { type: "text", text: "" },
    ...deltas.map((delta) => ({ type: "text_delta", text: delta })),
  );
}

function thinking(index: number, ...deltas: readonly string[]): Json[] {
  return block(
    index,
    { type: "thinking", thinking: "", signature: "" },
    ...deltas.map((delta) => ({ type: "thinking_delta", thinking: delta })),
    { type: "signature_delta", signature: `proof-of-thought-${index}` },
  );
}

function call(index: number, ...fragments: readonly string[]): Json[] {
  return block(
    index,
    { type: "tool_use", id: `toolu_${index}`, name: "weather", input: {} },
    { type: "input_json_delta", partial_json: "" },
    ...fragments.map((partial_json) => ({ type: "input_json_delta", partial_json })),
  );
}

const OSLO = ['{"ci', 'ty":"Oslo"}'];

function search(index: number, content: unknown): Json[] {
  return [
    ...block(
      index,
      { type: "server_tool_use", id: `srvtoolu_${index}`, name: "web_search", input: {} },
      { type: "input_json_delta", partial_json: '{"query":"weather ' },
      { type: "input_json_delta", partial_json: 'oslo"}' },
    ),
    ...block(index + 1, {
      type: "web_search_tool_result",
      tool_use_id: `srvtoolu_${index}`,
      content,
    }),
  ];
}

const HIT = {
  type: "web_search_result",
  url: "https://yr.example/oslo",
  title: "Oslo",
  page_age: "2 hours ago",
  encrypted_content: "sealed-page",
};

const CITATION = {
  type: "web_search_result_location",
  cited_text: "Rain all day",
  url: HIT.url,
  title: HIT.title,
  encrypted_index: "sealed-place",
};

const OVERLOADED = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
const SEARCH_TOOL = ["anthropic.web_search_20250305"];

export const ANTHROPIC_STREAMS: readonly RecordedStream[] = [
  {
    name: "plain text",
    covers: ["text", "usage"],
    frames: opened(...text(0, "Regn ", "i Tromsø 🌧", "."), ...closed("end_turn")),
  },
  {
    name: "thinking, then text",
    covers: ["reasoning"],
    frames: opened(
      ...thinking(0, "First the coast. ", "Then the fjord."),
      ...text(1, "Rain."),
      ...closed("end_turn"),
    ),
  },
  {
    name: "thinking whose text is withheld, then a call",
    covers: ["reasoning"],
    frames: opened(...thinking(0), ...call(1, ...OSLO), ...closed("tool_use")),
  },
  {
    name: "redacted thinking between thoughts, then a call",
    covers: ["redacted reasoning"],
    frames: opened(
      ...thinking(0, "The coast."),
      ...block(1, { type: "redacted_thinking", data: "sealed-thought" }),
      ...thinking(2, "The fjord."),
      ...call(3, ...OSLO),
      ...closed("tool_use"),
    ),
  },
  {
    name: "two calls",
    covers: ["parallel calls"],
    frames: opened(
      ...thinking(0, "Both."),
      ...call(1, ...OSLO),
      ...call(2, '{"city":"Bergen"}'),
      ...closed("tool_use"),
    ),
  },
  {
    name: "arguments in fragments",
    covers: ["fragmented arguments"],
    frames: opened(...call(0, ...pieces(ODD_ARGUMENTS, 3)), ...closed("tool_use")),
  },
  {
    name: "text, then a call without arguments",
    covers: ["text and call"],
    frames: opened(...text(0, "I look."), ...call(1), ...closed("tool_use")),
  },
  {
    name: "web search with citations",
    covers: ["provider tool", "sources"],
    providerTools: SEARCH_TOOL,
    frames: opened(
      ...text(0, "I look."),
      ...search(1, [HIT, { ...HIT, url: "https://smhi.example", page_age: null }]),
      ...text(3, "It "),
      ...block(
        4,
        { type: "text", text: "", citations: [] },
        { type: "citations_delta", citation: CITATION },
        { type: "text_delta", text: "rains all day" },
      ),
      ...text(5, "."),
      ...closed("end_turn"),
    ),
  },
  {
    name: "web search, then a call",
    covers: ["provider tool", "text and call"],
    providerTools: SEARCH_TOOL,
    frames: opened(
      ...thinking(0, "Search."),
      ...search(1, [HIT]),
      ...call(3, ...OSLO),
      ...closed("tool_use"),
    ),
  },
  {
    name: "web search that fails",
    covers: ["provider tool"],
    providerTools: SEARCH_TOOL,
    frames: opened(
      ...search(0, { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" }),
      ...text(2, "I could not look."),
      ...closed("end_turn"),
    ),
  },
  {
    name: "refusal",
    covers: ["refusal", "content filter"],
    frames: opened(...text(0, "I"), ...closed("refusal")),
    fault: FILTERED,
  },
  {
    name: "text cut by length",
    covers: ["cut by length"],
    frames: opened(...text(0, "The rain"), ...closed("max_tokens")),
  },
  {
    name: "call cut by length",
    covers: ["cut by length"],
    frames: opened(...text(0, "I look."), ...call(1, '{"city":"Os'), ...closed("max_tokens")),
    differs: KEPT_MALFORMED,
  },
  {
    name: "thinking cut by length",
    covers: ["cut by length"],
    frames: opened(...thinking(0, "So long"), ...closed("max_tokens")),
    differs: { request: NO_LAST_THOUGHT },
  },
  {
    name: "text, then thinking cut by length",
    covers: ["cut by length"],
    frames: opened(...text(0, "I look."), ...thinking(1, "So long"), ...closed("max_tokens")),
    differs: { request: NO_LAST_THOUGHT },
  },
  {
    name: "stream that ends midway",
    covers: ["ends midway"],
    frames: opened(...text(0, "The rain", " in")).slice(0, -1),
    fault: BROKE_OFF,
  },
  {
    name: "stream that ends before any output",
    covers: ["ends midway"],
    frames: opened(),
    fault: BROKE_OFF,
  },
  {
    name: "connection torn midway",
    covers: ["connection lost"],
    frames: opened(...text(0, "The rain", " in")).slice(0, -1),
    isTorn: true,
    fault: LOST,
  },
  {
    name: "overloaded before any output",
    covers: ["error event"],
    frames: [OVERLOADED],
    fault: { reason: "http", isTransient: true },
  },
  {
    name: "overloaded after output",
    covers: ["error event"],
    frames: opened(...text(0, "The"), OVERLOADED),
    fault: { isTransient: true },
  },
  {
    name: "empty answer",
    covers: ["empty"],
    frames: opened(...closed("end_turn")),
    differs: { request: NO_EMPTY_MESSAGE },
  },
  {
    name: "answer of one empty text",
    covers: ["empty"],
    frames: opened(...text(0), ...closed("end_turn")),
    differs: { request: NO_EMPTY_MESSAGE },
  },
];

export const ANTHROPIC_GOODBYE: readonly Frame[] = opened(
  ...text(0, "Bye."),
  ...closed("end_turn"),
);
