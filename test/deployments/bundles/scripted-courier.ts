// The model of the deployments' agent: it follows the turns of its input, reports each call to the stub service, and answers with what it was
// shown, so that a settlement tells which instructions and tools its last turn had.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import { z } from "zod";
import {
  callStub,
  partsOfAnswer,
  type Environment,
  type ScriptedAnswer,
} from "../../server/stubbed-agent.ts";
import { JobSchema, type Job, type Shown } from "../job.ts";

export const MODEL = "courier/scripted";

/** The run's own part of a prompt: what was asked last, and everything since. */
function readRun(prompt: LanguageModelV4Prompt): {
  readonly job: Job;
  readonly since: LanguageModelV4Prompt;
} {
  const from = prompt.findLastIndex((message) => message.role === "user");
  const asked = z
    .object({ content: z.array(z.object({ type: z.literal("text"), text: z.string() })) })
    .parse(prompt[from]);
  const text = asked.content.map((part) => part.text).join("");
  return { job: JobSchema.parse(JSON.parse(text)), since: prompt.slice(from + 1) };
}

function readShown({ prompt, tools = [] }: LanguageModelV4CallOptions): Shown {
  const results = readRun(prompt).since.flatMap((message) =>
    message.role === "tool" ? message.content : [],
  );
  return {
    instructions: prompt.flatMap((message) => (message.role === "system" ? [message.content] : [])),
    tools: tools.map(({ name }) => name),
    results: results.flatMap((part) =>
      part.type === "tool-result" ? [`${part.toolName}: ${JSON.stringify(part.output)}`] : [],
    ),
  };
}

function answerTo(options: LanguageModelV4CallOptions, job: Job, turn: number): ScriptedAnswer {
  const calls = job.turns[turn - 1] ?? [];
  return calls.length > 0
    ? { calls: calls.map((tool) => ({ tool, input: { job: job.job } })) }
    : { text: JSON.stringify(readShown(options)) };
}

function scriptedCourier(env: Environment): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "courier",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("the scripted model only streams")),
    doStream: async (options) => {
      const { job, since } = readRun(options.prompt);
      const turn = since.filter((message) => message.role === "assistant").length + 1;
      const shape = { job: job.job, turn };
      const call = { job: job.job, step: `model-${turn}` };
      await callStub(env, "model", call, { signal: options.abortSignal });
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of partsOfAnswer(shape, answerTo(options, job, turn))) {
              controller.enqueue(part);
            }
            controller.close();
          },
        }),
      };
    },
  };
}

export const models = { [MODEL]: { create: scriptedCourier } };
