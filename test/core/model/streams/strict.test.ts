// The fakes are as strict as the APIs they stand for: a good second request passes, and each rule refuses the one that breaks it. Only
// because of that does it say something that every request of the contract passes.
import { describe, expect, it } from "vitest";
import { askOurs, firstPrompt, secondPrompt } from "./conversation.ts";
import { editJson } from "./edit-json.ts";
import { findStream } from "./providers.ts";
import { serveStreams } from "./serve-streams.ts";
import type { Provider, RecordedStream } from "./wire.ts";

const server = await serveStreams();

type Rule = readonly [
  what: string,
  path: readonly (string | number)[],
  change: unknown,
  refusal: RegExp,
];

interface Rules {
  readonly provider: string;
  readonly stream: string;
  readonly rules: readonly Rule[];
}

const GONE = undefined;
const TEXT = { type: "text", text: "instead" };

const ANTHROPIC_ANSWER = ["messages", 1, "content"] as const;
const RULES: readonly Rules[] = [
  {
    provider: "anthropic",
    stream: "redacted thinking between thoughts, then a call",
    rules: [
      ["a call without its result", ["messages", 2, "content", 0], TEXT, /without `tool_result`/],
      ["a result without its call", [...ANTHROPIC_ANSWER, 3], TEXT, /unexpected `tool_use_id`/],
      ["an assistant's message at the end", ["messages", 2], GONE, /assistant message prefill/],
      ["a forged signature", [...ANTHROPIC_ANSWER, 0, "signature"], "x", /Invalid `signature`/],
      ["an altered thought", [...ANTHROPIC_ANSWER, 0, "thinking"], "x", /Invalid `signature`/],
      ["no signature", [...ANTHROPIC_ANSWER, 0, "signature"], GONE, /signature/],
      ["a missing sealed thought", [...ANTHROPIC_ANSWER, 1], GONE, /cannot be modified/],
      ["an altered sealed thought", [...ANTHROPIC_ANSWER, 1, "data"], "x", /Invalid `signature`/],
      ["an empty block", ["messages", 0, "content", 0, "text"], " ", /must be non-empty/],
      ["an empty message", ["messages", 0, "content"], [], /must have non-empty content/],
      ["arguments that are no object", [...ANTHROPIC_ANSWER, 3, "input"], "Oslo", /dictionary/],
    ],
  },
  {
    provider: "anthropic",
    stream: "thinking, then text",
    rules: [["a thought at the end", [...ANTHROPIC_ANSWER, 1], GONE, /final block/]],
  },
  {
    provider: "anthropic",
    stream: "web search with citations",
    rules: [
      ["no result of the server's tool", [...ANTHROPIC_ANSWER, 2], GONE, /without a corresponding/],
      [
        "an altered result of the server's tool",
        [...ANTHROPIC_ANSWER, 2, "content", 0, "encrypted_content"],
        "x",
        /Invalid `encrypted_content`/,
      ],
      [
        "an altered citation",
        [...ANTHROPIC_ANSWER, 4, "citations", 0, "encrypted_index"],
        "x",
        /Invalid `encrypted_index`/,
      ],
    ],
  },
  {
    provider: "openai, stored",
    stream: "two calls",
    rules: [
      ["a call without its result", ["input", -1], GONE, /No tool output found/],
      ["a result without its call", ["input", 2], GONE, /No tool call found/],
      ["a reference to nothing", ["input", 1, "id"], "rs_x", /'rs_x' not found/],
      ["arguments that are no object", ["input", 2, "arguments"], "[]", /a JSON object/],
      ["an empty message", ["input", 0, "content"], [], /Invalid value/],
    ],
  },
  {
    provider: "openai, stored",
    stream: "reasoning in two summaries, then text",
    rules: [
      ["reasoning by itself", ["input", 2], GONE, /without its required following item/],
      ["a message without its reasoning", ["input", 1], GONE, /without its required 'reasoning'/],
    ],
  },
  {
    provider: "openai, stored",
    stream: "web search with citations",
    rules: [["an altered search", ["input", 2, "id"], "ws_x", /'ws_x' not found/]],
  },
  {
    provider: "openai",
    stream: "reasoning in two summaries, then text",
    rules: [
      ["forged reasoning", ["input", 1, "encrypted_content"], "x", /could not be verified/],
      ["reasoning without its seal", ["input", 1, "encrypted_content"], GONE, /be verified/],
      ["a reference", ["input", 1], { type: "item_reference", id: "rs_0" }, /not persisted/],
    ],
  },
  {
    provider: "google",
    stream: "two calls of which the first is signed",
    rules: [
      ["a call without its result", ["contents", 2, "parts", 1], GONE, /number of function resp/],
      ["a result without its call", ["contents", 1, "parts", 1], GONE, /number of function resp/],
      ["results without a model's turn", ["contents", 1], GONE, /immediately after/],
      ["a model's turn at the end", ["contents", 2], GONE, /end with a user role/],
      [
        "no signature",
        ["contents", 1, "parts", 0, "thoughtSignature"],
        GONE,
        /missing a thought_signature/,
      ],
      ["a forged one", ["contents", 1, "parts", 0, "thoughtSignature"], "x", /not valid/],
      [
        "arguments that are no object",
        ["contents", 1, "parts", 0, "functionCall", "args"],
        "Oslo",
        /not a Struct/,
      ],
      ["no parts", ["contents", 0, "parts"], [], /at least one parts/],
      ["an empty text", ["contents", 0, "parts", 0, "text"], "", /empty text/],
    ],
  },
  {
    provider: "google",
    stream: "code execution",
    rules: [
      ["no result of its own tool", ["contents", 1, "parts", 2], GONE, /server-side tools/],
      [
        "an altered result",
        ["contents", 1, "parts", 2, "codeExecutionResult", "output"],
        "43\n",
        /server-side tools/,
      ],
    ],
  },
  {
    provider: "openai-compatible, vLLM",
    stream: "two calls",
    rules: [
      ["a call without its result", ["messages", -1], GONE, /must be followed by tool messages/],
      ["a result without its call", ["messages", 1, "tool_calls", 1], GONE, /preceding message/],
      [
        "arguments that are no object",
        ["messages", 1, "tool_calls", 0, "function", "arguments"],
        '"Oslo"',
        /expected a JSON object/,
      ],
      ["no content at all", ["messages", 1, "tool_calls"], GONE, /expected a string, got null/],
      ["empty content", ["messages", 0, "content"], "", /Invalid value/],
    ],
  },
];

describe.each(RULES)(
  "[RUN-04, TOOL-07] $provider after $stream",
  ({ provider: of, stream, rules }) => {
    const { provider, recorded } = findStream(of, stream);

    it.each(rules)("refuses %s", async (_what, path, change, refusal) => {
      const good = await goodRequest(provider, recorded);
      expect(provider.dialect.refuse(good, recorded.frames)).toBeNull();
      const bad = editJson(good, path, change);
      expect(provider.dialect.refuse(bad, recorded.frames)).toMatch(refusal);
    });
  },
);

describe("[RUN-15] a refused request", () => {
  it.each([
    ["openai", "two calls"],
    ["anthropic", "two calls"],
    ["google", "two calls of which the first is signed"],
    ["openai-compatible, vLLM", "two calls"],
  ])("of %s ends the call, and is not tried again", async (of, stream) => {
    const { provider, recorded } = findStream(of, stream);
    server.play(provider.dialect, recorded);
    const outcome = await askOurs(provider, recorded, firstPrompt());
    if (outcome.kind !== "responded") throw new Error(JSON.stringify(outcome));
    // Without the message that holds the results.
    const cut = secondPrompt(outcome.response).slice(0, -1);
    expect(await askOurs(provider, recorded, cut)).toMatchObject({
      kind: "failed",
      fault: { reason: "http", httpStatus: 400, isTransient: false },
    });
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.refusal).toEqual(expect.any(String));
  });
});

async function goodRequest(provider: Provider, recorded: RecordedStream): Promise<unknown> {
  server.play(provider.dialect, recorded);
  const outcome = await askOurs(provider, recorded, firstPrompt());
  if (outcome.kind !== "responded") throw new Error(JSON.stringify(outcome));
  await askOurs(provider, recorded, secondPrompt(outcome.response));
  return server.requests[1]?.body;
}
