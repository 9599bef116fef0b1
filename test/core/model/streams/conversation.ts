// One question, its recorded answer, and what goes back with the next request: by this runtime, and by the AI SDK.
import {
  APICallError,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import { anthropic } from "@ai-sdk/anthropic";
import { google } from "@ai-sdk/google";
import { openai } from "@ai-sdk/openai";
import {
  jsonSchema,
  StreamProviderError,
  streamText,
  tool,
  type ModelMessage,
  type ToolSet,
} from "ai";
import { assert, must } from "../../../../shared/assert.ts";
import { isOwnCall } from "../../../../shared/wire/messages.ts";
import type { RecordDraft } from "../../../../shared/wire/records.ts";
import { callModel, type ModelCallOutcome } from "../../../../durable-objects/model/call-model.ts";
import type { ModelResponse } from "../../../../durable-objects/model/reduce-stream.ts";
import { resolveModel } from "../../../../durable-objects/model/resolve-model.ts";
import { projectRun } from "../../../../durable-objects/thread/run/project-messages.ts";
import { fold, input, responded, settled, started } from "../../support/builders.ts";
import { environment } from "../../support/environment.ts";
import type { Provider, RecordedStream } from "./wire.ts";

const QUESTION = {
  role: "user" as const,
  content: [{ type: "text" as const, text: "How is the weather in Oslo?" }],
};
const NEXT_QUESTION = {
  role: "user" as const,
  content: [{ type: "text" as const, text: "And tomorrow?" }],
};

const SCHEMA = {
  type: "object",
  properties: {
    city: { type: "string" },
    note: { type: "string" },
    days: { type: "array", items: { type: "number" } },
  },
  additionalProperties: false,
} as const;
const DESCRIPTION = "The weather of a city.";

const PROVIDER_TOOLS: Readonly<Record<string, () => ToolSet[string]>> = {
  "openai.web_search": () => openai.tools.webSearch({}),
  "anthropic.web_search_20250305": () => anthropic.tools.webSearch_20250305({}),
  "google.google_search": () => google.tools.googleSearch({}),
  "google.code_execution": () => google.tools.codeExecution({}),
};

/** `openai.web_search` is declared as `web_search`, and a version is no part of the name. */
function declaredName(id: string): string {
  return id.slice(id.indexOf(".") + 1).replace(/_\d+$/, "");
}

function outputOf(index: number) {
  return { type: "json" as const, value: { celsius: 4 + index } };
}

// By this runtime.

export function askOurs(
  provider: Provider,
  stream: RecordedStream,
  prompt: LanguageModelV4Prompt,
): Promise<ModelCallOutcome> {
  const tools: NonNullable<LanguageModelV4CallOptions["tools"]> = [
    {
      type: "function",
      name: "weather",
      description: DESCRIPTION,
      inputSchema: structuredClone(SCHEMA),
    },
  ];
  for (const id of stream.providerTools ?? []) {
    const [family = "", name = ""] = id.split(".");
    tools.push({ type: "provider", id: `${family}.${name}`, name: declaredName(id), args: {} });
  }
  const { providerOptions } = provider;
  return callModel({
    model: resolveModel(provider.modelId, {}, environment(provider.variables)),
    options: {
      prompt,
      tools,
      toolChoice: { type: "auto" },
      ...(providerOptions && { providerOptions }),
    },
    signal: new AbortController().signal,
    idleTimeoutMillis: 10_000,
  });
}

/** The prompt of the first request: a run that has asked nothing yet. */
export function firstPrompt(): LanguageModelV4Prompt {
  return projectRun(fold(input(), started({ prompt: [QUESTION] })));
}

/** The prompt of the second: the answer as its record keeps it, with the results of its calls, or with another question. */
export function secondPrompt(response: ModelResponse): LanguageModelV4Prompt {
  const { content } = response;
  const calls = content.filter(isOwnCall);
  const messages = projectRun(
    fold(
      input(),
      started({ prompt: [QUESTION] }),
      recordOf(response),
      ...calls.map((_, index) => settled(1, index, "success", { output: outputOf(index) })),
    ),
  );
  return calls.length === 0 ? [...messages, NEXT_QUESTION] : messages;
}

function recordOf({ content, finishReason, callFaults, sources }: ModelResponse): RecordDraft {
  const draft = responded(1);
  assert(draft.type === "ModelResponded", "a response");
  return {
    ...draft,
    payload: {
      ...draft.payload,
      content,
      finishReason,
      ...(callFaults.length === 0 ? {} : { callFaults }),
      ...(sources.length === 0 ? {} : { sources: [...sources] }),
    },
  };
}

// By the AI SDK. Its generateText reads no stream; streamText assembles its result by the same rules.

export interface SdkReading {
  readonly content: Awaited<ReturnType<typeof readContent>>;
  readonly finishReason: string;
  readonly usage: Awaited<ReturnType<typeof streamText>["usage"]>;
  readonly messages: readonly ModelMessage[];
  readonly errors: readonly unknown[];
}

function readContent(result: ReturnType<typeof streamText>) {
  return result.content;
}

/** Null where it gives up without a result; `errors` says why. */
export async function askSdk(
  provider: Provider,
  stream: RecordedStream,
  messages: ModelMessage[],
): Promise<{ readonly reading: SdkReading | null; readonly errors: readonly unknown[] }> {
  const errors: unknown[] = [];
  const tools: ToolSet = {
    weather: tool({ description: DESCRIPTION, inputSchema: jsonSchema(structuredClone(SCHEMA)) }),
  };
  for (const id of stream.providerTools ?? []) {
    tools[declaredName(id)] = must(PROVIDER_TOOLS[id], `a tool ${id}`)();
  }
  const { providerOptions } = provider;
  const result = streamText({
    model: resolveModel(provider.modelId, {}, environment(provider.variables)),
    messages,
    tools,
    maxRetries: 0,
    ...(providerOptions && { providerOptions }),
    onError: ({ error }) => {
      errors.push(error);
    },
  });
  try {
    const content = await readContent(result);
    const reading = {
      content,
      finishReason: await result.finishReason,
      usage: await result.usage,
      messages: await result.responseMessages,
      errors,
    };
    return { reading, errors };
  } catch (error) {
    return { reading: null, errors: errors.length === 0 ? [error] : errors };
  }
}

export function firstMessages(): ModelMessage[] {
  return [QUESTION];
}

/** Calls that the AI SDK found invalid have a result of its making already. */
export function secondMessages({ content, messages }: SdkReading): ModelMessage[] {
  const own = content.flatMap((part) =>
    part.type === "tool-call" && part.providerExecuted !== true ? [part] : [],
  );
  const results = own.flatMap((call, index) => {
    const { toolCallId, toolName } = call;
    if (call.invalid === true) return [];
    return [{ type: "tool-result" as const, toolCallId, toolName, output: outputOf(index) }];
  });
  const history = [QUESTION, ...messages];
  if (own.length === 0) return [...history, NEXT_QUESTION];
  return results.length === 0 ? history : [...history, { role: "tool", content: results }];
}

/** What the AI SDK makes of a stream that did not end well: whether its error says that the call may be repeated. */
export function isRetryable(errors: readonly unknown[]): boolean | null {
  const [error] = errors;
  if (APICallError.isInstance(error) || StreamProviderError.isInstance(error)) {
    return error.isRetryable;
  }
  return null;
}
