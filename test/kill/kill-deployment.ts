// The deployment that the kill test runs and kills: one agent whose model and tools report every call to the stub service and go on when
// it answers. Nothing of it is part of the product.
import type {
  LanguageModelV4,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { z } from "zod";
import { defineAgent, defineTool } from "../../shared/define/index.ts";
import { holdfast } from "../../worker/holdfast.ts";
import { CHARGES_PER_JOB, StepSchema, type StubCall } from "./job-steps.ts";

type Environment = Readonly<Record<string, unknown>>;

interface ScriptedCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, string | number>>;
}

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

const JobInputSchema = z.object({ job: z.string().min(1) });
const DoneSchema = z.object({ done: z.boolean() });

const lookUp = defineTool({
  name: "look_up",
  revision: 1,
  description: "Reads something.",
  input: JobInputSchema,
  output: DoneSchema,
  effect: "read",
  execute: async ({ job }, { signal, idempotencyKey, env }) => {
    await callStub(env, "tool", { job, step: "look_up" }, { signal, idempotencyKey });
    return { done: true };
  },
});

const charge = defineTool({
  name: "charge",
  revision: 1,
  description: "Must not happen twice.",
  input: JobInputSchema.extend({
    index: z
      .int()
      .min(0)
      .max(CHARGES_PER_JOB - 1),
  }),
  output: DoneSchema,
  effect: "external",
  execute: async ({ job, index }, { signal, idempotencyKey, env }) => {
    const step = StepSchema.parse(`charge-${index}`);
    await callStub(env, "tool", { job, step }, { signal, idempotencyKey });
    return { done: true };
  },
});

const saveNote = defineTool({
  name: "save_note",
  revision: 1,
  description: "May be repeated with the same key.",
  input: JobInputSchema,
  output: DoneSchema,
  effect: "idempotent",
  execute: async ({ job }, { signal, idempotencyKey, env }) => {
    await callStub(env, "tool", { job, step: "save_note" }, { signal, idempotencyKey });
    return { done: true };
  },
});

const jobRunner = defineAgent({
  id: "job-runner",
  revision: 1,
  description: "Runs one job of the kill test.",
  input: JobInputSchema,
  output: z.object({ job: z.string(), charges: z.int() }),
  instructions: "You run one job.",
  inputPrompt: ({ job }) => job,
  model: "kill/scripted",
  tools: { lookUp, charge, saveNote },
  // The charges of a turn run one after the other, so that a kill finds some done, one open and some not begun.
  policy: { toolConcurrency: 1 },
});

/** What the model answers: a function of the prompt's shape, so that a repeated call answers the same. */
interface PromptShape {
  readonly job: string;
  readonly turn: number;
  /** Charges of this run whose result is no error. */
  readonly charged: number;
}

function readShape(prompt: LanguageModelV4Prompt): PromptShape {
  const from = prompt.findLastIndex((message) => message.role === "user");
  const [asked, ...since] = prompt.slice(Math.max(0, from));
  const job =
    asked?.role === "user"
      ? asked.content.map((part) => (part.type === "text" ? part.text : "")).join("")
      : "";
  const results = since.flatMap((message) => (message.role === "tool" ? message.content : []));
  const charged = results.filter(
    (part) =>
      part.type === "tool-result" &&
      part.toolName === "charge" &&
      (part.output.type === "json" || part.output.type === "text"),
  ).length;
  return {
    job,
    turn: since.filter((message) => message.role === "assistant").length + 1,
    charged,
  };
}

function scriptedCalls({ job, turn }: PromptShape): ScriptedCall[] {
  if (turn === 1) return [{ tool: "look_up", input: { job } }];
  if (turn === 3) return [{ tool: "save_note", input: { job } }];
  if (turn !== 2) return [];
  return Array.from({ length: CHARGES_PER_JOB }, (_, index) => ({
    tool: "charge",
    input: { job, index },
  }));
}

function answerParts(shape: PromptShape): LanguageModelV4StreamPart[] {
  const calls = scriptedCalls(shape);
  const { job, turn, charged } = shape;
  const finish = (unified: "stop" | "tool-calls"): LanguageModelV4StreamPart => ({
    type: "finish",
    finishReason: { unified, raw: undefined },
    usage: {
      inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 5, text: undefined, reasoning: undefined },
    },
  });
  if (calls.length === 0) {
    return [
      { type: "stream-start", warnings: [] },
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: JSON.stringify({ job, charges: charged }) },
      { type: "text-end", id: "0" },
      finish("stop"),
    ];
  }
  return [
    { type: "stream-start", warnings: [] },
    ...calls.map(({ tool, input }, index) => ({
      type: "tool-call" as const,
      toolCallId: `${job}-${turn}-${index}`,
      toolName: tool,
      input: JSON.stringify(input),
    })),
    finish("tool-calls"),
  ];
}

function scriptedModel(env: Environment): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "kill",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("the scripted model only streams")),
    doStream: async ({ prompt, abortSignal }) => {
      const shape = readShape(prompt);
      const step = StepSchema.parse(`model-${shape.turn}`);
      await callStub(env, "model", { job: shape.job, step }, { signal: abortSignal });
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of answerParts(shape)) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
}

const deployment = holdfast({
  agents: [jobRunner],
  models: { "kill/scripted": { create: scriptedModel } },
});

export class ThreadObject extends deployment.ThreadObject {}
export default deployment.worker;
