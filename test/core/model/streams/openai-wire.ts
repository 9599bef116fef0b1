// OpenAI's Responses API, as streamed. Items of the output begin with `added` and end with `done`; the response itself ends last.
import { pieces, type Json } from "./wire.ts";

export const RESPONSE = {
  id: "resp_1",
  object: "response",
  created_at: 1_790_000_000,
  model: "gpt-6-luna",
};

function numbered(frames: readonly Json[]): Json[] {
  return frames.map(({ type, ...rest }, index) => ({ type, sequence_number: index, ...rest }));
}

export function opened(...frames: readonly Json[]): Json[] {
  const response = { ...RESPONSE, status: "in_progress", output: [] };
  return numbered([
    { type: "response.created", response },
    { type: "response.in_progress", response },
    ...frames,
  ]);
}

const USAGE = {
  input_tokens: 40,
  input_tokens_details: { cached_tokens: 24, cache_write_tokens: 8 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 52,
};

export function completed(usage: Json = USAGE): Json {
  return { type: "response.completed", response: { ...RESPONSE, status: "completed", usage } };
}

export function incomplete(reason: string): Json {
  const response = { ...RESPONSE, status: "incomplete", incomplete_details: { reason } };
  return { type: "response.incomplete", response: { ...response, usage: USAGE } };
}

export function item(index: number, begin: Json, between: readonly Json[], end: Json): Json[] {
  return [
    { type: "response.output_item.added", output_index: index, item: begin },
    ...between.map(({ type, ...rest }) => ({ type, output_index: index, ...rest })),
    { type: "response.output_item.done", output_index: index, item: { ...begin, ...end } },
  ];
}

export function message(
  index: number,
  texts: readonly string[],
  annotations: readonly Json[] = [],
  status = "completed",
): Json[] {
  const at = { item_id: `msg_${index}`, content_index: 0 };
  const text = texts.join("");
  const part = { type: "output_text", text, annotations };
  return item(
    index,
    { type: "message", id: at.item_id, status: "in_progress", role: "assistant", content: [] },
    [
      { type: "response.content_part.added", ...at, part: { ...part, text: "", annotations: [] } },
      ...texts.map((delta) => ({ type: "response.output_text.delta", ...at, delta, logprobs: [] })),
      ...annotations.map((annotation, annotation_index) => ({
        type: "response.output_text.annotation.added",
        ...at,
        annotation_index,
        annotation,
      })),
      { type: "response.output_text.done", ...at, text, logprobs: [] },
      { type: "response.content_part.done", ...at, part },
    ],
    { status, content: [part] },
  );
}

export function reasoning(index: number, summaries: readonly string[]): Json[] {
  const id = `rs_${index}`;
  const parts = summaries.map((text) => ({ type: "summary_text", text }));
  return item(
    index,
    { type: "reasoning", id, summary: [], encrypted_content: `begun-${id}` },
    parts.flatMap((part, summary_index) => {
      const at = { item_id: id, summary_index };
      return [
        { type: "response.reasoning_summary_part.added", ...at, part: { ...part, text: "" } },
        ...pieces(part.text, 7).map((delta) => ({
          type: "response.reasoning_summary_text.delta",
          ...at,
          delta,
        })),
        { type: "response.reasoning_summary_text.done", ...at, text: part.text },
        { type: "response.reasoning_summary_part.done", ...at, part },
      ];
    }),
    { summary: parts, encrypted_content: `proof-of-${id}` },
  );
}

export function call(
  index: number,
  fragments: readonly string[],
  status: "completed" | "incomplete" = "completed",
): Json[] {
  const at = { item_id: `fc_${index}` };
  const args = fragments.join("");
  const begin = { type: "function_call", id: at.item_id, call_id: `call_${index}` };
  return item(
    index,
    { ...begin, name: "weather", arguments: "", status: "in_progress" },
    [
      ...fragments.map((delta) => ({
        type: "response.function_call_arguments.delta",
        ...at,
        delta,
      })),
      { type: "response.function_call_arguments.done", ...at, arguments: args },
    ],
    { arguments: args, status },
  );
}

export function refusal(index: number, texts: readonly string[]): Json[] {
  const at = { item_id: `msg_${index}`, content_index: 0 };
  const text = texts.join("");
  return item(
    index,
    { type: "message", id: at.item_id, status: "in_progress", role: "assistant", content: [] },
    [
      { type: "response.content_part.added", ...at, part: { type: "refusal", refusal: "" } },
      ...texts.map((delta) => ({ type: "response.refusal.delta", ...at, delta })),
      { type: "response.refusal.done", ...at, refusal: text },
    ],
    { status: "completed", content: [{ type: "refusal", refusal: text }] },
  );
}

export const SEARCHED = [
  ...item(
    1,
    { type: "web_search_call", id: "ws_1", status: "in_progress" },
    [
      { type: "response.web_search_call.in_progress", item_id: "ws_1" },
      { type: "response.web_search_call.searching", item_id: "ws_1" },
      { type: "response.web_search_call.completed", item_id: "ws_1" },
    ],
    {
      status: "completed",
      action: {
        type: "search",
        query: "weather oslo",
        sources: [{ type: "url", url: "https://yr.example/oslo" }],
      },
    },
  ),
  ...message(
    2,
    ["It rains", " in Oslo."],
    [
      {
        type: "url_citation",
        start_index: 0,
        end_index: 17,
        url: "https://yr.example/oslo",
        title: "Oslo",
      },
    ],
  ),
];
