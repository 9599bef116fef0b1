// Models and tools of deployments whose server is killed: each reports its call to the stub service, and goes on when that answers.
import type {
  LanguageModelV4,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { z } from "zod";
import { defineTool, type Tool } from "../../shared/define/index.ts";
import type { Effect } from "../../shared/wire/records.ts";
import type { StubCall } from "./stub-wire.ts";

type Environment = Readonly<Record<string, unknown>>;

export const JobInputSchema = z.object({ job: z.string().min(1) });

/** Returns when the stub answers. Throws when it does not. */
async function callStub(
  env: Environment,
  path: "model" | "tool",
  call: StubCall,
  options: { readonly signal: AbortSignal | undefined; readonly idempotencyKey?: string },
): Promise<void> {
  const base = z.url().parse(env["STUB_URL"]);
  const { signal, idempotencyKey } = options;
  const response = await fetch(`${base}/${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    },
    body: JSON.stringify(call),
    ...(signal === undefined ? {} : { signal }),
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`the stub answered ${response.status}`);
}

/** Its step at the stub is its name, with the index behind it where its call has one. */
export function stubbedTool(
  name: string,
  effect: Effect,
  more: { readonly needsApproval?: true } = {},
): Tool {
  return defineTool({
    name,
    revision: 1,
    description: `A tool whose effect is ${effect}.`,
    input: JobInputSchema.extend({ index: z.int().nonnegative().optional() }),
    output: z.object({ done: z.boolean() }),
    effect,
    ...more,
    execute: async ({ job, index }, { signal, idempotencyKey, env }) => {
      const step = index === undefined ? name : `${name}-${index}`;
      await callStub(env, "tool", { job, step }, { signal, idempotencyKey });
      return { done: true };
    },
  });
}

/** What is asked of the model. */
export interface PromptShape {
  readonly job: string;
  /** 1 for the first of the run. */
  readonly turn: number;
  /** How many calls of that tool have a result in this run that is no error. */
  readonly succeeded: (tool: string) => number;
}

export interface ScriptedAnswer {
  /** In deltas of at most this many characters; in one without it. */
  readonly deltaLength?: number;
  readonly text?: string;
  readonly calls?: readonly {
    readonly tool: string;
    readonly input: Readonly<Record<string, string | number>>;
  }[];
}

/** Contract of `answer`: a function of the prompt's shape, so that a repeated call answers the same. */
export function stubbedModel(
  env: Environment,
  answer: (shape: PromptShape) => ScriptedAnswer,
): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "kill",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("the scripted model only streams")),
    doStream: async ({ prompt, abortSignal }) => {
      const shape = readShape(prompt);
      const call = { job: shape.job, step: `model-${shape.turn}` };
      await callStub(env, "model", call, { signal: abortSignal });
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of partsOf(shape, answer(shape))) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
}

function readShape(prompt: LanguageModelV4Prompt): PromptShape {
  const from = prompt.findLastIndex((message) => message.role === "user");
  const [asked, ...since] = prompt.slice(Math.max(0, from));
  const job =
    asked?.role === "user"
      ? asked.content.map((part) => (part.type === "text" ? part.text : "")).join("")
      : "";
  const results = since.flatMap((message) => (message.role === "tool" ? message.content : []));
  return {
    job,
    turn: since.filter((message) => message.role === "assistant").length + 1,
    succeeded: (tool) =>
      results.filter(
        (part) =>
          part.type === "tool-result" &&
          part.toolName === tool &&
          (part.output.type === "json" || part.output.type === "text"),
      ).length,
  };
}

function partsOf(
  { job, turn }: PromptShape,
  { text = "", deltaLength = text.length, calls = [] }: ScriptedAnswer,
): LanguageModelV4StreamPart[] {
  const parts: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
  if (text !== "") {
    parts.push({ type: "text-start", id: "0" });
    for (let at = 0; at < text.length; at += deltaLength) {
      parts.push({ type: "text-delta", id: "0", delta: text.slice(at, at + deltaLength) });
    }
    parts.push({ type: "text-end", id: "0" });
  }
  for (const [index, { tool, input }] of calls.entries()) {
    parts.push({
      type: "tool-call",
      toolCallId: `${job}-${turn}-${index}`,
      toolName: tool,
      input: JSON.stringify(input),
    });
  }
  parts.push({
    type: "finish",
    finishReason: { unified: calls.length === 0 ? "stop" : "tool-calls", raw: undefined },
    usage: {
      inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 5, text: undefined, reasoning: undefined },
    },
  });
  return parts;
}
