// Workers AI through its binding: what the binding is asked, with and without a gateway, and what of its answers and errors is kept. The
// account's side is a stand-in; the client that speaks to it is the real one.
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callModel } from "../../../durable-objects/model/call-model.ts";
import { ModelNotConfigured } from "../../../durable-objects/model/classify-failure.ts";
import { resolveModel } from "../../../durable-objects/model/resolve-model.ts";
import { environment } from "../support/environment.ts";

const ID = "workers-ai/@cf/meta/llama-4";
const HELLO: LanguageModelV4Prompt = [{ role: "user", content: [{ type: "text", text: "hello" }] }];
const TOOLS: NonNullable<LanguageModelV4CallOptions["tools"]> = [
  { type: "function", name: "weather", inputSchema: { type: "object", properties: {} } },
];

const AskedSchema = z.object({
  model: z.string(),
  inputs: z.looseObject({ messages: z.array(z.looseObject({})), stream: z.literal(true) }),
  options: z.looseObject({ signal: z.instanceof(AbortSignal) }),
});
type Asked = z.infer<typeof AskedSchema>;

/** A binding that answers with what `answer` gives, and keeps what it was asked. */
function bind(answer: () => unknown, variables: Record<string, string> = {}) {
  const asked: Asked[] = [];
  const AI = {
    run: async (model: unknown, inputs: unknown, options: unknown) => {
      asked.push(AskedSchema.parse({ model, inputs, options }));
      return answer();
    },
  };
  const env = environment({ ...variables, AI });
  const ask = (prompt = HELLO) =>
    callModel({
      model: resolveModel(ID, {}, env),
      options: { prompt, tools: TOOLS },
      signal: new AbortController().signal,
      idleTimeoutMillis: 10_000,
    });
  return { asked, ask };
}

function streamOf(...events: readonly unknown[]): ReadableStream<Uint8Array> {
  const text = [...events.map((event) => JSON.stringify(event)), "[DONE]"];
  return new Blob(text.map((data) => `data: ${data}\n\n`)).stream();
}

const USAGE = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };

describe("[GW-03] the binding of Workers AI", () => {
  it("streams text in its own format, with its usage", async () => {
    const { asked, ask } = bind(() =>
      streamOf({ response: "Hel" }, { response: "lo" }, { response: "", usage: USAGE }),
    );
    expect(await ask()).toMatchObject({
      kind: "responded",
      response: {
        content: [{ type: "text", text: "Hello" }],
        finishReason: "stop",
        usage: { inputTokens: 12, outputTokens: 3 },
      },
    });
    expect(asked).toMatchObject([
      { model: "@cf/meta/llama-4", inputs: { messages: [{ role: "user" }] } },
    ]);
    expect(asked[0]?.options["gateway"]).toBeUndefined();
  });

  it("goes through a gateway that is named, as the account is its own", async () => {
    const { asked, ask } = bind(() => streamOf({ response: "hi" }), { AI_GATEWAY_ID: "gw" });
    await ask();
    expect(asked[0]?.options["gateway"]).toEqual({ id: "gw" });
  });

  it("has calls that are kept, and given back with their results", async () => {
    const call = { id: "c1", type: "function", function: { name: "weather", arguments: "{}" } };
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      choices: [{ index: 0, delta, finish_reason }],
    });
    const { asked, ask } = bind(() =>
      streamOf(chunk({ tool_calls: [{ index: 0, ...call }] }), {
        ...chunk({}, "tool_calls"),
        usage: USAGE,
      }),
    );
    const outcome = await ask();
    if (outcome.kind !== "responded") throw new Error(JSON.stringify(outcome));
    const [kept] = outcome.response.content;
    if (kept?.type !== "tool-call") throw new Error("no call");
    expect(kept).toMatchObject({ toolName: "weather", input: {} });
    const { toolCallId, toolName } = kept;
    await ask([
      ...HELLO,
      { role: "assistant", content: [{ type: "tool-call", toolCallId, toolName, input: {} }] },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId, toolName, output: { type: "json", value: { c: 4 } } },
        ],
      },
    ]);
    expect(asked[1]?.inputs.messages.slice(1)).toMatchObject([
      { role: "assistant", tool_calls: [{ function: { name: "weather" } }] },
      { role: "tool", content: '{"c":4}' },
    ]);
  });

  it.each<[string, Error, object]>([
    [
      "out of capacity",
      new Error("3040: Capacity temporarily exceeded, please try again."),
      { reason: "http", httpStatus: 429, isTransient: true },
    ],
    [
      "a day's free allocation used up",
      new Error("3036: you have used up your daily free allocation of 10,000 neurons"),
      { reason: "quota", isTransient: false },
    ],
    ["a gateway's rate", new Error("2003: Rate limited"), { isTransient: true }],
    ["a gateway's timeout", new Error("504: Gateway Timeout"), { isTransient: true }],
    ["an internal error", new Error("3043: Internal server error"), { isTransient: true }],
    [
      "a credential that is refused",
      new Error("2009: Unauthorized"),
      { reason: "http", httpStatus: 401, isTransient: false },
    ],
    [
      "the gateway's guardrails",
      new Error("2016: Prompt blocked due to security configurations"),
      { reason: "content-filter", isTransient: false },
    ],
    [
      "a lost connection",
      new Error("Network connection lost."),
      { reason: "connection", isTransient: true },
    ],
    [
      "a prompt that is too long",
      new Error(
        "5021: The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8192)",
      ),
      { reason: "context-overflow", isTransient: false },
    ],
    [
      "a model that there is not",
      new Error("5007: No such model @cf/meta/llama-4 or task"),
      { reason: "http", httpStatus: 400, isTransient: false },
    ],
    ["anything else", new Error("secret"), { reason: "error", isTransient: false }],
  ])("[RUN-15] fails with %s", async (_what, error, fault) => {
    const { ask } = bind(() => Promise.reject(error));
    const outcome = await ask();
    expect(outcome).toMatchObject({ kind: "failed", fault });
    expect(JSON.stringify(outcome)).not.toContain("secret");
  });

  it("[RUN-15] breaks off where its stream does", async () => {
    const { ask } = bind(() => new Blob(['data: {"response":"Hel"}\n\n']).stream());
    expect(await ask()).toMatchObject({ kind: "failed", fault: { isTransient: true } });
  });

  it("is named where it is missing", () => {
    expect(() => resolveModel(ID, {}, environment({}))).toThrow(ModelNotConfigured);
    expect(() => resolveModel(ID, {}, environment({}))).toThrow(/binding AI/);
  });
});
