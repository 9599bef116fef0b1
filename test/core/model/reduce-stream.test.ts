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
      { type: "reasoning-end", id: "r", providerMetadata: { other: { n: 1 } } },
      finish(),
    );
    expect(response?.content).toEqual([
      {
        type: "reasoning",
        text: "",
        providerOptions: { anthropic: { kind: "x", signature: "s1" }, other: { n: 1 } },
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

  it("leaves out calls that the provider ran itself", () => {
    const own = { ...toolCall("s"), providerExecuted: true };
    expect(reduce(own, toolCall("c"), finish("tool-calls"))?.content).toHaveLength(1);
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
