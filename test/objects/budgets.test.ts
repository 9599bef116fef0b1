// Budgets of a real run: what a caller allows, what it costs, what it is warned of, and how the output is asked for.
import { afterEach, describe, expect, it } from "vitest";
import type { JsonValue } from "../../shared/canonical-json.ts";
import type { RecordOf, ThreadRecord } from "../../shared/wire/records.ts";
import { expectSound } from "../support/expect-sound.ts";
import { seenPrompts, type PlannedTurn } from "../support/scripted-model.ts";
import { resetOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";

afterEach(resetOptions);

const look: PlannedTurn = { calls: [{ tool: "look" }] };
const done: PlannedTurn = { text: "done" };

type Payload<Type extends ThreadRecord["type"]> = RecordOf<Type>["payload"];

const inputsOf = (records: readonly ThreadRecord[]): Payload<"InputRecorded">[] =>
  records.flatMap((record) => (record.type === "InputRecorded" ? [record.payload] : []));
const responsesOf = (records: readonly ThreadRecord[]): Payload<"ModelResponded">[] =>
  records.flatMap((record) => (record.type === "ModelResponded" ? [record.payload] : []));
const resultsOf = (records: readonly ThreadRecord[]): Payload<"ToolSettled">[] =>
  records.flatMap((record) => (record.type === "ToolSettled" ? [record.payload] : []));
const warningsOf = (records: readonly ThreadRecord[]): Payload<"BudgetWarned">[] =>
  records.flatMap((record) => (record.type === "BudgetWarned" ? [record.payload] : []));

describe("[CTX-02] allowances of a submission", () => {
  const submitted = async (allowances: { turns?: number; toolCalls?: number }) => {
    const thread = new ThreadDriver("allow");
    const input: JsonValue = JSON.parse(JSON.stringify({ plan: [look, look, look, done] }));
    const { receipt } = await thread.submitRequest({ agent: "plain", input, allowances });
    return { thread, receipt, settlement: await thread.settlement(receipt.submissionId) };
  };

  it("tighten the turns and calls of its run, and are part of its record", async () => {
    const { thread, settlement } = await submitted({ turns: 2.9 });
    expect(settlement).toMatchObject({ outcome: "failed", limit: "turns" });
    // Two turns, and a grace turn that asked for tools again.
    expect(settlement.usage.turns).toBe(3);
    const [input] = inputsOf(await thread.records());
    expect(input?.allowances).toEqual({ turns: 2.9 });
    await expectSound(thread);
    const calls = await submitted({ toolCalls: 1 });
    expect(calls.settlement.usage.toolCalls).toBe(1);
  });

  it("never widen them", async () => {
    const { settlement } = await submitted({ turns: 1_000, toolCalls: 1_000 });
    expect(settlement).toMatchObject({ outcome: "completed" });
  });

  it("hold on every attempt", async () => {
    const thread = new ThreadDriver("allow");
    const gate = `${thread.threadId}-gate`;
    const plan = [look, { ...look, gate }, done];
    const input: JsonValue = JSON.parse(JSON.stringify({ plan }));
    const { receipt } = await thread.submitRequest({
      agent: "plain",
      input,
      allowances: { turns: 1 },
    });
    await thread.arrival(gate);
    await thread.crash();
    await thread.resume(gate);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({
      outcome: "failed",
      limit: "turns",
    });
    await expectSound(thread);
  });

  it("[THR-03] are part of the command", async () => {
    const thread = new ThreadDriver("allow");
    const input = { plan: [{ text: "done" }] };
    const first = await thread.submitRequest({ agent: "plain", input }, { key: "k" });
    expect(await thread.submitRequest({ agent: "plain", input }, { key: "k" })).toMatchObject({
      receipt: first.receipt,
      replayed: true,
    });
    const other = { agent: "plain", input, allowances: { turns: 1 } };
    await expect(thread.submitRequest(other, { key: "k" })).rejects.toMatchObject({
      code: "IdempotencyConflict",
    });
  });
});

describe("[CTX-13] warnings", () => {
  it("come once per budget, in the batch of what they are about", async () => {
    const thread = new ThreadDriver("warn");
    await thread.run([{ ...look, inputTokens: 2_000, outputTokens: 11_000 }, done], {
      agent: "frugal",
    });
    const records = await thread.records();
    expect(warningsOf(records)).toEqual([
      { dimension: "tokens", used: 13_000, limit: 15_000 },
      { dimension: "turns", used: 2, limit: 2 },
    ]);
    const { batches } = await thread.dump();
    const first = records.find(({ type }) => type === "BudgetWarned")?.sequence ?? 0;
    // The warning and the response it is about are one row.
    expect(batches).toContainEqual(expect.objectContaining({ first: first - 1, last: first }));
    await expectSound(thread);
  });
});

it("[CTX-13, REC-03] a warning behind the results hides no lost model call", async () => {
  const thread = new ThreadDriver("warn");
  const gate = `${thread.threadId}-gate`;
  const looks: PlannedTurn = { calls: [{ tool: "look" }, { tool: "look" }] };
  const { receipt } = await thread.submit([looks, { ...done, gate }], { agent: "frugal" });
  await thread.arrival(gate);
  await thread.crash();
  await thread.resume(gate);
  const { usage } = await thread.settlement(receipt.submissionId);
  expect(usage.interruptedModelCalls).toBe(1);
  expect(warningsOf(await thread.records()).map(({ dimension }) => dimension)).toContain(
    "tool-calls",
  );
  await expectSound(thread);
});

it("[RUN-16, REC-03] a lost repair is noted like any other call", async () => {
  const thread = new ThreadDriver("output");
  const gate = `${thread.threadId}-gate`;
  const plan: PlannedTurn[] = [{ text: "{}" }, { text: '{"answer":"1"}', gate }];
  const { receipt } = await thread.submit(plan, { agent: "structured" });
  await thread.arrival(gate);
  await thread.crash();
  await thread.resume(gate);
  const settlement = await thread.settlement(receipt.submissionId);
  expect(settlement).toMatchObject({
    outcome: "completed",
    usage: { turns: 2, interruptedModelCalls: 1 },
  });
  await expectSound(thread);
});

describe("[CTX-12, CTX-16, GW-04] a run's account", () => {
  it("has its cost with the cached tokens at their price, in settlement, view and record", async () => {
    const thread = new ThreadDriver("cost");
    const plan: PlannedTurn[] = [
      { ...look, inputTokens: 1_000, outputTokens: 100 },
      { ...done, inputTokens: 1_200, cacheReadTokens: 1_000, outputTokens: 50 },
    ];
    const { receipt } = await thread.submit(plan);
    const settlement = await thread.settlement(receipt.submissionId);
    const first = 1_000 * 2 + 100 * 10;
    const second = 200 * 2 + 1_000 * 0.2 + 50 * 10;
    expect(settlement.usage).toMatchObject({
      inputTokens: 2_200,
      cacheReadInputTokens: 1_000,
      lastInputTokens: 1_200,
      lastOutputTokens: 50,
      costMicrousd: first + second,
      unpricedModelCalls: 0,
    });
    expect((await thread.submission(receipt.submissionId)).usage).toEqual(settlement.usage);
    const costs = responsesOf(await thread.records());
    expect(costs.map(({ costMicrousd }) => costMicrousd)).toEqual([first, second]);
    expect((await thread.usage()).usage.costMicrousd).toBe(first + second);
  });

  it("says where the cost is not known", async () => {
    const settlement = await new ThreadDriver("cost").run([done], { agent: "carefree" });
    expect(settlement.usage).toMatchObject({ costMicrousd: 0, unpricedModelCalls: 1 });
  });

  it("[CTX-12] has no call under a cost budget without a price, and names the entry", async () => {
    const before = seenPrompts.length;
    const settlement = await new ThreadDriver("cost").run([done], { agent: "unpriced" });
    expect(settlement).toMatchObject({ outcome: "failed", limit: "cost" });
    expect(settlement.failure?.message).toContain('"test/unpriced"');
    expect(seenPrompts.length).toBe(before);
  });

  it("[CTX-15] fails at its cost, though tools were asked for or the answer is there", async () => {
    for (const turn of [look, done]) {
      const thread = new ThreadDriver("cost");
      const settlement = await thread.run([{ ...turn, outputTokens: 200_000 }], {
        agent: "frugal",
      });
      expect(settlement).toMatchObject({ outcome: "failed", limit: "cost" });
      expect(settlement.usage.toolCalls).toBe(0);
      await expectSound(thread);
    }
  });
});

describe("[RUN-16] an output contract", () => {
  const answer = (text: string): PlannedTurn => ({ text });

  it("in words follows the instructions, as the model of the tests takes no schema", async () => {
    await new ThreadDriver("output").run([answer('{"answer":"42"}')], { agent: "structured" });
    const [instructions, contract] = seenPrompts.at(-1)?.prompt ?? [];
    expect(instructions).toEqual({ role: "system", content: "Follow the plan." });
    expect(contract).toMatchObject({
      role: "system",
      content: expect.stringContaining('"answer"'),
    });
    expect(seenPrompts.at(-1)?.responseFormat).toBeUndefined();
  });

  it("gives one repair turn, which is told what was wrong, and the next run is told too", async () => {
    const thread = new ThreadDriver("output");
    const repaired = await thread.run([answer("{}"), answer('{"answer":"42"}')], {
      agent: "structured",
    });
    expect(repaired).toMatchObject({ outcome: "completed", output: { answer: "42" } });
    expect(repaired.usage.turns).toBe(2);
    const [first] = responsesOf(await thread.records());
    expect(first?.outputFaults).toContain("/answer");
    const asked = JSON.stringify(seenPrompts.at(-1)?.prompt.at(-1));
    expect(asked).toContain("/answer");
    expect(seenPrompts.at(-1)?.prompt.at(-1)?.role).toBe("user");
    await expectSound(thread);
    await thread.evict();
    await thread.run([answer('{"answer":"43"}')], { agent: "structured" });
    expect(seenPrompts.at(-1)?.prompt.filter(({ role }) => role !== "system")).toMatchObject([
      { role: "user" },
      { role: "assistant" },
      { role: "user" },
      { role: "assistant" },
      { role: "user" },
    ]);
  });

  it("repeats nothing that a failed repair said", async () => {
    const thread = new ThreadDriver("output");
    const settlement = await thread.run([answer('{"reply":"private"}')], { agent: "structured" });
    expect(settlement).toMatchObject({ failure: { tag: "OutputInvalid" } });
    expect(JSON.stringify(settlement)).not.toMatch(/private|reply|answer"/);
    await expectSound(thread);
  });

  const submit = (input: JsonValue): PlannedTurn => ({ calls: [{ tool: "submit_result", input }] });

  it("is met by the completion tool, whose call gets its result in the settlement's batch", async () => {
    const thread = new ThreadDriver("output");
    const settlement = await thread.run([look, submit({ answer: "42" })], { agent: "submitting" });
    expect(settlement).toMatchObject({ outcome: "completed", output: { answer: "42" } });
    expect(settlement.usage).toMatchObject({ turns: 2, toolCalls: 1 });
    const types = (await thread.records()).map(({ type }) => type);
    expect(types.slice(-3)).toEqual(["ModelResponded", "ToolSettled", "SubmissionSettled"]);
    await expectSound(thread);
    await thread.run([submit({ answer: "43" })], { agent: "submitting" });
    expect(seenPrompts.at(-1)?.prompt.filter(({ role }) => role === "tool")).toHaveLength(2);
  });

  it("takes no completion beside other calls, and repairs arguments that do not fit", async () => {
    const thread = new ThreadDriver("output");
    const early: PlannedTurn = {
      calls: [{ tool: "look" }, { tool: "submit_result", input: { answer: "too soon" } }],
    };
    const plan = [early, submit({}), submit({ answer: "42" })];
    const settlement = await thread.run(plan, { agent: "submitting" });
    expect(settlement).toMatchObject({ outcome: "completed", output: { answer: "42" } });
    const results = resultsOf(await thread.records());
    expect(results.map(({ toolName, outcome }) => `${toolName} ${outcome}`)).toEqual([
      "submit_result invalid",
      "look success",
      "submit_result invalid",
      "submit_result success",
    ]);
    await expectSound(thread);
  });

  it("[CTX-14] leaves the completion tool to a grace turn", async () => {
    const thread = new ThreadDriver("output");
    const plan = [look, look, look, submit({ answer: "so far" })];
    const settlement = await thread.run(plan, { agent: "submitting" });
    expect(settlement).toMatchObject({
      outcome: "completed",
      output: { answer: "so far" },
      exhausted: "turns",
    });
    const { toolChoice } = seenPrompts.at(-1) ?? {};
    expect(toolChoice).toEqual({ type: "tool", toolName: "submit_result" });
    await expectSound(thread);
  });
});

describe("[TOOL-07] tools that the provider runs", () => {
  const search = (size: number, more: PlannedTurn = {}): PlannedTurn => ({
    ...more,
    providerCalls: [{ tool: "search", result: { hits: "x".repeat(size) } }],
  });

  it("run no handler, keep their results whole, and go back as they came", async () => {
    const thread = new ThreadDriver("search");
    const settlement = await thread.run([search(100_000, look), done], { agent: "searching" });
    expect(settlement).toMatchObject({ outcome: "completed", output: "done" });
    expect(settlement.usage.toolCalls).toBe(2);
    const records = await thread.records();
    const settled = resultsOf(records);
    expect(settled.map(({ toolName }) => toolName)).toEqual(["look"]);
    const [first] = responsesOf(records);
    expect(first?.content).toMatchObject([
      { type: "tool-call", toolName: "search", providerExecuted: true },
      { type: "tool-result", output: { type: "json", value: { hits: "x".repeat(100_000) } } },
      { type: "tool-call", toolName: "look" },
    ]);
    const assistant = seenPrompts.at(-1)?.prompt.find(({ role }) => role === "assistant");
    expect(assistant?.content).toEqual(first?.content);
    expect(seenPrompts.at(-1)?.tools?.at(-1)).toEqual({
      type: "provider",
      id: "test.web_search",
      name: "search",
      args: { depth: 1 },
    });
    await expectSound(thread);
  });

  it("count against the budget: without room for one the model is asked for its answer", async () => {
    const thread = new ThreadDriver("search");
    const settlement = await thread.run([search(1, look), done], { agent: "searching" });
    expect(settlement).toMatchObject({ outcome: "completed", exhausted: "tool-calls" });
    expect(seenPrompts.at(-1)?.toolChoice).toEqual({ type: "none" });
  });
});
