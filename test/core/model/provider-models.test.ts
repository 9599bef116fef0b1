// Models of real providers by their id: where each goes under which variables, with which key, and what is said where a variable is missing
// or wrong. The AI SDK's own clients send to a fetch that keeps what it is asked.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { callModel } from "../../../durable-objects/model/call-model.ts";
import { ModelNotConfigured } from "../../../durable-objects/model/classify-failure.ts";
import { resolveModel } from "../../../durable-objects/model/resolve-model.ts";
import { environment } from "../support/environment.ts";

const GATEWAY = { AI_GATEWAY_ACCOUNT_ID: "acc", AI_GATEWAY_ID: "gw" };
const TOKEN = { AI_GATEWAY_TOKEN: "cf-token" };
const ROOT = "https://gateway.ai.cloudflare.com/v1/acc/gw";

interface Sent {
  readonly url: string;
  readonly credentials: Readonly<Record<string, string>>;
  readonly model: unknown;
}

const sent: Sent[] = [];
let answer: () => Response;

beforeEach(() => {
  sent.length = 0;
  answer = () => Response.json({ error: { message: "secret body" } }, { status: 400 });
  vi.stubGlobal("fetch", async (input: string | Request, init?: RequestInit) => {
    const request = new Request(input, init);
    const body: unknown = await request.json();
    const model: unknown = Reflect.get(Object(body), "model");
    const credentials = [...request.headers].filter(([name]) => /authorization|api-key/.test(name));
    sent.push({ url: request.url, credentials: Object.fromEntries(credentials), model });
    return answer();
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

function call(id: string, variables: Readonly<Record<string, string>>) {
  return callModel({
    model: resolveModel(id, {}, environment(variables)),
    options: { prompt: [{ role: "user", content: [{ type: "text", text: "hello" }] }] },
    signal: new AbortController().signal,
    idleTimeoutMillis: 10_000,
  });
}

describe("[GW-03] a model id goes", () => {
  it.each<
    [
      how: string,
      id: string,
      variables: Record<string, string>,
      url: string,
      credentials: Record<string, string>,
      model?: string,
    ]
  >([
    [
      "to OpenAI",
      "openai/gpt-6-luna",
      { OPENAI_API_KEY: "k" },
      "https://api.openai.com/v1/responses",
      { authorization: "Bearer k" },
      "gpt-6-luna",
    ],
    [
      "to Anthropic",
      "anthropic/claude-opus-5",
      { ANTHROPIC_API_KEY: "k" },
      "https://api.anthropic.com/v1/messages",
      { "x-api-key": "k" },
      "claude-opus-5",
    ],
    [
      "to Google",
      "google/gemini-3-flash",
      { GOOGLE_GENERATIVE_AI_API_KEY: "k" },
      "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse",
      { "x-goog-api-key": "k" },
    ],
    [
      "to OpenAI through a gateway that has its key",
      "openai/gpt-6-luna",
      { ...GATEWAY, ...TOKEN },
      `${ROOT}/openai/responses`,
      { "cf-aig-authorization": "Bearer cf-token" },
      "gpt-6-luna",
    ],
    [
      "to Anthropic through a gateway with a key of one's own",
      "anthropic/claude-opus-5",
      { ...GATEWAY, ...TOKEN, ANTHROPIC_API_KEY: "k" },
      `${ROOT}/anthropic/v1/messages`,
      { "cf-aig-authorization": "Bearer cf-token", "x-api-key": "k" },
      "claude-opus-5",
    ],
    [
      "to Google through an open gateway",
      "google/gemini-3-flash",
      { ...GATEWAY, GOOGLE_GENERATIVE_AI_API_KEY: "k" },
      `${ROOT}/google-ai-studio/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse`,
      { "x-goog-api-key": "k" },
    ],
    [
      "to another provider through the account's REST API",
      "groq/llama-4/scout",
      { ...GATEWAY, ...TOKEN },
      "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1/chat/completions",
      { authorization: "Bearer cf-token" },
      "groq/llama-4/scout",
    ],
    [
      "to Workers AI through the account's REST API",
      "workers-ai/@cf/meta/llama-4",
      { ...GATEWAY, ...TOKEN },
      "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1/chat/completions",
      { authorization: "Bearer cf-token" },
      "@cf/meta/llama-4",
    ],
    [
      "to a server that asks for no key, gateway or not",
      "openai-compatible/qwen3:8b",
      { ...GATEWAY, ...TOKEN, OPENAI_COMPATIBLE_BASE_URL: "http://127.0.0.1:11434/v1/" },
      "http://127.0.0.1:11434/v1/chat/completions",
      {},
      "qwen3:8b",
    ],
    [
      "to a server with a key",
      "openai-compatible/org/model",
      {
        OPENAI_COMPATIBLE_BASE_URL: "https://models.example/v1",
        OPENAI_COMPATIBLE_API_KEY: "k",
      },
      "https://models.example/v1/chat/completions",
      { authorization: "Bearer k" },
      "org/model",
    ],
  ])("%s", async (_how, id, variables, url, credentials, model) => {
    const outcome = await call(id, variables);
    expect(sent).toEqual([{ url, credentials, model }]);
    expect(outcome).toMatchObject({ kind: "failed", fault: { reason: "http", httpStatus: 400 } });
    expect(JSON.stringify(outcome)).not.toContain("secret");
  });

  it("by the name under which it is recorded", () => {
    const variables = environment({ ...GATEWAY, ...TOKEN });
    const { provider, modelId } = resolveModel("workers-ai/@cf/meta/llama-4", {}, variables);
    expect({ provider, modelId }).toEqual({
      provider: "workers-ai",
      modelId: "@cf/meta/llama-4",
    });
  });
});

describe("[GW-03] what is missing or wrong", () => {
  const WRONG = "wrong value\n";

  it.each<[what: string, id: string, variables: Record<string, string>, named: RegExp]>([
    ["no key", "openai/m", {}, /"openai\/m" needs OPENAI_API_KEY, or AI_GATEWAY_ACCOUNT_ID/],
    ["no key", "anthropic/m", { OPENAI_API_KEY: "k" }, /needs ANTHROPIC_API_KEY/],
    ["an empty key", "google/m", { GOOGLE_GENERATIVE_AI_API_KEY: "" }, /GOOGLE_GENERATIVE_AI/],
    ["no gateway", "groq/m", TOKEN, /AI_GATEWAY_ACCOUNT_ID and AI_GATEWAY_ID and AI_GATEWAY_TOKEN/],
    ["no token", "workers-ai/@cf/m", GATEWAY, /AI_GATEWAY_TOKEN/],
    [
      "half a gateway, in spite of a key",
      "openai/m",
      { AI_GATEWAY_ID: "gw", OPENAI_API_KEY: "k" },
      /AI_GATEWAY_ACCOUNT_ID and AI_GATEWAY_ID are set together or not at all/,
    ],
    ["no server", "openai-compatible/m", {}, /needs OPENAI_COMPATIBLE_BASE_URL, such as http/],
    [
      "a server that is none",
      "openai-compatible/m",
      { OPENAI_COMPATIBLE_BASE_URL: "ftp://wrong" },
      /OPENAI_COMPATIBLE_BASE_URL is not an http or https URL/,
    ],
    ["a bad account", "openai/m", { ...GATEWAY, AI_GATEWAY_ACCOUNT_ID: WRONG }, /ACCOUNT_ID is 1/],
    ["a bad gateway", "openai/m", { ...GATEWAY, AI_GATEWAY_ID: "wrong/x" }, /AI_GATEWAY_ID is 1/],
    ["a bad token", "openai/m", { ...GATEWAY, AI_GATEWAY_TOKEN: WRONG }, /AI_GATEWAY_TOKEN is 1/],
    ["a bad key", "openai/m", { OPENAI_API_KEY: WRONG }, /OPENAI_API_KEY is 1/],
    [
      "a bad key of a server",
      "openai-compatible/m",
      { OPENAI_COMPATIBLE_BASE_URL: "http://x/", OPENAI_COMPATIBLE_API_KEY: WRONG },
      /OPENAI_COMPATIBLE_API_KEY is 1/,
    ],
  ])("is said by the variable's name: %s, %s", (_what, id, variables, named) => {
    const made = (): unknown => resolveModel(id, {}, environment(variables));
    expect(made).toThrow(ModelNotConfigured);
    expect(made).toThrow(named);
    expect(made).toThrow(/\.dev\.vars/);
    // Nor is the value repeated.
    expect(made).not.toThrow(/wrong/);
    expect(sent).toEqual([]);
  });

  it("is not what a redirect is: it fails, and is not tried again", async () => {
    answer = () => new Response(null, { status: 302, headers: { location: "https://x.example" } });
    expect(await call("openai/m", { ...GATEWAY, ...TOKEN })).toMatchObject({
      kind: "failed",
      fault: {
        reason: "not-configured",
        isTransient: false,
        advice: expect.stringContaining("redirect"),
      },
    });
    expect(sent).toHaveLength(1);
  });
});
