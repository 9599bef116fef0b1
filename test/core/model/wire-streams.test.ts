// A turn with thought and a call, as each provider streams it over the wire, through its real client: what is kept of it, and that the next
// turn gives the provider back what it asks for: its call's id and the proof of its own reasoning.
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { callModel, type ModelCallOutcome } from "../../../durable-objects/model/call-model.ts";
import { resolveModel } from "../../../durable-objects/model/resolve-model.ts";
import { environment } from "../support/environment.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

type Event = Readonly<Record<string, unknown>> | "[DONE]";

interface Provider {
  readonly id: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly stream: readonly Event[];
  readonly toolCallId: string;
  readonly usage: Readonly<Record<string, number>>;
  /** What the second request has to hold, somewhere, as JSON. */
  readonly givenBack: readonly RegExp[];
}

function openaiItem(index: number, item: Readonly<Record<string, unknown>>): Event[] {
  return [
    { type: "response.output_item.added", output_index: index, item },
    { type: "response.output_item.done", output_index: index, item },
  ];
}

const PROVIDERS: readonly Provider[] = [
  {
    id: "openai/gpt-6-luna",
    variables: { OPENAI_API_KEY: "k" },
    stream: [
      {
        type: "response.created",
        response: { id: "resp_1", created_at: 1, model: "gpt-6-luna" },
      },
      ...openaiItem(0, {
        type: "reasoning",
        id: "rs_1",
        summary: [],
        encrypted_content: "proof-of-thought",
      }),
      ...openaiItem(1, {
        type: "function_call",
        id: "fc_1",
        call_id: "call_1",
        name: "weather",
        arguments: '{"city":"Oslo"}',
        status: "completed",
      }),
      {
        type: "response.completed",
        response: {
          usage: {
            input_tokens: 20,
            input_tokens_details: { cached_tokens: 8 },
            output_tokens: 7,
            output_tokens_details: { reasoning_tokens: 3 },
          },
        },
      },
    ],
    toolCallId: "call_1",
    usage: { inputTokens: 20, outputTokens: 7, cacheReadInputTokens: 8 },
    givenBack: [/rs_1|proof-of-thought/, /"call_id":"call_1"/],
  },
  {
    id: "anthropic/claude-opus-5",
    variables: { ANTHROPIC_API_KEY: "k" },
    stream: [
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
          usage: {
            input_tokens: 12,
            cache_read_input_tokens: 8,
            cache_creation_input_tokens: 2,
            output_tokens: 1,
          },
        },
      },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "thinking", thinking: "", signature: "" },
      },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "thinking_delta", thinking: "I look it up." },
      },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "signature_delta", signature: "proof-of-thought" },
      },
      { type: "content_block_stop", index: 0 },
      {
        type: "content_block_start",
        index: 1,
        content_block: { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
      },
      {
        type: "content_block_delta",
        index: 1,
        delta: { type: "input_json_delta", partial_json: '{"city":' },
      },
      {
        type: "content_block_delta",
        index: 1,
        delta: { type: "input_json_delta", partial_json: '"Oslo"}' },
      },
      { type: "content_block_stop", index: 1 },
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use", stop_sequence: null },
        usage: { output_tokens: 7 },
      },
      { type: "message_stop" },
    ],
    toolCallId: "toolu_1",
    usage: {
      inputTokens: 22,
      outputTokens: 7,
      cacheReadInputTokens: 8,
      cacheWriteInputTokens: 2,
    },
    givenBack: [
      /"thinking":"I look it up\.","signature":"proof-of-thought"/,
      /"tool_use_id":"toolu_1"/,
    ],
  },
  {
    id: "google/gemini-3-flash",
    variables: { GOOGLE_GENERATIVE_AI_API_KEY: "k" },
    stream: [
      {
        candidates: [
          {
            content: { role: "model", parts: [{ text: "I look it up.", thought: true }] },
            index: 0,
          },
        ],
      },
      {
        candidates: [
          {
            content: {
              role: "model",
              parts: [
                {
                  functionCall: { id: "fn_1", name: "weather", args: { city: "Oslo" } },
                  thoughtSignature: "proof-of-thought",
                },
              ],
            },
            finishReason: "STOP",
            index: 0,
          },
        ],
        usageMetadata: {
          promptTokenCount: 20,
          cachedContentTokenCount: 8,
          candidatesTokenCount: 4,
          thoughtsTokenCount: 3,
          totalTokenCount: 27,
        },
      },
    ],
    toolCallId: "",
    usage: { inputTokens: 20, outputTokens: 7, cacheReadInputTokens: 8 },
    givenBack: [/"thoughtSignature":"proof-of-thought"/, /"functionResponse"/],
  },
  {
    id: "openai-compatible/qwen3",
    variables: { OPENAI_COMPATIBLE_BASE_URL: "http://127.0.0.1:11434/v1" },
    stream: [
      { reasoning_content: "I look it up." },
      {
        tool_calls: [
          {
            index: 0,
            id: "call_1",
            type: "function",
            function: { name: "weather", arguments: "" },
          },
        ],
      },
      { tool_calls: [{ index: 0, function: { arguments: '{"city":"Oslo"}' } }] },
    ]
      .map((delta): Event => ({ id: "c", choices: [{ index: 0, delta, finish_reason: null }] }))
      .concat([
        { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
        {
          id: "c",
          choices: [],
          usage: {
            prompt_tokens: 20,
            completion_tokens: 7,
            prompt_tokens_details: { cached_tokens: 8 },
          },
        },
        "[DONE]",
      ]),
    toolCallId: "call_1",
    usage: { inputTokens: 20, outputTokens: 7, cacheReadInputTokens: 8 },
    givenBack: [/"tool_call_id":"call_1"/],
  },
];

/** A server that answers every request with the same stream, and keeps what it was sent. */
function serve(events: readonly Event[]): string[] {
  const sent: string[] = [];
  const text = events
    .map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`)
    .join("");
  vi.stubGlobal("fetch", async (input: string | Request, init?: RequestInit) => {
    sent.push(await new Request(input, init).text());
    return new Response(text, { headers: { "content-type": "text/event-stream" } });
  });
  return sent;
}

const QUESTION: LanguageModelV4Prompt = [
  { role: "user", content: [{ type: "text", text: "How is the weather in Oslo?" }] },
];

function ask(provider: Provider, prompt: LanguageModelV4Prompt): Promise<ModelCallOutcome> {
  return callModel({
    model: resolveModel(provider.id, {}, environment(provider.variables)),
    options: {
      prompt,
      tools: [
        {
          type: "function",
          name: "weather",
          inputSchema: { type: "object", properties: { city: { type: "string" } } },
        },
      ],
    },
    signal: new AbortController().signal,
    idleTimeoutMillis: 10_000,
  });
}

describe.each(PROVIDERS)("[RUN-04, GW-04] a turn of $id", (provider) => {
  it("is kept with its call, its reasoning and its usage", async () => {
    serve(provider.stream);
    const outcome = await ask(provider, QUESTION);
    if (outcome.kind !== "responded") throw new Error(JSON.stringify(outcome));
    const { response } = outcome;
    expect(response.finishReason).toBe("tool-calls");
    expect(response.content.at(-1)).toMatchObject({
      type: "tool-call",
      toolCallId: provider.toolCallId === "" ? expect.any(String) : provider.toolCallId,
      toolName: "weather",
      input: { city: "Oslo" },
    });
    expect(response.usage).toMatchObject(provider.usage);
  });

  it("goes back in the next request as the provider has to have it", async () => {
    const sent = serve(provider.stream);
    const outcome = await ask(provider, QUESTION);
    if (outcome.kind !== "responded") throw new Error(JSON.stringify(outcome));
    // As records keep it.
    const content = z
      .custom<Extract<LanguageModelV4Prompt[number], { role: "assistant" }>["content"]>()
      .parse(JSON.parse(JSON.stringify(outcome.response.content)));
    const call = content.find((part) => part.type === "tool-call");
    if (call === undefined) throw new Error("there is no call");
    const { toolCallId, toolName } = call;
    const output = { type: "json", value: { celsius: 4 } } as const;
    await ask(provider, [
      ...QUESTION,
      { role: "assistant", content },
      { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] },
    ]);
    expect(sent).toHaveLength(2);
    for (const pattern of [...provider.givenBack, /weather/, /celsius/]) {
      expect(sent[1]).toMatch(pattern);
    }
  });
});
