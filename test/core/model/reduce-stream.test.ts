// From the parts of a stream to the response that becomes canonical.
import { describe, expect, it } from "vitest";
import {
  beginReduction,
  endReduction,
  readTokenUsage,
  reducePart,
  type ModelResponse,
} from "../../../durable-objects/model/reduce-stream.ts";
import { finish, text, toolCall, usage, type Parts } from "../support/models.ts";

function reduce(...parts: Parts): ModelResponse | null {
  const reduction = beginReduction();
  for (const part of parts) reducePart(reduction, part);
  return endReduction(reduction);
}

describe("reducing a stream", () => {
  it("joins the deltas of a text", () => {
    expect(
      reduce(
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "a" },
        { type: "text-delta", id: "a", delta: "one " },
        { type: "ping" },
        { type: "text-delta", id: "a", delta: "two" },
        { type: "text-end", id: "a" },
        finish(),
      ),
    ).toEqual({
      content: [{ type: "text", text: "one two" }],
      finishReason: "stop",
      usage: { inputTokens: 3, outputTokens: 2, cacheReadInputTokens: 1, cacheWriteInputTokens: 0 },
      callFaults: [],
      sources: [],
    });
  });

  it("keeps interleaved blocks apart, in the order in which they began", () => {
    const response = reduce(
      { type: "text-start", id: "a" },
      { type: "reasoning-start", id: "a" },
      { type: "text-delta", id: "a", delta: "an" },
      { type: "reasoning-delta", id: "a", delta: "why" },
      toolCall("c"),
      { type: "text-delta", id: "a", delta: "swer" },
      finish("tool-calls"),
    );
    expect(response?.content).toMatchObject([
      { type: "text", text: "answer" },
      { type: "reasoning", text: "why" },
      { type: "tool-call", toolCallId: "c", input: {} },
    ]);
  });

  it("carries a reasoning signature back, wherever it arrived, even on a block without text", () => {
    const response = reduce(
      { type: "reasoning-start", id: "r", providerMetadata: { anthropic: { kind: "x" } } },
      {
        type: "reasoning-delta",
        id: "r",
        delta: "",
        providerMetadata: { anthropic: { signature: "s1" } },
      },
      { type: "reasoning-end", id: "r" },
      finish(),
    );
    expect(response?.content).toEqual([
      {
        type: "reasoning",
        text: "",
        providerOptions: { anthropic: { signature: "s1" } },
      },
    ]);
  });

  it("begins a block that came without its start, and leaves an empty one out", () => {
    expect(
      reduce({ type: "text-delta", id: "a", delta: "hi" }, ...text("", "b"), finish())?.content,
    ).toEqual([{ type: "text", text: "hi" }]);
  });

  it("reads nothing as a call without arguments", () => {
    expect(reduce(toolCall("c", "  "), finish("tool-calls"))).toMatchObject({
      content: [{ input: {} }],
      callFaults: [],
    });
  });

  it.each(["{", "null", "nope", "[1"])(
    "[RUN-03] keeps the raw text of arguments that are not JSON: %j",
    (raw) => {
      expect(reduce(toolCall("c"), toolCall("d", raw), finish("tool-calls"))).toMatchObject({
        content: [{ input: {} }, { input: { malformedArguments: raw } }],
        callFaults: [{ index: 1, fault: "malformed-arguments" }],
      });
    },
  );

  it("[RUN-03] gives a repeated call id a name of its own and marks it", () => {
    const response = reduce(toolCall("c"), toolCall("c"), toolCall("d"), finish("tool-calls"));
    expect(response).toMatchObject({
      content: [{ toolCallId: "c" }, { toolCallId: "c#2" }, { toolCallId: "d" }],
      callFaults: [{ index: 1, fault: "repeated-call-id" }],
    });
  });

  it("[TOOL-07] keeps the provider's own calls with their results and sources, in their place", () => {
    const own = { ...toolCall("s"), providerExecuted: true };
    const result = { type: "tool-result", toolCallId: "s", toolName: "search" } as const;
    const huge = "x".repeat(100_000);
    const response = reduce(
      own,
      { ...result, result: "half", preliminary: true },
      {
        ...result,
        result: { hits: [huge] },
        providerMetadata: { anthropic: { encrypted: "opaque" } },
      },
      { ...result, toolCallId: "t", result: { code: "too_many" }, isError: true },
      {
        type: "source",
        sourceType: "url",
        id: "1",
        url: "https://a.example/",
        providerMetadata: { p: { position: 1 } },
      },
      { type: "source", sourceType: "document", id: "2", mediaType: "text/plain", title: "T" },
      toolCall("c"),
      finish("tool-calls"),
    );
    expect(response?.content).toEqual([
      expect.objectContaining({
        type: "tool-call",
        toolCallId: "s",
        providerExecuted: true,
      }),
      {
        ...result,
        output: { type: "json", value: { hits: [huge] } },
        providerOptions: { anthropic: { encrypted: "opaque" } },
      },
      {
        ...result,
        toolCallId: "t",
        output: { type: "error-json", value: { code: "too_many" } },
      },
      expect.objectContaining({ type: "tool-call", toolCallId: "c" }),
    ]);
    expect(response?.callFaults).toEqual([]);
    expect(response?.sources).toEqual([
      { sourceType: "url", id: "1", url: "https://a.example/" },
      { sourceType: "document", id: "2", mediaType: "text/plain", title: "T" },
    ]);
  });

  it("keeps files and what only their provider understands", () => {
    const file = { type: "file", mediaType: "image/png" } as const;
    const response = reduce(
      { ...file, data: { type: "data", data: new Uint8Array([0, 255]) } },
      { ...file, data: { type: "url", url: new URL("https://a.example/i.png") } },
      {
        type: "reasoning-file",
        mediaType: "image/png",
        data: { type: "data", data: "AA==" },
      },
      { type: "custom", kind: "openai.compaction", providerMetadata: { openai: { itemId: "c" } } },
      finish(),
    );
    expect(response?.content).toEqual([
      { ...file, data: { type: "data", data: "AP8=" } },
      { ...file, data: { type: "url", url: "https://a.example/i.png" } },
      { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "AA==" } },
      { type: "custom", kind: "openai.compaction", providerOptions: { openai: { itemId: "c" } } },
    ]);
  });

  it("adds up input tokens where a provider only gives the parts", () => {
    const usage = {
      inputTokens: { total: undefined, noCache: 5, cacheRead: 2, cacheWrite: 1 },
      outputTokens: { total: 3, text: undefined, reasoning: undefined },
    };
    expect(
      reduce({ type: "finish", finishReason: { unified: "stop", raw: undefined }, usage })?.usage,
    ).toEqual({
      inputTokens: 8,
      outputTokens: 3,
      cacheReadInputTokens: 2,
      cacheWriteInputTokens: 1,
    });
  });

  it("is no response without a finish", () => {
    expect(reduce(...text("half"))).toBeNull();
  });

  it("[CTX-16] counts what a provider left out as zero", () => {
    expect(readTokenUsage(undefined).inputTokens).toBe(0);
    const none = { total: undefined, noCache: undefined, cacheRead: undefined };
    expect(
      readTokenUsage({
        inputTokens: { ...none, cacheWrite: undefined },
        outputTokens: { total: undefined, text: undefined, reasoning: undefined },
      }),
    ).toEqual({
      inputTokens: 0,
      outputTokens: 0,
      cacheReadInputTokens: 0,
      cacheWriteInputTokens: 0,
    });
    expect(readTokenUsage(usage(5, 6))).toMatchObject({ inputTokens: 5, outputTokens: 6 });
  });
});
