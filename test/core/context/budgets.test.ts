// What a run may spend, what it is warned about, and what it costs.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findBudgetWarnings } from "../../../durable-objects/context/budget-warnings.ts";
import { estimateTokens } from "../../../durable-objects/context/estimate-tokens.ts";
import { tightenPolicy } from "../../../durable-objects/context/tighten-policy.ts";
import { costMicrousd, findPrice, priceIdOf } from "../../../durable-objects/model/prices.ts";
import { withBudgetWarnings } from "../../../durable-objects/thread/run/budget-drafts.ts";
import { AgentPolicySchema, type AgentPolicyInput } from "../../../shared/wire/policy.ts";
import { NO_RUN_USAGE, NO_TOKENS, type RunUsage } from "../../../shared/wire/usage.ts";
import {
  call,
  DEADLINE,
  fold,
  input,
  OPENING,
  prepared,
  responded,
  settled,
  settlement,
  started,
  T0,
  warned,
} from "../support/builders.ts";

const policyOf = (policy: AgentPolicyInput) => AgentPolicySchema.parse(policy);

describe("[CTX-02] an allowance", () => {
  const policy = policyOf({ maxTurns: 12, maxToolCalls: 24 });
  it.each([
    [{}, 12, 24],
    [{ turns: 3 }, 3, 24],
    [{ turns: 3.9, toolCalls: 1.5 }, 3, 1],
    [{ turns: 0, toolCalls: -7 }, 1, 1],
    [{ turns: 99, toolCalls: 1e300 }, 12, 24],
  ])("of %j is at most %d turns and %d calls", (allowances, maxTurns, maxToolCalls) => {
    expect(tightenPolicy(policy, allowances)).toEqual({ ...policy, maxTurns, maxToolCalls });
  });

  it("leaves a policy without one alone, and never gives a call to an agent that has none", () => {
    expect(tightenPolicy(policy, null)).toBe(policy);
    const none = policyOf({ maxToolCalls: 0 });
    expect(tightenPolicy(none, { toolCalls: 5 }).maxToolCalls).toBe(0);
  });
});

describe("[CTX-13] the warning of a budget", () => {
  const policy = policyOf({
    maxTurns: 10,
    maxToolCalls: 20,
    tokenBudget: 1_200,
    completionReserveTokens: 200,
    costBudgetMicrousd: 500,
  });
  const warnings = (usage: Partial<RunUsage>, elapsedMillis: number) =>
    findBudgetWarnings(
      policy,
      { usage: { ...NO_RUN_USAGE, ...usage }, elapsedMillis, maxDurationMillis: 1_000 },
      [],
    ).map(({ dimension, used, limit }) => `${dimension} ${used}/${limit}`);

  it.each<[string, Partial<RunUsage>, number, string[]]>([
    ["turns", { turns: 7 }, 0, []],
    ["turns", { turns: 8 }, 0, ["turns 8/10"]],
    ["calls", { toolCalls: 15 }, 0, []],
    ["calls", { toolCalls: 16 }, 0, ["tool-calls 16/20"]],
    ["tokens without the reserve", { inputTokens: 700, outputTokens: 99 }, 0, []],
    ["tokens without the reserve", { inputTokens: 700, outputTokens: 100 }, 0, ["tokens 800/1000"]],
    ["cost", { costMicrousd: 399 }, 0, []],
    ["cost", { costMicrousd: 400 }, 0, ["cost 400/500"]],
    ["duration", {}, 799, []],
    ["duration", {}, 800, ["duration 800/1000"]],
    [
      "an input that would not fit again",
      { inputTokens: 600, lastInputTokens: 401 },
      0,
      ["tokens 600/1000"],
    ],
    ["an input that would just fit again", { inputTokens: 600, lastInputTokens: 400 }, 0, []],
  ])("comes at four fifths of its %s: %j", (_of, usage, elapsed, expected) => {
    expect(warnings(usage, elapsed)).toEqual(expected);
  });

  it("is not given for a limit that is not set, or that is nothing", () => {
    const usage = { ...NO_RUN_USAGE, inputTokens: 1e9, costMicrousd: 1e9, toolCalls: 0 };
    const spent = { usage, elapsedMillis: 0, maxDurationMillis: 1_000 };
    expect(findBudgetWarnings(policyOf({ maxToolCalls: 0 }), spent, [])).toEqual([]);
  });

  it("stays a count, whatever a provider counts", () => {
    const most = Number.MAX_SAFE_INTEGER;
    const usage = { ...NO_RUN_USAGE, inputTokens: most, outputTokens: most };
    const spent = { usage, elapsedMillis: 0, maxDurationMillis: 1_000 };
    expect(findBudgetWarnings(policyOf({ tokenBudget: 10 }), spent, [])).toEqual([
      { dimension: "tokens", used: most, limit: 10 },
    ]);
  });

  it("is no progress, and hides no call that may be open", () => {
    const results = [...OPENING, responded(1, { calls: [call()] }), settled(1, 0)];
    const before = fold(...results);
    const after = fold(...results, warned("turns"));
    expect(after).toEqual({ ...before, warned: ["turns"] });
  });

  it("comes once for each dimension, in the batch of what it is about, before a settlement", () => {
    const limits = policyOf({ maxTurns: 1, maxToolCalls: 2 });
    const first = responded(1, { calls: [call(), call("look")] });
    const opened = fold(...OPENING);
    const batch = withBudgetWarnings(opened, limits, [first], T0 + 10);
    expect(batch.map(({ type }) => type)).toEqual(["ModelResponded", "BudgetWarned"]);
    const intents = prepared(1, { index: 0 });
    const after = fold(...OPENING, ...batch);
    expect(withBudgetWarnings(after, limits, [intents], T0 + 10)).toEqual([intents]);
    const read = settled(1, 1);
    expect(
      withBudgetWarnings(fold(...OPENING, ...batch, intents), limits, [read], T0 + 10),
    ).toEqual([
      read,
      expect.objectContaining({ payload: { dimension: "tool-calls", used: 2, limit: 2 } }),
    ]);
    const end = [responded(1, { text: "done" }), settlement()];
    expect(withBudgetWarnings(opened, limits, end, T0 + 10).map(({ type }) => type)).toEqual([
      "ModelResponded",
      "BudgetWarned",
      "SubmissionSettled",
    ]);
  });

  it("says nothing where nothing is recorded", () => {
    const late = DEADLINE - 1;
    const limits = policyOf({});
    expect(withBudgetWarnings(fold(input(), started()), limits, [], late)).toEqual([]);
    expect(withBudgetWarnings(fold(input()), limits, [started()], late)).toHaveLength(1);
  });

  it("is refused by the log a second time", () => {
    const once = [...OPENING, warned("turns")];
    expect(fold(...once, warned("cost")).warned).toEqual(["turns", "cost"]);
    expect(() => fold(...once, warned("turns"))).toThrow("a second BudgetWarned");
  });
});

describe("[GW-04] what a call costs", () => {
  const price = {
    inputUsdPerMillion: 3,
    outputUsdPerMillion: 15,
    cacheReadUsdPerMillion: 0.3,
    cacheWriteUsdPerMillion: 3.75,
  };

  it("is its tokens, each kind at its price", () => {
    const usage = {
      inputTokens: 1_000,
      cacheReadInputTokens: 600,
      cacheWriteInputTokens: 100,
      outputTokens: 200,
    };
    // 300 × 3 + 600 × 0.3 + 100 × 3.75 + 200 × 15
    expect(costMicrousd(usage, price)).toBe(900 + 180 + 375 + 3_000);
    const { inputUsdPerMillion, outputUsdPerMillion } = price;
    expect(costMicrousd(usage, { inputUsdPerMillion, outputUsdPerMillion })).toBe(3_000 + 3_000);
  });

  it("counts a broken millionth whole, and no dust of the arithmetic", () => {
    const tokens = { ...NO_TOKENS, inputTokens: 1 };
    expect(costMicrousd(tokens, { inputUsdPerMillion: 0.1, outputUsdPerMillion: 0 })).toBe(1);
    const ten = { ...NO_TOKENS, inputTokens: 10 };
    expect(costMicrousd(ten, { inputUsdPerMillion: 0.3, outputUsdPerMillion: 0 })).toBe(3);
    expect(costMicrousd(NO_TOKENS, price)).toBe(0);
  });

  it("is never negative, and always a count", () => {
    const count = fc.integer({ min: 0, max: 2 ** 53 - 1 });
    fc.assert(
      fc.property(count, count, count, count, (inputTokens, read, write, outputTokens) => {
        const usage = {
          inputTokens,
          outputTokens,
          cacheReadInputTokens: read,
          cacheWriteInputTokens: write,
        };
        const cost = costMicrousd(usage, price);
        expect(Number.isSafeInteger(cost)).toBe(true);
        expect(cost).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it("[CTX-12] is found for a model that a deployment makes itself, under its provider's id", () => {
    const model = { provider: "openai.responses", name: "gpt-5-mini" };
    expect(findPrice(model, {})).toMatchObject({ inputUsdPerMillion: 0.25 });
    expect(priceIdOf(model)).toBe("openai/gpt-5-mini");
  });

  it("is found by model id: the deployment's price before the list's, nothing for local models, null for unknown ones", () => {
    const own = { inputUsdPerMillion: 9, outputUsdPerMillion: 9 };
    const model = { provider: "openai", name: "gpt-5-mini" };
    expect(findPrice(model, {})).toMatchObject({ inputUsdPerMillion: 0.25 });
    expect(findPrice(model, { "openai/gpt-5-mini": own })).toBe(own);
    expect(findPrice({ provider: "local", name: "any" }, {})).toMatchObject({
      inputUsdPerMillion: 0,
    });
    expect(findPrice({ provider: "openai", name: "gpt-6-luna" }, {})).toBeNull();
    expect(findPrice({ provider: "constructor", name: "" }, {})).toBeNull();
    expect(costMicrousd(NO_TOKENS, null)).toBeNull();
  });

  it("is flagged where it is not known", () => {
    const usage = { inputTokens: 5 };
    const state = fold(
      ...OPENING,
      responded(1, { calls: [call()], usage, costMicrousd: null }),
      settled(1, 0),
      responded(2, { text: "done", usage, costMicrousd: 7 }),
    );
    expect(state.usage).toMatchObject({ costMicrousd: 7, unpricedModelCalls: 1 });
  });
});

describe("[CTX-16] a run's account", () => {
  it("separates what it spent in all from what its last response took", () => {
    const state = fold(
      ...OPENING,
      responded(1, { calls: [call()], usage: { inputTokens: 100, outputTokens: 20 } }),
      settled(1, 0),
      responded(2, { text: "done", usage: { inputTokens: 150, outputTokens: 5 } }),
    );
    expect(state.usage).toMatchObject({
      inputTokens: 250,
      outputTokens: 25,
      lastInputTokens: 150,
      lastOutputTokens: 5,
    });
  });
});

it("[CTX-36] an estimate is a quarter of the characters of what is sent", () => {
  expect(estimateTokens("x".repeat(38))).toBe(10);
  expect(estimateTokens([{ role: "user" }])).toBe(Math.ceil('[{"role":"user"}]'.length / 4));
  expect(estimateTokens(undefined)).toBe(0);
});
