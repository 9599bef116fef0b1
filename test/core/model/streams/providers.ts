// The providers of the contract: how each is named in a deployment, whose API it speaks, and what it streams.
import { must } from "../../../../shared/assert.ts";
import { ANTHROPIC_STREAMS } from "./anthropic-streams.ts";
import { CHAT_STREAMS } from "./chat-streams.ts";
import { GOOGLE_STREAMS } from "./google-streams.ts";
import { OPENAI_STREAMS } from "./openai-streams.ts";
import { OLLAMA_STREAMS, WORKERS_AI_STREAMS } from "./server-streams.ts";
import { ANTHROPIC } from "./strict-anthropic.ts";
import { CHAT } from "./strict-chat.ts";
import { GOOGLE } from "./strict-google.ts";
import { OPENAI } from "./strict-openai.ts";
import type { Provider, RecordedStream } from "./wire.ts";

const NO_REDACTION = "the provider withholds no thought without its proof";
const OF_CHAT = {
  "redacted reasoning": "chat completions have no proof of thought",
  "provider tool": "chat completions name no tool of the server",
  sources: "chat completions carry no citations",
} as const;

const OPENAI_PROVIDER: Provider = {
  name: "openai",
  modelId: "openai/gpt-6-luna",
  variables: { OPENAI_API_KEY: "k" },
  dialect: OPENAI,
  streams: OPENAI_STREAMS,
  notApplicable: { "redacted reasoning": NO_REDACTION },
};

export const PROVIDERS: readonly Provider[] = [
  OPENAI_PROVIDER,
  {
    ...OPENAI_PROVIDER,
    // What a deployment's own model may ask for: then what was said is referred to.
    name: "openai, stored",
    providerOptions: { openai: { store: true } },
  },
  {
    name: "anthropic",
    modelId: "anthropic/claude-opus-5",
    variables: { ANTHROPIC_API_KEY: "k" },
    dialect: ANTHROPIC,
    streams: ANTHROPIC_STREAMS,
    notApplicable: {},
  },
  {
    name: "google",
    modelId: "google/gemini-3-flash",
    variables: { GOOGLE_GENERATIVE_AI_API_KEY: "k" },
    dialect: GOOGLE,
    streams: GOOGLE_STREAMS,
    notApplicable: { "redacted reasoning": NO_REDACTION },
  },
  {
    name: "openai-compatible, vLLM",
    modelId: "openai-compatible/qwen3",
    variables: { OPENAI_COMPATIBLE_BASE_URL: "http://vllm.example/v1" },
    dialect: CHAT,
    streams: CHAT_STREAMS,
    notApplicable: OF_CHAT,
  },
  {
    name: "openai-compatible, Ollama",
    modelId: "openai-compatible/qwen3:8b",
    variables: { OPENAI_COMPATIBLE_BASE_URL: "http://ollama.example/v1" },
    dialect: CHAT,
    streams: OLLAMA_STREAMS,
    notApplicable: {
      ...OF_CHAT,
      "fragmented arguments": "Ollama parses a call before it sends it, whole",
      refusal: "Ollama sends no refusal deltas",
    },
  },
  {
    name: "workers-ai",
    modelId: "workers-ai/@cf/meta/llama-4",
    variables: { AI_GATEWAY_ACCOUNT_ID: "acc", AI_GATEWAY_ID: "gw", AI_GATEWAY_TOKEN: "k" },
    dialect: CHAT,
    streams: WORKERS_AI_STREAMS,
    notApplicable: { ...OF_CHAT, refusal: "Workers AI sends no refusal deltas" },
  },
];

/** By the names of both. */
export function findStream(
  of: string,
  stream: string,
): { readonly provider: Provider; readonly recorded: RecordedStream } {
  const provider = must(
    PROVIDERS.find(({ name }) => name === of),
    of,
  );
  const recorded = must(
    provider.streams.find(({ name }) => name === stream),
    stream,
  );
  return { provider, recorded };
}
