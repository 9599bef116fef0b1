// The run loop over a real object: turns, order of commits, settlements, limits.
import { afterEach, describe, expect, it } from "vitest";
import { resetOptions } from "../support/test-options.ts";
import { expectSound } from "../support/expect-sound.ts";
import { seenPrompts, type PlannedTurn } from "../support/scripted-model.ts";
import { ThreadDriver } from "../support/thread-driver.ts";

afterEach(resetOptions);

function call(
  tool: string,
  input: Record<string, string> = {},
): NonNullable<PlannedTurn["calls"]>[number] {
  return { tool, input };
}

const types = (records: readonly { type: string }[]) => records.map((record) => record.type);

const byFirst = (left: (string | undefined)[], right: (string | undefined)[]) =>
  String(left[0]).localeCompare(String(right[0]));

describe("turns", () => {
  it("[RUN-02] commits input, response, intents, results and the settlement in that order", async () => {
    const thread = new ThreadDriver();
    const settlement = await thread.run([{ calls: [call("act")] }, { text: "ok" }]);
    expect(settlement).toMatchObject({ outcome: "completed", output: "ok", finishReason: "stop" });
    expect(types(await thread.records())).toEqual([
      "ThreadCreated",
      "InputRecorded",
      "RunStarted",
      "ModelResponded",
      "ToolsPrepared",
      "ToolSettled",
      "ModelResponded",
      "SubmissionSettled",
    ]);
    await expectSound(thread);
  });

  it("[RUN-02] prepares all calls that are not read in one record, and none that is", async () => {
    const thread = new ThreadDriver();
    await thread.run([{ calls: [call("look"), call("act"), call("bump")] }, { text: "ok" }]);
    const records = await thread.records();
    const prepared = records.filter((record) => record.type === "ToolsPrepared");
    expect(prepared).toHaveLength(1);
    expect(prepared[0]?.payload.calls.map(({ toolName, effect }) => [toolName, effect])).toEqual([
      ["act", "external"],
      ["bump", "idempotent"],
    ]);
    await expectSound(thread);
  });

  it("[RUN-02] lets the final response and the settlement share one batch", async () => {
    const thread = new ThreadDriver();
    await thread.run([{ text: "ok" }]);
    const { batches } = await thread.dump();
    expect(batches.map(({ first, last }) => [first, last])).toEqual([
      [1, 3],
      [4, 5],
    ]);
  });

  it("[RUN-03] commits a finished effect while a slow sibling still runs", async () => {
    const thread = new ThreadDriver();
    const gate = `${thread.threadId}-slow`;
    const { receipt } = await thread.submit([
      { calls: [call("act", { behave: "gate", gate }), call("act", { value: "fast" })] },
      { text: "ok" },
    ]);
    const settled = await thread.recordThat((record) => record.type === "ToolSettled");
    expect(settled).toMatchObject({ payload: { output: { value: { value: "fast" } } } });
    await thread.openGate(gate);
    await thread.settlement(receipt.submissionId);
    // The model reads results in the order it declared the calls, not the order they came in.
    const results = seenPrompts.at(-1)?.prompt.at(-1);
    expect(
      results?.role === "tool" && results.content.map((part) => "output" in part && part.output),
    ).toEqual([
      { type: "json", value: { value: "done" } },
      { type: "json", value: { value: "fast" } },
    ]);
    await expectSound(thread);
  });

  it("[RUN-03] answers bad arguments and unknown names, and still runs the valid calls", async () => {
    const thread = new ThreadDriver();
    const settlement = await thread.run([
      {
        calls: [
          { tool: "act", input: { behave: "nonsense" } },
          call("no_such_tool"),
          { tool: "act", raw: "{not json" },
          call("look"),
        ],
      },
      { text: "ok" },
    ]);
    expect(settlement.outcome).toBe("completed");
    const outcomes = (await thread.records()).flatMap((record) =>
      record.type === "ToolSettled"
        ? [[record.payload.operationId.at(-1), record.payload.outcome]]
        : [],
    );
    expect(outcomes.toSorted(byFirst)).toEqual([
      ["0", "invalid"],
      ["1", "invalid"],
      ["2", "invalid"],
      ["3", "success"],
    ]);
    await expectSound(thread);
  });

  it("[RUN-04] never runs the calls of a response that was cut by length", async () => {
    const thread = new ThreadDriver();
    const settlement = await thread.run([
      { calls: [call("act")], finish: "length" },
      { text: "ok" },
    ]);
    expect(settlement.outcome).toBe("completed");
    expect(settlement.usage.toolCalls).toBe(0);
    const settled = (await thread.records()).find((record) => record.type === "ToolSettled");
    expect(settled).toMatchObject({ payload: { outcome: "invalid" } });
    await expectSound(thread);
  });

  it("[RUN-04] completes with a cut answer where no schema is set, and fails where one is", async () => {
    const plain = await new ThreadDriver().run([{ text: "half of it", finish: "length" }]);
    expect(plain).toMatchObject({ outcome: "completed", output: "half of it" });
    const structured = await new ThreadDriver().run([{ text: '{"answ', finish: "length" }], {
      agent: "structured",
    });
    expect(structured).toMatchObject({ outcome: "failed", failure: { tag: "OutputInvalid" } });
  });

  it("[RUN-05] bounds the handlers that run at once by toolConcurrency", async () => {
    const thread = new ThreadDriver();
    const gates = Array.from({ length: 6 }, (_, index) => `${thread.threadId}-${index}`);
    const { receipt } = await thread.submit([
      { calls: gates.map((gate) => call("look", { behave: "gate", gate })) },
      { text: "ok" },
    ]);
    await Promise.all(gates.slice(0, 4).map((gate) => thread.arrival(gate)));
    const { activeRun } = await thread.explain();
    expect(activeRun?.inFlight).toHaveLength(4);
    await thread.openGate(...gates);
    await thread.settlement(receipt.submissionId);
    await expectSound(thread);
  });
});

describe("outcomes", () => {
  it("[RUN-13] completes with output that the schema validated", async () => {
    const settlement = await new ThreadDriver().run([{ text: '{"answer":"42"}' }], {
      agent: "structured",
    });
    expect(settlement).toMatchObject({ outcome: "completed", output: { answer: "42" } });
  });

  it.each([
    ["text that is not JSON", "sorry"],
    ["JSON of another shape", '{"reply":"42"}'],
    ["nothing at all", ""],
  ])("[RUN-12] fails OutputInvalid for %s, without repeating it", async (_what, text) => {
    const settlement = await new ThreadDriver().run([{ text }], { agent: "structured" });
    expect(settlement).toMatchObject({ outcome: "failed", failure: { tag: "OutputInvalid" } });
    if (text !== "") expect(JSON.stringify(settlement.failure)).not.toContain(text);
  });

  it("completes with an empty answer where no schema is set", async () => {
    const settlement = await new ThreadDriver().run([{ text: "" }]);
    expect(settlement).toMatchObject({ outcome: "completed", output: "" });
  });

  it("[RUN-12] fails PreparationFailed when the author's instructions throw, without their message", async () => {
    const thread = new ThreadDriver();
    const settlement = await thread.run([{ text: "ok" }], { agent: "broken", note: "throw" });
    expect(settlement).toMatchObject({ outcome: "failed", failure: { tag: "PreparationFailed" } });
    expect(JSON.stringify(settlement)).not.toContain("secret");
    expect(await thread.alarmAt()).toBe(null);
    await expectSound(thread);
  });

  it("[CTX-04] evaluates instructions once: every attempt and turn sees what the record holds", async () => {
    const thread = new ThreadDriver();
    await thread.run([{ calls: [call("look")] }, { text: "ok" }], {
      agent: "broken",
      note: "Hurry.",
    });
    expect(seenPrompts.at(-1)?.prompt[0]).toEqual({
      role: "system",
      content: "Follow the plan. Hurry.",
    });
    const start = (await thread.records()).find((record) => record.type === "RunStarted");
    expect(start?.payload.instructions).toBe("Follow the plan. Hurry.");
  });

  it("[GW-03] fails ModelFailed for a model that the deployment cannot make, and says what to do", async () => {
    const settlement = await new ThreadDriver().run([{ text: "ok" }], { agent: "unmodelled" });
    expect(settlement).toMatchObject({ outcome: "failed", failure: { tag: "ModelFailed" } });
    expect(settlement.failure?.message).toContain("acme/huge");
    expect(settlement.failure?.message).toContain("HOLDFAST_MODEL");
  });

  it("[RUN-14] fails after repeatedFailureLimit failed results in a row, with the batch in the log", async () => {
    const thread = new ThreadDriver();
    const failing = call("act", { behave: "throw" });
    const settlement = await thread.run([{ calls: [failing, failing, failing] }, { text: "ok" }]);
    expect(settlement).toMatchObject({
      outcome: "failed",
      failure: { tag: "PolicyLimitError" },
      limit: "repeated-failures",
    });
    const results = (await thread.records()).filter((record) => record.type === "ToolSettled");
    expect(results).toHaveLength(3);
    await expectSound(thread);
  });

  it("[RUN-14] counts anew after a success", async () => {
    const failing = call("act", { behave: "throw" });
    const settlement = await new ThreadDriver().run([
      { calls: [failing, failing, call("look"), failing, failing] },
      { text: "ok" },
    ]);
    expect(settlement.outcome).toBe("completed");
  });
});

describe("limits", () => {
  it("[CTX-14] rejects an over-budget batch whole, and gives one grace turn without tools", async () => {
    const thread = new ThreadDriver();
    const settlement = await thread.run(
      [{ calls: [call("look"), call("look"), call("look")] }, { text: "made do" }],
      { agent: "frugal" },
    );
    expect(settlement).toMatchObject({
      outcome: "completed",
      output: "made do",
      finishReason: "budget-exhausted",
      exhausted: "tool-calls",
    });
    expect(settlement.usage.toolCalls).toBe(0);
    expect(seenPrompts.at(-1)?.toolChoice).toEqual({ type: "none" });
    await expectSound(thread);
  });

  it("[CTX-14] gives one grace turn when the turns are used up", async () => {
    const look = { calls: [call("look")] };
    const settlement = await new ThreadDriver().run([look, look, { text: "enough" }], {
      agent: "frugal",
    });
    expect(settlement).toMatchObject({ outcome: "completed", exhausted: "turns" });
    expect(settlement.usage.turns).toBe(3);
  });

  it("[CTX-14] has no second grace turn: calls in it fail the run", async () => {
    const look = { calls: [call("look")] };
    const settlement = await new ThreadDriver().run([look, look, look, { text: "never" }], {
      agent: "frugal",
    });
    expect(settlement).toMatchObject({ outcome: "failed", limit: "turns" });
    expect(settlement.usage.turns).toBe(3);
  });

  it("[CTX-12] completes from the very answer that went past the token budget", async () => {
    const settlement = await new ThreadDriver().run([{ text: "long", outputTokens: 50_000 }], {
      agent: "frugal",
    });
    expect(settlement).toMatchObject({ outcome: "completed", output: "long", exhausted: "tokens" });
  });

  it("[CTX-12] rejects the batch of a response that went past the token budget", async () => {
    const settlement = await new ThreadDriver().run(
      [{ calls: [call("act")], outputTokens: 15_000 }, { text: "made do" }],
      { agent: "frugal" },
    );
    expect(settlement).toMatchObject({ outcome: "completed", exhausted: "tokens" });
    expect(settlement.usage.toolCalls).toBe(0);
  });

  it.each([
    ["turns", [{ calls: [call("look")] }, { calls: [call("look")] }, { text: "never" }]],
    ["tool-calls", [{ calls: [call("look"), call("look"), call("look")] }, { text: "never" }]],
    ["tokens", [{ calls: [call("look")], inputTokens: 20_000 }, { text: "never" }]],
  ])(
    "[CTX-15] fails on %s where onExhaustion is fail, and names the limit",
    async (limit, plan) => {
      const settlement = await new ThreadDriver().run(plan, { agent: "strict" });
      expect(settlement).toMatchObject({
        outcome: "failed",
        failure: { tag: "PolicyLimitError" },
        limit,
      });
    },
  );

  it("[RUN-07] ends a run at its deadline while the model is silent", async () => {
    const thread = new ThreadDriver();
    const settlement = await thread.run([{ gate: `${thread.threadId}-never` }], { agent: "hasty" });
    expect(settlement).toMatchObject({ outcome: "failed", limit: "duration" });
    await expectSound(thread);
  });

  it("[RUN-07] ends a run at its deadline inside an external call, which stays on record as unknown", async () => {
    const thread = new ThreadDriver();
    const gate = `${thread.threadId}-never`;
    const settlement = await thread.run([{ calls: [call("act", { behave: "deaf-gate", gate })] }], {
      agent: "hasty",
    });
    expect(settlement).toMatchObject({ outcome: "failed", limit: "duration" });
    expect(settlement.unknowns).toHaveLength(1);
    expect(await thread.operations()).toEqual([]);
    await expectSound(thread);
  });

  it("[CTX-18] bounds a result of 5 MB once, before it is recorded", async () => {
    const thread = new ThreadDriver();
    await thread.run([{ calls: [call("look", { behave: "huge" })] }, { text: "ok" }]);
    const settled = (await thread.records()).find((record) => record.type === "ToolSettled");
    expect(settled?.payload.output).toMatchObject({
      type: "json",
      value: { truncatedToolResult: true, originalBytes: 5 * 1024 * 1024 + 12 },
    });
    await expectSound(thread);
  });
});

describe("the thread's history", () => {
  it("shows earlier runs to later ones, and the same after an eviction", async () => {
    const thread = new ThreadDriver();
    await thread.run([{ calls: [call("look")] }, { text: "first answer" }]);
    await thread.run([{ text: "second answer" }]);
    await thread.run([{ text: "third answer" }]);
    const warm = seenPrompts.at(-1)?.prompt;
    const cold = new ThreadDriver();
    await cold.run([{ calls: [call("look")] }, { text: "first answer" }]);
    await cold.evict();
    await cold.run([{ text: "second answer" }]);
    await cold.evict();
    await cold.run([{ text: "third answer" }]);
    expect(seenPrompts.at(-1)?.prompt).toEqual(warm);
    expect(JSON.stringify(warm)).toContain("first answer");
    expect(JSON.stringify(warm)).toContain("second answer");
  });

  it("[CTX-28] does not replay the open batch of an aborted run, and keeps what was said before it", async () => {
    const thread = new ThreadDriver();
    const { receipt } = await thread.submit([{ calls: [call("guarded")] }], { note: "kept words" });
    await thread.waitingFor(receipt.submissionId, "approval");
    await thread.abort(receipt.submissionId);
    await thread.run([{ text: "ok" }]);
    const prompt = JSON.stringify(seenPrompts.at(-1)?.prompt);
    expect(prompt).toContain("kept words");
    expect(prompt).not.toContain('"type":"tool-call"');
    await expectSound(thread);
  });
});
