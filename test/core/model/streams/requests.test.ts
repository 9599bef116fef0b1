// The two requests of one conversation with a tool, on each route to a model, as files to read: test/core/model/streams/requests.
import { describe, expect, it } from "vitest";
import { askOurs, firstPrompt, secondPrompt } from "./conversation.ts";
import type { SentRequest } from "./fake-server.ts";
import { serveStreams } from "./serve-streams.ts";
import { findStream } from "./providers.ts";

const server = await serveStreams();

const GATEWAY = { AI_GATEWAY_ACCOUNT_ID: "account", AI_GATEWAY_ID: "gateway" };
const STORED = { ...GATEWAY, AI_GATEWAY_TOKEN: "secret-of-gateway" };
const SERVER = { OPENAI_COMPATIBLE_BASE_URL: "http://vllm.example/v1" };
const KEYS = {
  openai: { OPENAI_API_KEY: "secret-of-provider" },
  anthropic: { ANTHROPIC_API_KEY: "secret-of-provider" },
  google: { GOOGLE_GENERATIVE_AI_API_KEY: "secret-of-provider" },
} as const;

interface Speaker {
  readonly provider: string;
  readonly stream: string;
}

interface Route {
  readonly route: string;
  readonly speaker: Speaker;
  readonly variables: Readonly<Record<string, string>>;
  readonly modelId?: string;
}

const OPENAI: Speaker = { provider: "openai", stream: "reasoning without a summary, then a call" };
const ANTHROPIC: Speaker = {
  provider: "anthropic",
  stream: "redacted thinking between thoughts, then a call",
};
const GOOGLE: Speaker = { provider: "google", stream: "thought, then a signed call" };
const CHAT: Speaker = { provider: "openai-compatible, vLLM", stream: "reasoning, then a call" };
const WORKERS_AI: Speaker = { provider: "workers-ai", stream: "reasoning, then a call" };

const ROUTES: readonly Route[] = [
  { route: "openai-direct", speaker: OPENAI, variables: KEYS.openai },
  { route: "openai-gateway-stored-key", speaker: OPENAI, variables: STORED },
  { route: "openai-gateway-own-key", speaker: OPENAI, variables: { ...STORED, ...KEYS.openai } },
  { route: "anthropic-direct", speaker: ANTHROPIC, variables: KEYS.anthropic },
  { route: "anthropic-gateway-stored-key", speaker: ANTHROPIC, variables: STORED },
  {
    route: "anthropic-gateway-own-key",
    speaker: ANTHROPIC,
    variables: { ...STORED, ...KEYS.anthropic },
  },
  { route: "google-direct", speaker: GOOGLE, variables: KEYS.google },
  { route: "google-gateway-stored-key", speaker: GOOGLE, variables: STORED },
  { route: "google-gateway-own-key", speaker: GOOGLE, variables: { ...STORED, ...KEYS.google } },
  { route: "openai-compatible-server", speaker: CHAT, variables: SERVER },
  {
    route: "openai-compatible-server-with-key",
    speaker: CHAT,
    variables: { ...SERVER, OPENAI_COMPATIBLE_API_KEY: "secret-of-server" },
  },
  { route: "workers-ai-gateway-rest", speaker: WORKERS_AI, variables: STORED },
  {
    route: "other-provider-gateway-rest",
    speaker: CHAT,
    variables: STORED,
    modelId: "groq/llama-4/scout",
  },
];

/** Written by the HTTP client of the runtime, or by its version: nothing that this code decides. */
const OF_TRANSPORT = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "connection",
  "content-length",
  "host",
  "sec-fetch-mode",
  "transfer-encoding",
  "user-agent",
]);

describe("[GW-03, GW-04] requests as they are sent", () => {
  it.each(ROUTES)("$route", async ({ route, speaker, variables, modelId }) => {
    const { provider: known, recorded: stream } = findStream(speaker.provider, speaker.stream);
    const provider = { ...known, variables, modelId: modelId ?? known.modelId };
    server.play(provider.dialect, stream);
    const outcome = await askOurs(provider, stream, firstPrompt());
    if (outcome.kind !== "responded") throw new Error(JSON.stringify(outcome));
    expect(await askOurs(provider, stream, secondPrompt(outcome.response))).toMatchObject({
      kind: "responded",
    });
    const text = server.requests.map(renderRequest).join("\n\n");
    expect(text).not.toContain("secret");
    await expect(`${text}\n`).toMatchFileSnapshot(`./requests/${route}.txt`);
  });
});

function renderRequest({ method, url, headers, body }: SentRequest): string {
  const lines = Object.entries(headers)
    .filter(([header]) => !OF_TRANSPORT.has(header))
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([header, value]) => `${header}: ${value.replace(/secret-\S+/, "<redacted>")}`);
  return [`${method} ${url}`, ...lines, "", JSON.stringify(body, null, 2)].join("\n");
}
