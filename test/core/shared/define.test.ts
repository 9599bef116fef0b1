// Defining agents and tools: what is refused, with which words, and what their digests cover.
import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { defineAgent, type AgentOptions } from "../../../shared/define/agent.ts";
import { defineTool, type ToolOptions } from "../../../shared/define/tool.ts";
import { must } from "../../../shared/assert.ts";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import { AgentPolicySchema, type AgentPolicyInput } from "../../../shared/wire/policy.ts";
import { environment } from "../support/environment.ts";
import type { BindingSelection } from "../../../durable-objects/agents/select-binding.ts";
import { AgentRegistry, digestDefinition } from "../../../durable-objects/agents/registry.ts";

type StringAgent = AgentOptions<z.ZodString, z.ZodType>;
type AnyTool = ToolOptions<z.ZodType, z.ZodType>;

function agent(changes: Partial<StringAgent> = {}) {
  return defineAgent<z.ZodString, z.ZodType>({
    id: "helper",
    revision: 1,
    description: "Helps.",
    input: z.string(),
    instructions: "Help.",
    model: "local/helper",
    ...changes,
  });
}

function tool(changes: Partial<AnyTool> = {}) {
  return defineTool<z.ZodType, z.ZodType>({
    name: "act",
    revision: 1,
    description: "Acts.",
    input: z.object({ n: z.int() }),
    execute: () => null,
    ...changes,
  });
}

function bindingOf(changes: Partial<StringAgent>) {
  const env = environment({ OPENAI_API_KEY: "k" });
  const registry = new AgentRegistry([agent(changes)], {}, env);
  return must(registry.only("helper"), "the agent is registered");
}

function refusal(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "InvalidDefinition") return error.detail;
    throw error;
  }
  return "accepted";
}

describe("[CTX-01] an agent's policy", () => {
  it("has the specified defaults", () => {
    expect(agent().policy).toEqual({
      maxTurns: 12,
      maxToolCalls: 24,
      maxDuration: "5 minutes",
      toolConcurrency: 4,
      repeatedFailureLimit: 3,
      modelRetries: 2,
      modelIdleTimeout: "60 seconds",
      onExhaustion: "final-answer",
      completionReserveTokens: 0,
      restartOnJoinedInput: false,
      toolResultBounds: { maxBytes: 51_200 },
    });
  });

  it.each<[string, AgentPolicyInput]>([
    ["policy.maxTurns", { maxTurns: 0 }],
    ["policy.maxTurns", { maxTurns: 1_001 }],
    ["policy.maxTurns", { maxTurns: 1.5 }],
    ["policy.maxToolCalls", { maxToolCalls: -1 }],
    ["policy.maxDuration", { maxDuration: "0 seconds" }],
    ["policy.maxDuration", { maxDuration: "400 days" }],
    ["policy.toolConcurrency", { toolConcurrency: 0 }],
    ["policy.toolConcurrency", { toolConcurrency: 65 }],
    ["policy.repeatedFailureLimit", { repeatedFailureLimit: -1 }],
    ["policy.modelRetries", { modelRetries: 21 }],
    ["policy.modelIdleTimeout", { modelIdleTimeout: "0 days" }],
    ["policy.tokenBudget", { tokenBudget: 0 }],
    ["policy.completionReserveTokens", { completionReserveTokens: 1 }],
    ["policy.completionReserveTokens", { completionReserveTokens: 100, tokenBudget: 100 }],
    ["policy.completionReserveTokens", { completionReserveTokens: -1, tokenBudget: 100 }],
    ["policy.costBudgetMicrousd", { costBudgetMicrousd: 0 }],
    ["policy.contextTokenLimit", { contextTokenLimit: 0 }],
    ["policy.toolResultBounds.maxBytes", { toolResultBounds: { maxBytes: 255 } }],
    ["policy.toolResultBounds.maxBytes", { toolResultBounds: { maxBytes: 1_048_577 } }],
  ])("is refused by name: %s %j", (field, policy) => {
    expect(refusal(() => agent({ policy }))).toContain(`agent "helper": ${field}: `);
  });

  it.each<AgentPolicyInput>([
    { maxTurns: 1, maxToolCalls: 0, toolConcurrency: 1, repeatedFailureLimit: 0, modelRetries: 0 },
    { maxTurns: 1_000, toolConcurrency: 64, modelRetries: 20, tokenBudget: 1 },
    { tokenBudget: 100, completionReserveTokens: 99, costBudgetMicrousd: 1, contextTokenLimit: 1 },
    { maxDuration: "365 days", toolResultBounds: { maxBytes: 256 } },
  ])("is accepted at its bounds: %j", (policy) => {
    expect(agent({ policy }).policy).toMatchObject(policy);
  });

  it("refuses a field that it does not know", () => {
    expect(AgentPolicySchema.safeParse({ maxTurnz: 3 }).success).toBe(false);
  });
});

describe("defining an agent", () => {
  it.each<[string, Partial<StringAgent>]>([
    ["id", { id: "" }],
    ["id", { id: "two words" }],
    ["id", { id: "x".repeat(257) }],
    ["revision", { revision: 0 }],
    ["revision", { revision: 1.5 }],
    ["description", { description: "" }],
    ["description", { description: "x".repeat(8_193) }],
  ])("names the wrong field: %s", (field, changes) => {
    expect(refusal(() => agent(changes))).toContain(`: ${field}: `);
  });

  it.each([
    ["tolls", { tolls: {} }],
    ["revison, descripton", { revison: 2, descripton: "x" }],
    ["undefined", { undefined }],
    ["execute", { execute: () => null }],
  ])("[UX-04] names a field that there is not, and those that there are: %s", (names, fields) => {
    expect(refusal(() => agent(z.custom<Partial<StringAgent>>().parse(fields)))).toBe(
      `agent "helper": ${names}: no such field; the fields are id, revision, description, input, output, metadata, instructions, inputPrompt, model, tools, providerTools, completionTool, policy`,
    );
  });

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ["instructions", { instructions: undefined }],
    ["instructions", { instructions: 5 }],
    ["model", { model: undefined }],
    ["model", { model: "" }],
    ["model", { model: { provider: "x" } }],
    ["inputPrompt", { inputPrompt: "text" }],
    ["tools.a", { tools: { a: { name: "t" } } }],
    ["tools", { tools: [1] }],
    ["input", { input: { type: "string" } }],
    ["output", { output: 3 }],
  ])("[UX-04] names a field of the wrong kind, as untyped code has it: %s", (field, fields) => {
    const made = refusal(() => agent(z.custom<Partial<StringAgent>>().parse(fields)));
    expect(made).toMatch(new RegExp(`^agent "helper": ${field}: `));
  });

  it("[UX-04] names a field of the policy that there is not", () => {
    const policy = z.custom<AgentPolicyInput>().parse({ maxTurnz: 3 });
    expect(refusal(() => agent({ policy }))).toMatch(/^agent "helper": policy: .*"maxTurnz"/);
  });

  it("refuses two tools of one name, and a schema that has no JSON form", () => {
    expect(refusal(() => agent({ tools: { a: tool(), b: tool() } }))).toContain(
      "two are named act",
    );
    expect(refusal(() => agent({ output: z.date() }))).toContain("output has no JSON Schema form");
  });

  it("[THR-08, THR-09] are told apart by a selection where two have one id, and are nobody's without", () => {
    const one = agent({ revision: 1 });
    const two = agent({ revision: 2 });
    const agents = [one, two, agent({ id: "other" })];
    const asked = {
      threadId: "t",
      submissionId: null,
      agentId: "helper",
      principal: "ann",
      input: null,
      metadata: null,
    };
    const unsaid = new AgentRegistry(agents, {}, environment());
    expect(unsaid.ids()).toEqual(["helper", "other"]);
    expect(unsaid.only("other")?.agent.id).toBe("other");
    expect([unsaid.only("helper"), unsaid.resolve(asked), unsaid.only("nobody")]).toEqual([
      null,
      null,
      null,
    ]);
    const selected = (select: BindingSelection["select"], agentId = "helper") =>
      new AgentRegistry(agents, { selectBinding: { key: "k", select } }, environment()).resolve({
        ...asked,
        agentId,
      })?.agent.revision;
    expect(selected(() => two)).toBe(2);
    expect(selected(() => undefined)).toBeUndefined();
    expect(selected(() => undefined, "other")).toBe(1);
    // A definition of another id, one that is not registered, and a selection that throws are none.
    expect(selected(() => one, "other")).toBeUndefined();
    expect(selected(() => agent())).toBeUndefined();
    expect(
      selected(() => {
        throw new Error("no");
      }),
    ).toBeUndefined();
  });

  it("[THR-09] have a key that changes with the agents, their digests and the selection's key", () => {
    const keyOf = (revision: number, key: string | null) => {
      const select = () => undefined;
      const selection = key === null ? {} : { selectBinding: { key, select } };
      return new AgentRegistry([agent({ revision })], selection, environment()).key;
    };
    expect(keyOf(1, null)).toBe(keyOf(1, null));
    expect(new Set([keyOf(1, null), keyOf(2, null), keyOf(1, "a"), keyOf(1, "b")]).size).toBe(4);
  });

  it("[THR-04] decodes input to what is stored, defaults included", () => {
    const planner = defineAgent({
      id: "p",
      revision: 1,
      description: "d",
      input: z.object({ city: z.string(), days: z.int().default(3) }),
      instructions: ({ days }) => `Plan ${days} days.`,
      inputPrompt: ({ city }) => `Go to ${city}.`,
      model: "local/p",
    });
    const decoded = planner.decodeInput({ city: "Oslo", extra: 1 });
    expect(decoded).toEqual({ ok: true, value: { city: "Oslo", days: 3 } });
    expect(planner.open({ city: "Oslo", days: 2 })).toEqual({
      instructions: "Plan 2 days.",
      prompt: [{ role: "user", content: [{ type: "text", text: "Go to Oslo." }] }],
    });
    expect(planner.decodeInput({ city: 1 })).toMatchObject({
      ok: false,
      faults: [{ pointer: "/city" }],
    });
  });

  it("[THR-04] refuses input that decodes to what cannot be stored", () => {
    const odd = defineAgent({
      id: "odd",
      revision: 1,
      description: "d",
      input: z.string().transform((text) => new Date(text)),
      instructions: "i",
      model: "local/odd",
    });
    expect(odd.decodeInput("2026-01-01")).toMatchObject({ ok: false });
  });

  it("decodes output by its schema, and takes text as it is without one", () => {
    expect(agent().decodeOutput("{}")).toEqual({ ok: true, value: "{}" });
    const typed = agent({ output: z.object({ n: z.int() }) });
    expect(typed.decodeOutput('{"n":1}')).toEqual({ ok: true, value: { n: 1 } });
    expect(typed.decodeOutput('{"n":"1"}')).toMatchObject({ ok: false });
    expect(typed.decodeOutput("n is 1")).toMatchObject({ ok: false });
  });
});

describe("[TOOL-01] defining a tool", () => {
  it.each(["a", "Act", "read_logs", "a-b", "a9", `x${"y".repeat(63)}`])("%j is a name", (name) => {
    expect(tool({ name }).name).toBe(name);
  });

  it.each(["", "9a", "_a", "a b", "a.b", "ä", `x${"y".repeat(64)}`, "a\n"])(
    "%j is none",
    (name) => {
      expect(refusal(() => tool({ name }))).toContain(": name: ");
    },
  );

  it.each<[string, Partial<AnyTool>]>([
    ["revision", { revision: 0 }],
    ["description", { description: "" }],
    ["timeout", { timeout: "0 seconds" }],
  ])("names the wrong field: %s", (field, changes) => {
    expect(refusal(() => tool(changes))).toContain(`tool "act": ${field}: `);
  });

  it.each([
    ["needApproval", { needApproval: true }],
    ["desciption, run", { desciption: "x", run: () => null }],
    ["model", { model: "local/helper" }],
  ])("[UX-04] names a field that there is not, and those that there are: %s", (names, fields) => {
    expect(refusal(() => tool(z.custom<Partial<AnyTool>>().parse(fields)))).toBe(
      `tool "act": ${names}: no such field; the fields are name, revision, description, input, output, effect, resumable, exclusive, timeout, needsApproval, execute, reconcile`,
    );
  });

  it("[TOOL-02] is external, and has thirty seconds, unless it says otherwise", () => {
    expect(tool()).toMatchObject({ effect: "external", timeoutMillis: 30_000 });
    expect(tool({ effect: "read", timeout: "2 minutes" })).toMatchObject({
      effect: "read",
      timeoutMillis: 120_000,
    });
  });

  it("[RUN-03] decodes arguments before its handler sees them", () => {
    expect(tool().decode({ n: 1 }).ok).toBe(true);
    expect(tool().decode({ n: "1" })).toMatchObject({ ok: false, faults: [{ pointer: "/n" }] });
  });
});

describe("[TOOL-05] a tool that asks people", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  afterEach(() => {
    warn.mockClear();
  });

  it("makes its agent warn of a short maxDuration, at definition", () => {
    agent({ tools: { act: tool({ needsApproval: true }) } });
    expect(warn).toHaveBeenCalledTimes(1);
    expect(String(warn.mock.calls[0])).toMatch(/act.*maxDuration/);
    agent({ tools: { act: tool({ needsApproval: () => false }) } });
    expect(warn).toHaveBeenCalledTimes(2);
  });

  it("does not where people have time, or where no tool asks", () => {
    agent({ tools: { act: tool({ needsApproval: true }) }, policy: { maxDuration: "1 hour" } });
    agent({ tools: { act: tool() } });
    expect(warn).not.toHaveBeenCalled();
  });
});

describe("[THR-10] definition digests", () => {
  const model = { provider: "local", name: "helper" };
  const digests = (changes: Partial<StringAgent> = {}) => digestDefinition(agent(changes), model);
  const base = digests({ tools: { act: tool() } });

  it.each<[string, Partial<StringAgent>]>([
    ["id", { id: "other" }],
    ["revision", { revision: 2 }],
    ["instructions", { instructions: "Help more." }],
    ["input", { input: z.string().min(1) }],
    ["output", { output: z.object({ n: z.int() }) }],
    ["policy", { policy: { maxTurns: 13 } }],
  ])("of the agent change with its %s, and the tools' do not", (_field, changes) => {
    const changed = digests({ tools: { act: tool() }, ...changes });
    expect(changed.agent).not.toBe(base.agent);
    expect([changed.model, changed.tools]).toEqual([base.model, base.tools]);
  });

  it.each<[string, Partial<AnyTool>]>([
    ["name", { name: "act2" }],
    ["revision", { revision: 2 }],
    ["schema", { input: z.object({ n: z.int(), m: z.int() }) }],
    ["effect", { effect: "read" }],
  ])("of the tools change with a tool's %s, and the agent's do not", (_field, changes) => {
    const changed = digests({ tools: { act: tool(changes) } });
    expect(changed.tools).not.toBe(base.tools);
    expect([changed.agent, changed.model]).toEqual([base.agent, base.model]);
  });

  it("do not change with what is not part of them", () => {
    const same = tool({ description: "Acts well.", timeout: "1 minute", execute: () => 1 });
    const changed = digests({ description: "Helps well.", tools: { act: same } });
    expect(changed).toEqual(base);
  });

  it("of functions as instructions are of the revision alone", () => {
    const one = digests({ instructions: () => "one" });
    expect(digests({ instructions: () => "two" })).toEqual(one);
    expect(digests({ instructions: () => "one", revision: 2 }).agent).not.toBe(one.agent);
  });

  it("of the model change with its provider and its name", () => {
    const digestOf = (provider: string, name: string) =>
      digestDefinition(agent(), { provider, name }).model;
    expect(new Set([digestOf("a", "b"), digestOf("a", "c"), digestOf("b", "b")]).size).toBe(3);
    const [here, there] = [environment(), environment({ HOLDFAST_MODEL: "local/other" })].map(
      (env) => new AgentRegistry([agent()], {}, env).only("helper")?.digests.model,
    );
    expect(here).not.toBe(there);
  });
});

describe("a tool of the wrong kind, as untyped code has it", () => {
  it.each<[string, Readonly<Record<string, unknown>>]>([
    ["execute", { execute: undefined }],
    ["execute", { execute: {} }],
    ["input", { input: undefined }],
    ["input", { input: z.string() }],
    ["input", { input: z.array(z.string()) }],
    ["output", { output: 3 }],
    ["needsApproval", { needsApproval: "yes" }],
  ])("[UX-04] is refused, and its field named: %s", (field, fields) => {
    expect(refusal(() => tool(z.custom<Partial<AnyTool>>().parse(fields)))).toMatch(
      new RegExp(`^tool "act": ${field}[: ]`),
    );
  });

  it("asks for approval where it says so, and only there", () => {
    const asks = (needsApproval: AnyTool["needsApproval"]): boolean =>
      tool(needsApproval === undefined ? {} : { needsApproval }).mayNeedApproval;
    expect([undefined, false, true, () => false].map(asks)).toEqual([false, false, true, true]);
  });
});

describe("[RUN-16] a completion tool", () => {
  const output = z.object({ answer: z.string() });

  it("is a tool with the output's schema beside the agent's own", () => {
    const [tool] = bindingOf({ completionTool: "submit_result", output }).callTools.slice(-1);
    expect(tool).toMatchObject({
      type: "function",
      name: "submit_result",
      inputSchema: { properties: { answer: { type: "string" } }, additionalProperties: false },
    });
  });

  it.each<[string, Partial<StringAgent>]>([
    ["needs an output schema", { completionTool: "submit_result" }],
    ["output is not an object", { completionTool: "submit_result", output: z.string() }],
    ["two are named act", { completionTool: "act", output, tools: { act: tool() } }],
    ["completionTool", { completionTool: "two words", output }],
  ])("is refused where it cannot be: %s", (why, changes) => {
    expect(refusal(() => agent(changes))).toContain(why);
  });

  it("takes what stands in a code fence for what was meant", () => {
    const fenced = agent({ output });
    for (const text of ['```json\n{"answer":"a"}\n```', ' ```\n{"answer":"a"}```\n']) {
      expect(fenced.decodeOutput(text)).toEqual({ ok: true, value: { answer: "a" } });
    }
    expect(fenced.decodeOutput('Here: ```json\n{"answer":"a"}\n```').ok).toBe(false);
  });
});

describe("[RUN-16] a model is told what its output looks like", () => {
  const output = z.object({ answer: z.string() });
  const told = (model: string, more: object = {}) => {
    const { outputFormat, outputInstruction } = bindingOf({ model, output, ...more });
    return { schema: outputFormat !== null, words: outputInstruction };
  };

  it.each(["openai/m", "anthropic/m", "google/m", "openai-compatible/m", "local/m"])(
    "by its schema where the provider takes one: %s",
    (model) => {
      expect(told(model)).toEqual({ schema: true, words: "" });
    },
  );

  it.each(["workers-ai/@cf/m", "groq/m"])(
    "in words where it does not, or nobody knows: %s",
    (model) => {
      expect(told(model)).toMatchObject({
        schema: false,
        words: expect.stringContaining('"answer"'),
      });
    },
  );

  it("by the name of the completion tool where there is one", () => {
    expect(told("openai/m", { completionTool: "submit_result" })).toMatchObject({
      schema: false,
      words: expect.stringContaining("submit_result"),
    });
  });
});

describe("[TOOL-13] provider tools", () => {
  const providerTools = {
    search: openai.tools.webSearch({ searchContextSize: "low" }),
  };

  it("are the AI SDK's, under the agent's names, and part of the tools' digest", () => {
    const binding = bindingOf({ model: "openai/m", providerTools });
    expect(binding.providerTools).toEqual([
      {
        type: "provider",
        id: "openai.web_search",
        name: "search",
        args: { searchContextSize: "low" },
      },
    ]);
    expect(binding.callTools).toEqual(binding.providerTools);
    expect(binding.digests.tools).not.toBe(bindingOf({ model: "openai/m" }).digests.tools);
    expect(() => binding.model()).not.toThrow();
  });

  it.each([
    ["anthropic/claude-opus-5", { search: openai.tools.webSearch({}) }],
    ["local/helper", { search: openai.tools.webSearch({}) }],
    ["openai/m", { search: anthropic.tools.webSearch_20250305({ maxUses: 2 }) }],
  ])("fail the first call of a model that cannot run them, naming both: %s", (model, tools) => {
    const binding = bindingOf({ model, providerTools: tools });
    expect(() => binding.model()).toThrow(
      new RegExp(`${model.replaceAll(".", "\\.")}.*search.*web_search`),
    );
  });

  it.each([
    ["providerTools.search", { search: { type: "function" } }],
    ["providerTools.search", { search: "openai.web_search" }],
    ["providerTools", { "two words": openai.tools.webSearch({}) }],
  ])("are refused where they are none: %s", (field, tools) => {
    const wrong = z.custom<StringAgent["providerTools"]>().parse(tools);
    expect(refusal(() => agent({ providerTools: wrong ?? {} }))).toContain(field);
  });

  it("are refused under the name of another tool", () => {
    const act = openai.tools.webSearch({});
    expect(refusal(() => agent({ providerTools: { act }, tools: { act: tool() } }))).toContain(
      "two are named act",
    );
  });
});
