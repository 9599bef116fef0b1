// What is kept of each provider's stream, by value: the contract compares two readings of one client, and these are what both have to be.
import { describe, expect, it } from "vitest";
import { must } from "../../../../shared/assert.ts";
import type { ModelResponse } from "../../../../durable-objects/model/reduce-stream.ts";
import { askOurs, firstPrompt } from "./conversation.ts";
import { PROVIDERS } from "./providers.ts";
import { serveStreams } from "./serve-streams.ts";
import { ODD_INPUT, type Case, type Provider } from "./wire.ts";

const server = await serveStreams();

/** Input, output, read from a cache, written to a cache: as the streams count them. */
const COUNTS: Readonly<Record<string, readonly [number, number, number, number]>> = {
  openai: [40, 12, 24, 8],
  "openai, stored": [40, 12, 24, 8],
  // Its input_tokens leave out what a cache had, or got.
  anthropic: [38, 9, 20, 6],
  google: [40, 12, 24, 0],
  "openai-compatible, vLLM": [40, 12, 24, 0],
  "openai-compatible, Ollama": [40, 12, 0, 0],
  "workers-ai": [40, 12, 24, 0],
};

describe.each(PROVIDERS)("$name", (provider) => {
  it("[RUN-04, GW-04] keeps a text across bytes cut anywhere, and counts it", async () => {
    const { content, usage, finishReason } = await respond(provider, "text");
    const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
    expect(texts).toEqual(["Regn i Tromsø 🌧."]);
    expect(finishReason).toBe("stop");
    const { inputTokens, outputTokens, cacheReadInputTokens, cacheWriteInputTokens } = usage;
    expect([inputTokens, outputTokens, cacheReadInputTokens, cacheWriteInputTokens]).toEqual(
      COUNTS[provider.name],
    );
  });

  it("[RUN-03, RUN-04] keeps two calls apart, each with its id and its arguments", async () => {
    const { content, finishReason, callFaults } = await respond(provider, "parallel calls");
    const calls = content.flatMap((part) => (part.type === "tool-call" ? [part] : []));
    expect(calls.map(({ toolName, input }) => [toolName, input])).toEqual([
      ["weather", { city: "Oslo" }],
      ["weather", { city: "Bergen" }],
    ]);
    expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(2);
    expect(finishReason).toBe("tool-calls");
    expect(callFaults).toEqual([]);
  });
});

describe.each(
  PROVIDERS.filter(({ notApplicable }) => notApplicable["fragmented arguments"] === undefined),
)("$name", (provider) => {
  it("[RUN-03] joins arguments cut inside escapes and characters", async () => {
    const { content } = await respond(provider, "fragmented arguments");
    // Gemini streams values by their path; the recorded call has no list.
    const { days: _, ...withoutDays } = ODD_INPUT;
    expect(content.at(-1)).toMatchObject({
      type: "tool-call",
      toolName: "weather",
      input: provider.name === "google" ? withoutDays : ODD_INPUT,
    });
  });
});

/** The answer to the provider's first stream of the case. */
async function respond(provider: Provider, column: Case): Promise<ModelResponse> {
  const stream = must(
    provider.streams.find(({ covers }) => covers.includes(column)),
    column,
  );
  server.play(provider.dialect, stream);
  const outcome = await askOurs(provider, stream, firstPrompt());
  if (outcome.kind !== "responded") throw new Error(JSON.stringify(outcome));
  return outcome.response;
}
