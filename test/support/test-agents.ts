// Agents and tools of the tests: every tool counts its executions in the world, and behaves as its arguments ask.
import { z } from "zod";
import {
  defineAgent,
  defineTool,
  type ReconcileAnswer,
  type Tool,
  type ToolContext,
} from "../../shared/define/index.ts";
import type { Effect } from "../../shared/wire/records.ts";
import { ScriptedInputSchema } from "./scripted-model.ts";
import { world } from "./world.ts";

const ToolInputSchema = z.object({
  behave: z
    .enum([
      "answer",
      "throw",
      "imitate",
      "hostile",
      "wrong-shape",
      "huge",
      "gate",
      "deaf-gate",
      "honour-signal",
      "progress",
      "take-time",
      "tell-metadata",
      "steps",
      "same-step",
      "bad-step",
    ])
    .default("answer"),
  gate: z.string().default("tool"),
  value: z.string().default("done"),
});

const ServiceSchema = z.custom<{
  getByName(name: string): { execute(operationId: string): Promise<void> };
}>((value) => typeof value === "object" && value !== null);

async function behave(
  input: z.infer<typeof ToolInputSchema>,
  context: ToolContext,
): Promise<{ value: string }> {
  const { idempotencyKey, signal, progress, log, env, metadata, step } = context;
  // A call to the world leaves the object, and so waits until the object's writes are on the disk, as every real tool's does.
  const outside = (key: string): Promise<void> =>
    ServiceSchema.parse(Reflect.get(env, "OUTSIDE")).getByName("outside").execute(key);
  if (input.behave !== "steps") await outside(idempotencyKey);
  switch (input.behave) {
    case "answer":
      return { value: input.value };
    case "throw":
      throw new Error("the service said no");
    case "imitate":
      throw {
        name: "HoldfastError",
        code: "OwnershipLost",
        _tag: "AgentApprovalPending",
        kind: "stopped",
      };
    case "hostile":
      throw new Proxy(
        {},
        {
          get: () => {
            throw new Error("trap");
          },
          getPrototypeOf: () => {
            throw new Error("trap");
          },
        },
      );
    case "wrong-shape": {
      const wrong: { value: string } = JSON.parse('{"value": 42}');
      return wrong;
    }
    case "huge":
      return { value: "x".repeat(5 * 1024 * 1024) };
    case "gate":
      await Promise.race([world.passGate(input.gate), aborted(signal)]);
      return { value: input.value };
    case "deaf-gate":
      await world.passGate(input.gate);
      return { value: input.value };
    case "honour-signal":
      await aborted(signal);
      throw new Error("gave up");
    case "take-time":
      world.advance(2_000);
      return { value: input.value };
    case "tell-metadata":
      return { value: JSON.stringify(metadata) };
    case "steps": {
      const done: unknown[] = [];
      for (const name of ["one", "two", "three"]) {
        const run = async (): Promise<string> => {
          await outside(`${idempotencyKey}/${name}`);
          if (name === input.gate) await world.passGate(`${idempotencyKey}/${name}`);
          return `${name}!`;
        };
        done.push(await step(name, run));
      }
      return { value: done.join(" ") };
    }
    case "same-step":
      await step("one", () => "first");
      await step("one", () => "second");
      return { value: "no" };
    case "bad-step":
      await step("one", () => z.custom<string>().parse(1n));
      return { value: "no" };
    case "progress":
      progress({ done: 1, of: 2 });
      log.info("half way", { done: 1 });
      await world.passGate(input.gate);
      return { value: input.value };
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(new Error("aborted"));
    signal.addEventListener("abort", () => reject(new Error("aborted")));
  });
}

/** What `reconcile` answers; "fails" throws. */
export const reconciling: { answer: ReconcileAnswer | "fails" } = {
  answer: { outcome: "unknown" },
};

interface StubOptions {
  readonly approval?: true;
  readonly fast?: true;
  readonly resumable?: true;
  readonly exclusive?: true;
  readonly reconciles?: true;
}

function stub(name: string, effect: Effect, more: StubOptions = {}): Tool {
  return defineTool({
    name,
    revision: 1,
    description: `A ${effect} tool of the tests.`,
    input: ToolInputSchema,
    output: z.object({ value: z.string() }),
    effect,
    timeout: more.fast === true ? "30 milliseconds" : "60 seconds",
    ...(more.approval === true ? { needsApproval: true as const } : {}),
    ...(more.resumable === true ? { resumable: true } : {}),
    ...(more.exclusive === true ? { exclusive: true } : {}),
    ...(more.reconciles === true
      ? {
          reconcile: (_input: z.infer<typeof ToolInputSchema>) => {
            const { answer } = reconciling;
            if (answer === "fails") throw new Error("the service is down");
            return answer;
          },
        }
      : {}),
    execute: behave,
  });
}

export const tools = {
  look: stub("look", "read"),
  bump: stub("bump", "idempotent"),
  act: stub("act", "external"),
  guarded: stub("guarded", "external", { approval: true }),
  resume: stub("resume", "external", { resumable: true }),
  sought: stub("sought", "external", { reconciles: true }),
  hastySought: stub("hasty_sought", "external", { reconciles: true, fast: true }),
  alone: stub("alone", "external", { exclusive: true }),
  hastyLook: stub("hasty_look", "read", { fast: true }),
  hastyBump: stub("hasty_bump", "idempotent", { fast: true }),
  hastyAct: stub("hasty_act", "external", { fast: true }),
};

const common = {
  revision: 1,
  description: "An agent of the tests.",
  input: ScriptedInputSchema,
  instructions: "Follow the plan.",
  model: "test/scripted",
  tools,
} as const;

/** Answers with text. */
export const plainAgent = defineAgent({
  ...common,
  id: "plain",
  policy: { maxDuration: "2 hours" },
});

/** Keeps routing with its work. */
export const routedAgent = defineAgent({
  ...common,
  id: "routed",
  metadata: z.object({ region: z.string().default("eu"), note: z.string().optional() }).optional(),
  policy: { maxDuration: "2 hours" },
});

/** Takes input that joins while it answers into another turn. */
export const restartingAgent = defineAgent({
  ...common,
  id: "restarting",
  policy: { maxDuration: "2 hours", maxTurns: 3, restartOnJoinedInput: true },
});

/** The same, giving its result by a tool. */
export const resubmittingAgent = defineAgent({
  ...common,
  id: "resubmitting",
  output: z.object({ answer: z.string() }),
  completionTool: "submit_result",
  policy: { maxDuration: "2 hours", restartOnJoinedInput: true },
});

/** Takes a model that is silent for a moment for one that failed: for stalls alone, as a busy machine is slower than that at a gate. */
export const impatientAgent = defineAgent({
  ...common,
  id: "impatient",
  policy: { maxDuration: "2 hours", modelIdleTimeout: "50 milliseconds" },
});

/** Answers with JSON of a schema. */
export const structuredAgent = defineAgent({
  ...common,
  id: "structured",
  output: z.object({ answer: z.string() }),
  policy: { maxDuration: "2 hours" },
});

/** Gives its result by calling a tool. */
export const submittingAgent = defineAgent({
  ...common,
  id: "submitting",
  output: z.object({ answer: z.string() }),
  completionTool: "submit_result",
  policy: { maxDuration: "2 hours", maxTurns: 3 },
});

/** Its model's provider searches while it answers. */
export const searchingAgent = defineAgent({
  ...common,
  id: "searching",
  providerTools: { search: { type: "provider", id: "test.web_search", args: { depth: 1 } } },
  policy: { maxDuration: "2 hours", maxToolCalls: 2 },
});

/** Has a budget of money, and a model without a price. */
export const unpricedAgent = defineAgent({
  ...common,
  id: "unpriced",
  model: "test/unpriced",
  policy: { maxDuration: "2 hours", costBudgetMicrousd: 1_000 },
});

/** The same model without a budget. */
export const carefreeAgent = defineAgent({
  ...common,
  id: "carefree",
  model: "test/unpriced",
  policy: { maxDuration: "2 hours" },
});

/** Small limits that end softly. */
export const frugalAgent = defineAgent({
  ...common,
  id: "frugal",
  policy: {
    maxDuration: "2 hours",
    maxTurns: 2,
    maxToolCalls: 2,
    tokenBudget: 20_000,
    completionReserveTokens: 5_000,
    costBudgetMicrousd: 1_000_000,
  },
});

/** The same limits, ending hard. */
export const strictAgent = defineAgent({
  ...common,
  id: "strict",
  policy: {
    maxDuration: "2 hours",
    maxTurns: 2,
    maxToolCalls: 2,
    tokenBudget: 20_000,
    onExhaustion: "fail",
  },
});

/** Runs for as long as one would notice: its deadline is real time. */
export const hastyAgent = defineAgent({
  ...common,
  tools: { ...tools },
  id: "hasty",
  policy: { maxDuration: "80 milliseconds" },
});

/** Its instructions throw for an input that says so. */
export const brokenAgent = defineAgent({
  ...common,
  id: "broken",
  instructions: ({ note }) => {
    if (note === "throw") throw new Error("secret of the author's code");
    if (note === "huge") return "x".repeat(2_000_000);
    return `Follow the plan. ${note ?? ""}`;
  },
  policy: { maxDuration: "2 hours" },
});

/** Its output schema's own code throws. */
export const throwingAgent = defineAgent({
  ...common,
  id: "throwing",
  output: z.string().refine(() => {
    throw new Error("secret of the author's schema");
  }),
  policy: { maxDuration: "2 hours" },
});

/** Names a model that the deployment does not have. */
export const unmodelledAgent = defineAgent({
  ...common,
  id: "unmodelled",
  model: "acme/huge",
  policy: { maxDuration: "2 hours" },
});
