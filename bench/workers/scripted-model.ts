// The model of every measurement: no delay, no network, a function of the prompt. The task in the last user message says how many tool
// steps come before the answer and in how many pieces the answer is sent.
import type {
  LanguageModelV4,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

export const TOOL_NAME = "touch";

/** What a task asks of the model, and how it is written in a prompt. */
export interface Task {
  readonly steps: number;
  readonly deltas: number;
}

export function writeTask({ steps, deltas }: Task): string {
  return `steps=${steps} deltas=${deltas}`;
}

function readTask(text: string): Task {
  const steps = Number(/steps=(\d+)/.exec(text)?.[1] ?? 0);
  const deltas = Number(/deltas=(\d+)/.exec(text)?.[1] ?? 1);
  return { steps, deltas };
}

const USAGE: LanguageModelV4Usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** Contract: the answer depends on what follows the last user message alone, so that a longer history costs the model nothing. */
export function scriptedModel(beforeAnswer: () => Promise<void> = async () => {}): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "scripted",
    supportedUrls: {},
    async doGenerate({ prompt }) {
      await beforeAnswer();
      const { content, finishReason } = answer(prompt);
      return { content, finishReason, usage: USAGE, warnings: [] };
    },
    async doStream({ prompt }) {
      await beforeAnswer();
      const parts = toParts(prompt);
      return {
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
}

interface Answer {
  readonly content: LanguageModelV4Content[];
  readonly finishReason: LanguageModelV4FinishReason;
  readonly deltas: number;
}

function answer(prompt: LanguageModelV4Prompt): Answer {
  const { task, stepsDone } = readPrompt(prompt);
  if (stepsDone < task.steps) {
    const toolCallId = `call-${stepsDone + 1}`;
    const input = JSON.stringify({ step: stepsDone + 1 });
    return {
      content: [{ type: "tool-call", toolCallId, toolName: TOOL_NAME, input }],
      finishReason: { unified: "tool-calls", raw: undefined },
      deltas: 0,
    };
  }
  return {
    content: [{ type: "text", text: "word ".repeat(task.deltas) }],
    finishReason: { unified: "stop", raw: undefined },
    deltas: task.deltas,
  };
}

function readPrompt(prompt: LanguageModelV4Prompt): { task: Task; stepsDone: number } {
  let stepsDone = 0;
  for (let index = prompt.length - 1; index >= 0; index -= 1) {
    const message = prompt[index];
    if (message?.role === "tool") stepsDone += 1;
    if (message?.role !== "user") continue;
    const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    return { task: readTask(text), stepsDone };
  }
  return { task: { steps: 0, deltas: 1 }, stepsDone };
}

function toParts(prompt: LanguageModelV4Prompt): LanguageModelV4StreamPart[] {
  const { content, finishReason, deltas } = answer(prompt);
  const parts: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
  for (const part of content) {
    if (part.type === "tool-call") parts.push(part);
    if (part.type !== "text") continue;
    parts.push({ type: "text-start", id: "0" });
    for (let index = 0; index < deltas; index += 1) {
      parts.push({ type: "text-delta", id: "0", delta: "word " });
    }
    parts.push({ type: "text-end", id: "0" });
  }
  parts.push({ type: "finish", finishReason, usage: USAGE });
  return parts;
}
