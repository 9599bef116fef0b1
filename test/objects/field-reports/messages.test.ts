// What others' users reported about messages, as kinds of fault: results that are missing, doubled, dropped, or too large to keep.
import { afterEach, describe, expect, it } from "vitest";
import { must } from "../../../shared/assert.ts";
import { defineAgent } from "../../../shared/define/index.ts";
import { MAX_BATCH_BYTES } from "../../../shared/limits.ts";
import { expectSound } from "../../support/expect-sound.ts";
import { ScriptedInputSchema, type PlannedTurn } from "../../support/scripted-model.ts";
import { tools } from "../../support/test-agents.ts";
import { resetOptions, testOptions } from "../../support/test-options.ts";
import { ThreadDriver } from "../../support/thread-driver.ts";
import { world } from "../../support/world.ts";
import {
  awaitingApproval,
  expectPaired,
  only,
  promptsOf,
  submit,
  unknownOutcome,
  watch,
} from "./situations.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

describe("a decision about a call", () => {
  it.each([
    ["approve", {}, "success"],
    ["edit", { arguments: { value: "edited" } }, "success"],
    ["deny", {}, "denied"],
  ] as const)(
    "field report 16: %s and the call's outcome are records apart: a reader who had seen the question gets both",
    async (decision, more, outcome) => {
      const { thread, submissionId, operation } = await awaitingApproval();
      const { operationId } = operation;
      const seen = (await thread.records()).length;
      await thread.decide(operationId, decision, more);
      await thread.settlement(submissionId);
      const later = (await thread.records()).slice(seen);
      const [decided] = only(later, "OperationDecided");
      const [result] = only(later, "ToolSettled");
      expect(decided?.payload).toMatchObject({ operationId, decision });
      expect(result?.payload).toMatchObject({ operationId, outcome });
      expect(must(result, "a result").sequence).toBeGreaterThan(must(decided, "it").sequence);
      const events = await (await watch(thread, { after: seen })).rest();
      expect(events.flatMap((each) => (each.event === "record" ? [each.data] : []))).toEqual(later);
    },
  );
});

/** Turns whose calls end in each way that a call can end without having succeeded. */
const UNSUCCESSFUL: readonly (readonly [
  string,
  plan: readonly PlannedTurn[],
  agent: string,
  bring: (thread: ThreadDriver, submissionId: string) => Promise<unknown>,
])[] = [
  [
    "denied",
    [{ calls: [{ tool: "guarded" }, { tool: "look" }] }],
    "plain",
    (thread, submissionId) => decideFirst(thread, submissionId, "approval", "deny"),
  ],
  ["failure", [{ calls: [{ tool: "act", input: { behave: "throw" } }] }], "plain", nothing],
  ["invalid", [{ calls: [{ tool: "act", raw: "{oops" }, { tool: "look" }] }], "plain", nothing],
  ["of a tool that is not there", [{ calls: [{ tool: "no_such_tool" }] }], "plain", nothing],
  [
    "timeout",
    [{ calls: [{ tool: "hasty_look", input: { behave: "honour-signal" } }] }],
    "plain",
    nothing,
  ],
  [
    "budget-rejected",
    [{ calls: [{ tool: "look" }, { tool: "look" }, { tool: "look" }] }],
    "frugal",
    nothing,
  ],
  ["cut by length", [{ calls: [{ tool: "look" }], finish: "length" }], "plain", nothing],
];

function nothing(): Promise<void> {
  return Promise.resolve();
}

async function decideFirst(
  thread: ThreadDriver,
  submissionId: string,
  reason: string,
  decision: "deny" | "failed",
): Promise<void> {
  await thread.waitingFor(submissionId, reason);
  const [operation] = await thread.operations();
  await thread.decide(must(operation, "it is asked").operationId, decision);
}

describe("a call that came to nothing", () => {
  it.each(UNSUCCESSFUL)(
    "field report 17: (%s) has its one result in every later prompt, so that no provider refuses it",
    async (_outcome, plan, agent, bring) => {
      const thread = new ThreadDriver("report");
      const { receipt } = await submit(thread, [...plan, { text: "ok" }], { agent });
      await bring(thread, receipt.submissionId);
      expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "completed" });
      const later = await submit(thread, [{ text: "later" }], { agent });
      await thread.settlement(later.receipt.submissionId);
      const prompts = promptsOf(thread);
      expect(prompts.length).toBeGreaterThanOrEqual(3);
      for (const prompt of prompts) expectPaired(prompt);
      await expectSound(thread);
    },
  );

  it("field report 17: because nobody knows, or because its run was aborted, leaves no later prompt with half of a pair", async () => {
    const { thread, submissionId } = await unknownOutcome();
    const later = await submit(thread, [{ text: "later" }]);
    await thread.settlement(later.receipt.submissionId);
    await thread.abort(submissionId);
    const last = await submit(thread, [{ text: "last" }]);
    await thread.settlement(last.receipt.submissionId);
    for (const prompt of promptsOf(thread)) expectPaired(prompt);
    await expectSound(thread);
  });
});

/** What interrupts a run with several turns of calls, one after the other. */
const long: readonly PlannedTurn[] = [
  { text: "part one", calls: [{ tool: "act", input: { value: "result one" } }] },
  { text: "part two", calls: [{ tool: "guarded", input: { value: "result two" } }] },
  {
    text: "part three",
    calls: [{ tool: "bump", input: { value: "result three" } }],
    fail: { how: "http", status: 503, times: 1 },
  },
  { text: "part four" },
];

describe("a run that is continued, again and again", () => {
  it.each(["results:after", "intents:after", "turn:after", "model:after-call"] as const)(
    "field reports 18 and 19: shows the model each part and result once, all of them, in order, also after a death at %s",
    async (point) => {
      const thread = new ThreadDriver("report");
      world.armCrashes({ point, mode: "sync-abort" });
      const { receipt } = await submit(thread, long);
      const { submissionId } = receipt;
      await expect.poll(() => world.disarm()).toBe(0);
      await thread.toQuiescence();
      // A person looks outside where nobody knows, and then answers the question; the object goes in between.
      for (let open = await thread.operations(); open.length > 0;) {
        const { operationId, kind } = must(open[0], "it is open");
        await thread.evict();
        if (kind === "approval") await thread.decide(operationId, "approve");
        else await thread.decide(operationId, "completed", { result: { value: "result one" } });
        await thread.toQuiescence();
        open = await thread.operations();
      }
      await thread.toQuiescence();
      expect(await thread.settlement(submissionId)).toMatchObject({ output: "part four" });
      const prompt = must(promptsOf(thread).at(-1), "it was asked");
      expectPaired(prompt);
      // Past the input, which holds the plan with all of these words.
      const said = prompt.slice(prompt.findIndex(({ role }) => role === "user") + 1);
      const text = JSON.stringify(
        said.flatMap(({ role, content }) =>
          typeof content === "string"
            ? []
            : content.filter(({ type }) => role === "tool" || type === "text"),
        ),
      );
      const words = ["part one", "result one", "part two", "result two", "part three"];
      const places = [...words, "result three"].map((word) => text.split(word).length - 1);
      expect(places).toEqual([1, 1, 1, 1, 1, 1]);
      const order = [...words, "result three"].map((word) => text.indexOf(word));
      expect(order).toEqual(order.toSorted((one, other) => one - other));
      const responses = only(await thread.records(), "ModelResponded").map(({ turn }) => turn);
      expect(responses).toEqual([1, 2, 3, 4]);
      await expectSound(thread);
    },
  );

  it("field report 18: has one writer, however many people and alarms act on it at once", async () => {
    const { thread, submissionId, operation } = await awaitingApproval([
      { calls: [{ tool: "act" }] },
      { text: "ok" },
    ]);
    const { operationId } = operation;
    await Promise.all([
      thread.decide(operationId, "approve"),
      thread.quiet(),
      thread.decide(operationId, "approve"),
      thread.quiet(),
      thread.redeliverAlarm(),
    ]);
    await thread.settlement(submissionId);
    const records = await thread.records();
    // One record of each fact: what tells one from another is its id, past its place in the log.
    const facts = records.map(({ recordId }) => recordId.slice(recordId.indexOf(":") + 1));
    expect(new Set(facts).size).toBe(facts.length);
    expect(only(records, "ToolSettled")).toHaveLength(2);
    expect(only(records, "ModelResponded")).toHaveLength(3);
    await expectSound(thread);
  });
});

/** May do far more in one run than an agent does by default. */
const tireless = defineAgent({
  id: "tireless",
  revision: 1,
  description: "An agent of these tests.",
  input: ScriptedInputSchema,
  instructions: "Follow the plan.",
  model: "test/scripted",
  tools,
  policy: { maxDuration: "2 hours", maxTurns: 100, maxToolCalls: 100, toolConcurrency: 8 },
});

describe("a long session", () => {
  const large = "x".repeat(700_000);

  it("field report 37: is saved past what one row can hold: in rows that each fit, and is read back whole", async () => {
    const thread = new ThreadDriver("report");
    testOptions.agents = (all) => [...all, tireless];
    // The script of the model is part of the input.
    testOptions.limits = { maxInputBytes: 1_000_000 };
    for (let run = 0; run < 4; run += 1) {
      expect(await thread.run([{ text: `${run} ${large}` }])).toMatchObject({
        outcome: "completed",
        output: `${run} ${large}`,
      });
    }
    // One turn whose results do not fit one row together.
    const calls = Array.from({ length: 60 }, () => ({ tool: "look", input: { behave: "huge" } }));
    const turn = await thread.run([{ calls }, { text: "ok" }], { agent: "tireless" });
    expect(turn).toMatchObject({ outcome: "completed", usage: { toolCalls: 60 } });
    const { batches, records } = await thread.dump();
    const sizes = batches.map((batch) => new TextEncoder().encode(batch.records).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(2 * 2_000_000);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_BATCH_BYTES);
    expect(only(records, "ToolSettled")).toHaveLength(60);
    await thread.evict();
    expect(await thread.records()).toEqual(records);
    await expectSound(thread);
  });

  it("field report: stores no prompt: the log grows by what is new in a turn, within a run and from run to run", async () => {
    const thread = new ThreadDriver("report");
    testOptions.agents = (all) => [...all, tireless];
    const value = "v".repeat(2_000);
    const turns = Array.from({ length: 24 }, () => ({
      text: "t".repeat(2_000),
      calls: [{ tool: "act", input: { value } }],
    }));
    const plan = [...turns, { text: "done" }];
    await thread.run(plan, { agent: "tireless" });
    const bytesOf = ({ records }: { records: string }): number => records.length;
    const perTurn = new Map<number, number>();
    for (const record of await thread.records()) {
      if (!("turn" in record)) continue;
      const size = JSON.stringify(record).length;
      perTurn.set(record.turn, (perTurn.get(record.turn) ?? 0) + size);
    }
    const early = must(perTurn.get(3), "a third turn");
    const late = must(perTurn.get(24), "a late turn");
    expect(late).toBeLessThan(early * 1.05);
    // From run to run: the fifth costs what the second did, though its prompts hold four runs more.
    const sums: number[] = [];
    for (let run = 2; run <= 5; run += 1) {
      const before = (await thread.dump()).batches.length;
      await thread.run([{ text: "t".repeat(2_000) }]);
      const added = (await thread.dump()).batches.slice(before);
      sums.push(added.map(bytesOf).reduce((sum, size) => sum + size, 0));
    }
    expect(Math.max(...sums)).toBeLessThan(Math.min(...sums) * 1.05);
  });
});
