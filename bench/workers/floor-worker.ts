// The floor: the same loop on a bare Durable Object. In memory, one row per message, no recovery, no ledger, no alarm, no credential
// store; the same HTTP shape in and out. What Holdfast costs is measured against it, in the same run.
import { DurableObject } from "cloudflare:workers";
import type { LanguageModelV4Message, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import { generateText, isStepCount, tool, type ModelMessage } from "ai";
import { z } from "zod";
import { BENCH_KEY } from "./bench-key.ts";
import { scriptedModel, TOOL_NAME } from "./scripted-model.ts";

const INSTRUCTIONS = "Do what the task says.";
const StepSchema = z.object({ step: z.number() });
const touch = {
  [TOOL_NAME]: tool({
    description: "Touches the outside.",
    inputSchema: StepSchema,
    execute: ({ step }) => ({ touched: step }),
  }),
};

export class FloorObject extends DurableObject {
  readonly #sql = this.ctx.storage.sql;
  readonly #model = scriptedModel();
  readonly #messages: ModelMessage[] = [];
  readonly #streamed: LanguageModelV4Message[] = [];

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, body TEXT NOT NULL)",
    );
  }

  /** What an admission is compared with. */
  insert(body: string): number {
    this.#store(body);
    return this.#sql.databaseSize;
  }

  /** The loop of the AI SDK: the floor that the ratios are to. */
  async generate(task: string): Promise<string> {
    this.#keep({ role: "user", content: task });
    const { text } = await generateText({
      model: this.#model,
      instructions: INSTRUCTIONS,
      messages: this.#messages,
      tools: touch,
      stopWhen: isStepCount(64),
      maxRetries: 0,
      onStepEnd: ({ response }) => {
        for (const message of response.messages) this.#keep(message);
      },
    });
    return text;
  }

  /** The leanest loop that there is: the provider's interface and nothing else. */
  async stream(task: string): Promise<string> {
    const keep = (message: LanguageModelV4Message): void => {
      this.#streamed.push(message);
      this.#store(message);
    };
    keep({ role: "user", content: [{ type: "text", text: task }] });
    for (;;) {
      const system = { role: "system" as const, content: INSTRUCTIONS };
      const { stream } = await this.#model.doStream({ prompt: [system, ...this.#streamed] });
      let text = "";
      const results: LanguageModelV4ToolResultPart[] = [];
      const content: Extract<LanguageModelV4Message, { role: "assistant" }>["content"] = [];
      for await (const part of stream) {
        if (part.type === "text-delta") text += part.delta;
        if (part.type !== "tool-call") continue;
        const { toolCallId, toolName } = part;
        const input = StepSchema.parse(JSON.parse(part.input));
        content.push({ type: "tool-call", toolCallId, toolName, input });
        const output = { type: "json" as const, value: { touched: input.step } };
        results.push({ type: "tool-result", toolCallId, toolName, output });
      }
      if (text !== "") content.push({ type: "text", text });
      keep({ role: "assistant", content });
      if (results.length === 0) return text;
      keep({ role: "tool", content: results });
    }
  }

  #keep(message: ModelMessage): void {
    this.#messages.push(message);
    this.#store(message);
  }

  #store(message: unknown): void {
    this.#sql.exec("INSERT INTO messages (body) VALUES (?)", JSON.stringify(message));
  }
}

interface FloorEnv {
  readonly FLOOR: DurableObjectNamespace<FloorObject>;
}

const RequestSchema = z.object({ agent: z.string(), input: z.object({ task: z.string() }) });

export default {
  async fetch(request: Request, env: FloorEnv): Promise<Response> {
    if (request.headers.get("authorization") !== `Bearer ${BENCH_KEY}`) {
      return new Response("Unauthorized", { status: 401 });
    }
    const [, loop, , threadId = ""] = new URL(request.url).pathname.split("/");
    const { agent, input } = RequestSchema.parse(await request.json());
    const floor = env.FLOOR.getByName(threadId);
    const acceptedAt = new Date().toISOString();
    const receipt = { threadId, submissionId: "1", queueSequence: 1, agentId: agent, acceptedAt };
    if (loop === "insert") {
      await floor.insert(input.task);
      return Response.json({ receipt, replayed: false }, { status: 202 });
    }
    const output =
      loop === "stream" ? await floor.stream(input.task) : await floor.generate(input.task);
    const settlement = {
      outcome: "completed",
      output,
      finishReason: "stop",
      settledAt: new Date().toISOString(),
    };
    const submission = { ...receipt, runId: "1", state: "settled", settlement };
    return Response.json({ receipt, replayed: false, submission }, { status: 202 });
  },
};
