// The deployment under measurement: the product's own factory, scripted agents, and an object class that can be metered and evicted.
// The meter is off unless BENCH_METER is set, so that timings are of the product alone.
import { z } from "zod";
import { canonicalJson } from "../../shared/canonical-json.ts";
import { defineAgent, defineTool } from "../../shared/define/index.ts";
import { holdfast } from "../../worker/holdfast.ts";
import { BENCH_TENANT } from "./bench-key.ts";
import { scriptedModel, TOOL_NAME } from "./scripted-model.ts";
import { StorageMeter, type StorageCounts } from "./storage-meter.ts";

/** External by default: an intent is written before each call, and a call is never repeated. */
const touch = defineTool({
  name: TOOL_NAME,
  revision: 1,
  description: "Touches the outside and returns at once.",
  input: z.object({ step: z.number() }),
  effect: "external",
  execute: ({ step }) => ({ touched: step }),
});

const common = {
  revision: 1,
  input: z.object({ task: z.string() }),
  inputPrompt: ({ task }: { task: string }) => task,
  instructions: "Do what the task says.",
};

const answers = defineAgent({
  ...common,
  id: "one-turn",
  description: "Answers at once.",
  model: "bench/scripted",
});

const works = defineAgent({
  ...common,
  id: "tool-steps",
  description: "Takes as many tool steps as the task says, one call a turn.",
  model: "bench/scripted",
  tools: { touch },
  policy: { maxTurns: 64, maxToolCalls: 64 },
});

const reports = defineAgent({
  ...common,
  id: "reporting",
  description: "Its model reports each call to a server outside, and answers when that does.",
  model: "bench/reporting",
});

const deployment = holdfast({
  agents: [answers, works, reports],
  models: {
    "bench/scripted": { create: () => scriptedModel() },
    "bench/reporting": {
      create: (env) =>
        scriptedModel(async () => {
          await fetch(z.string().parse(Reflect.get(env, "BENCH_REPORT_URL")), { method: "POST" });
        }),
    },
  },
});

export class ThreadObject extends deployment.ThreadObject {
  readonly #meter: StorageMeter | null;
  readonly #state: DurableObjectState;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    // Before the product's constructor, whose reads are part of a wake.
    const meter = Reflect.get(env, "BENCH_METER") === "1" ? new StorageMeter(ctx.storage) : null;
    super(ctx, env);
    this.#meter = meter;
    this.#state = ctx;
  }

  benchCounts(): StorageCounts | null {
    return this.#meter?.read() ?? null;
  }

  benchReset(): void {
    this.#meter?.reset();
  }

  /** The next call meets a new incarnation. What was committed is on disk first. */
  async benchEvict(): Promise<void> {
    await this.#state.storage.sync();
    this.#state.abort("evicted by the benchmark");
  }

  benchSize(): number {
    return this.#state.storage.sql.databaseSize;
  }

  /** First sequences of the committed batches, to tell which records were committed together. */
  benchBatches(): number[] {
    return this.#state.storage.sql
      .exec<{ first: number }>(
        "SELECT position % 4294967296 AS first FROM batches ORDER BY position",
      )
      .toArray()
      .map(({ first }) => first);
  }
}

type BenchStub = Pick<
  ThreadObject,
  "benchCounts" | "benchReset" | "benchEvict" | "benchSize" | "benchBatches"
>;

/** Named by hand: the platform's stub type of a generated binding does not know this class. */
const BenchEnvSchema = z.object({
  THREADS: z.custom<{
    getByName(name: string): { [Name in keyof BenchStub]: () => Promise<unknown> };
  }>(),
});

const ActionSchema = z.enum([
  "benchCounts",
  "benchReset",
  "benchEvict",
  "benchSize",
  "benchBatches",
]);

export default {
  async fetch(request: Request, env: Cloudflare.Env, context: ExecutionContext): Promise<Response> {
    const [, scope, threadId, action] = new URL(request.url).pathname.split("/");
    if (scope !== "bench") return deployment.worker.fetch(request, env, context);
    const { THREADS } = BenchEnvSchema.parse(env);
    const stub = THREADS.getByName(canonicalJson([BENCH_TENANT, threadId ?? ""]));
    const name = ActionSchema.parse(action);
    if (name === "benchEvict") {
      // The abort breaks off its own call: that is the answer.
      await stub.benchEvict().catch(() => undefined);
      return Response.json(null);
    }
    return Response.json((await stub[name]()) ?? null);
  },
};
