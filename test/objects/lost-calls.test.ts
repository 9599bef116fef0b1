// Calls whose attempt was lost and that need not become a person's question: steps that are recorded, tools that find out, tools that run alone.
import { afterEach, describe, expect, it } from "vitest";
import { defineTool } from "../../shared/define/index.ts";
import { z } from "zod";
import { expectSound } from "../support/expect-sound.ts";
import type { PlannedTurn } from "../support/scripted-model.ts";
import { reconciling } from "../support/test-agents.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(() => {
  world.disarm();
  reconciling.answer = { outcome: "unknown" };
  resetOptions();
});

const call = (tool: string, input: Record<string, string> = {}): PlannedTurn => ({
  calls: [{ tool, input }],
});

const firstCallOf = (submissionId: string): string =>
  `${submissionId.replace("sub-", "run-")}.t1.c0`;

/** A run whose first call waits inside its step of that name, killed there. */
async function killedInStep(tool: string, gate: string) {
  const thread = new ThreadDriver("lost");
  const { receipt } = await thread.submit([call(tool, { behave: "steps", gate }), { text: "ok" }]);
  const operationId = firstCallOf(receipt.submissionId);
  await thread.arrival(`${operationId}/${gate}`);
  await thread.crash();
  return { thread, submissionId: receipt.submissionId, operationId };
}

const ran = (operationId: string) =>
  ["one", "two", "three"].map((name) => world.executions.get(`${operationId}/${name}`) ?? 0);

describe("steps", () => {
  it("[TOOL-03] are recorded once each, and a repeatable call goes on behind them", async () => {
    const { thread, submissionId, operationId } = await killedInStep("bump", "two");
    await thread.resume(`${operationId}/two`);
    await thread.settlement(submissionId);
    expect(ran(operationId)).toEqual([1, 2, 1]);
    const steps = (await thread.records()).filter(({ type }) => type === "StepRecorded");
    expect(steps).toMatchObject([
      { payload: { step: "one", output: "one!", operationId } },
      { payload: { step: "two", output: "two!" } },
      { payload: { step: "three", output: "three!" } },
    ]);
    const result = (await thread.records()).find(({ type }) => type === "ToolSettled");
    expect(result).toMatchObject({ payload: { output: { value: { value: "one! two! three!" } } } });
    await expectSound(thread);
  });

  it("[TOOL-03] an external call is not entered again, whatever of it is recorded", async () => {
    const { thread, submissionId, operationId } = await killedInStep("act", "two");
    await thread.runAlarms(1, 60_000);
    await thread.waitingFor(submissionId, "unknown-outcome");
    expect(ran(operationId)).toEqual([1, 1, 0]);
    // A person's leave enters it again, and what is recorded is not done again.
    await thread.decide(operationId, "safe-to-retry");
    await thread.arrival(`${operationId}/two`);
    await thread.openGate(`${operationId}/two`);
    await thread.settlement(submissionId);
    expect(ran(operationId)).toEqual([1, 2, 1]);
    await expectSound(thread);
  });

  it("[TOOL-03] a resumable call that was lost inside a step stays unknown", async () => {
    const { thread, submissionId, operationId } = await killedInStep("resume", "two");
    await thread.runAlarms(1, 60_000);
    await thread.waitingFor(submissionId, "unknown-outcome");
    expect(ran(operationId)).toEqual([1, 1, 0]);
    await thread.abort(submissionId);
    await expectSound(thread);
  });

  it.each(["step:after", "tool:after-handler", "intents:after"] as const)(
    "[TOOL-03] a resumable call that was lost between its steps (%s) goes on behind them",
    async (point) => {
      const thread = new ThreadDriver("lost");
      const plan = [call("resume", { behave: "steps" }), { text: "ok" }];
      // Of the start of a step and its end, the fourth commit is the end of the second.
      world.armCrashes({ point, mode: "sync-abort", hit: point === "step:after" ? 4 : 1 });
      await thread.submit(plan, { key: "k" }).catch(() => undefined);
      await thread.toQuiescence();
      const { receipt } = await thread.submit(plan, { key: "k" });
      expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "ok" });
      expect(world.disarm()).toBe(0);
      expect(ran(firstCallOf(receipt.submissionId))).toEqual([1, 1, 1]);
      await expectSound(thread);
    },
  );

  it.each([
    ["bump", [1, 2, 1]],
    ["resume", [1, 1, 0]],
  ] as const)(
    "[TOOL-03] a step of %s that could not be recorded is no failure of the call: its attempt ends",
    async (tool, counts) => {
      const thread = new ThreadDriver("lost");
      // Of a resumable call each step is two commits: the result of the second is the fourth.
      world.armCrashes({ point: "step:inside", mode: "throw", hit: tool === "resume" ? 4 : 2 });
      const { receipt } = await thread.submit([call(tool, { behave: "steps" }), { text: "ok" }]);
      await thread.toQuiescence();
      expect(world.disarm()).toBe(0);
      const { submissionId } = receipt;
      const operationId = firstCallOf(submissionId);
      if (tool === "resume") {
        await thread.waitingFor(submissionId, "unknown-outcome");
        await thread.abort(submissionId);
      } else {
        await thread.settlement(submissionId);
      }
      expect(ran(operationId)).toEqual(counts);
      const outcomes = (await thread.records()).flatMap((record) =>
        record.type === "ToolSettled" ? [record.payload.outcome] : [],
      );
      expect(outcomes).not.toContain("failure");
      await expectSound(thread);
    },
  );

  it.each([
    ["same-step", "two steps of one call are named one"],
    ["bad-step", "step one returned what is not JSON"],
  ])("[TOOL-03] fails a call that misuses them: %s", async (behave, says) => {
    const thread = new ThreadDriver("lost");
    await thread.run([call("look", { behave }), { text: "ok" }]);
    const result = (await thread.records()).find(({ type }) => type === "ToolSettled");
    expect(result).toMatchObject({
      payload: { outcome: "failure", output: { value: expect.stringContaining(says) } },
    });
    await expectSound(thread);
  });
});

describe("a tool that finds out", () => {
  /** A call that ran outside and whose result was lost. */
  async function lost(answer: typeof reconciling.answer) {
    reconciling.answer = answer;
    const thread = new ThreadDriver("lost");
    world.armCrashes({ point: "tool:after-handler", mode: "sync-abort" });
    const plan = [call("sought"), { text: "ok" }];
    await thread.submit(plan, { key: "k" }).catch(() => undefined);
    await thread.quiet().catch(() => undefined);
    const { receipt } = await thread.submit(plan, { key: "k" });
    const { submissionId } = receipt;
    return { thread, submissionId, operationId: firstCallOf(submissionId) };
  }

  it("[TOOL-02] settles the call with the result that it found, and runs nothing again", async () => {
    const { thread, submissionId, operationId } = await lost({
      outcome: "completed",
      result: { value: "found" },
    });
    await thread.toQuiescence();
    expect(await thread.settlement(submissionId)).toMatchObject({ output: "ok" });
    expect(world.executions.get(operationId)).toBe(1);
    const types = (await thread.records()).map(({ type }) => type);
    expect(types).toContain("ToolUnknown");
    const records = await thread.records();
    expect(records.find(({ type }) => type === "OperationDecided")).toMatchObject({
      payload: { decision: "completed", by: "reconcile" },
    });
    expect(records.find(({ type }) => type === "ToolSettled")).toMatchObject({
      payload: { by: "reconcile", outcome: "success", output: { value: { value: "found" } } },
    });
    await expectSound(thread);
  });

  it("[TOOL-02] lets the call run that never started", async () => {
    const { thread, submissionId, operationId } = await lost({ outcome: "never-started" });
    await thread.toQuiescence();
    expect(await thread.settlement(submissionId)).toMatchObject({ output: "ok" });
    expect(world.executions.get(operationId)).toBe(2);
    await expectSound(thread);
  });

  it("[TOOL-02] leaves to a person what it cannot tell", async () => {
    const { thread, submissionId, operationId } = await lost({ outcome: "unknown" });
    await thread.toQuiescence();
    await thread.waitingFor(submissionId, "unknown-outcome");
    await thread.decide(operationId, "failed");
    await thread.settlement(submissionId);
    await expectSound(thread);
  });

  it("[TOOL-02, REC-10] is asked again while it fails, and the run parked after five", async () => {
    const { thread, submissionId, operationId } = await lost("fails");
    await thread.runAlarms(10, 60_000);
    await thread.waitingFor(submissionId, "attempts-exhausted");
    expect((await thread.records()).some(({ type }) => type === "ToolUnknown")).toBe(false);
    reconciling.answer = { outcome: "completed", result: { value: "found" } };
    await thread.retry(submissionId);
    await thread.toQuiescence();
    expect(await thread.settlement(submissionId)).toMatchObject({ output: "ok" });
    expect(world.executions.get(operationId)).toBe(1);
    await expectSound(thread);
  });

  it("[TOOL-02] that answers what it must not is a failure of the call, not of the run", async () => {
    const { thread, submissionId } = await lost({
      outcome: "completed",
      result: { wrong: true },
    });
    await thread.toQuiescence();
    expect(await thread.settlement(submissionId)).toMatchObject({ output: "ok" });
    const result = (await thread.records()).find(({ type }) => type === "ToolSettled");
    expect(result).toMatchObject({ payload: { by: "reconcile", outcome: "failure" } });
    await expectSound(thread);
  });

  it("[TOOL-02, TOOL-08] is asked about a call that did not answer in time, too", async () => {
    const thread = new ThreadDriver("lost");
    const plan = [call("hasty_sought", { behave: "honour-signal" }), { text: "ok" }];
    const { receipt } = await thread.submit(plan);
    const view = await thread.waitingFor(receipt.submissionId, "unknown-outcome");
    const [operationId = ""] = view.wait?.operationIds ?? [];
    const unknown = (await thread.records()).find(({ type }) => type === "ToolUnknown");
    expect(unknown).toMatchObject({ payload: { reason: "timeout", operationId } });
    await thread.decide(operationId, "completed", { result: "seen" });
    await thread.settlement(receipt.submissionId);
    await expectSound(thread);
  });

  /** A resumable call whose first handler outlives its timeout, between two steps. */
  async function outlived(answer: "unknown" | "never-started") {
    const entered: Promise<unknown>[] = [];
    const lingering = defineTool({
      name: "lingering",
      revision: 1,
      description: "Does not hear that its time is up.",
      input: z.object({}),
      resumable: true,
      timeout: "30 milliseconds",
      execute: async (_input, { step, idempotencyKey }) => {
        const entry = entered.length + 1;
        const { promise, resolve } = Promise.withResolvers<unknown>();
        entered.push(promise);
        await step("one", () => "one!");
        if (entry === 1) await world.passGate(`${idempotencyKey}/late`);
        else {
          world.openGate(`${idempotencyKey}/late`);
          await entered[0];
        }
        // Says what became of it to the test: its caller is gone.
        const two = step("two", () => `by ${entry}`);
        resolve(two.catch((error: unknown) => error));
        return await two;
      },
      reconcile: () => ({ outcome: answer }),
    });
    testOptions.agents = (all) =>
      all.map((agent) =>
        agent.id === "plain" ? { ...agent, tools: [...agent.tools, lingering] } : agent,
      );
    const thread = new ThreadDriver("lost");
    const { receipt } = await thread.submit([call("lingering"), { text: "ok" }]);
    const { submissionId } = receipt;
    return { thread, submissionId, late: `${firstCallOf(submissionId)}/late`, entered };
  }

  it("[TOOL-02, TOOL-03, TOOL-08] is asked about a resumable call that did not answer in time, which is not entered again beside itself", async () => {
    const { thread, submissionId, late, entered } = await outlived("unknown");
    await thread.waitingFor(submissionId, "unknown-outcome");
    expect(entered).toHaveLength(1);
    await thread.openGate(late);
    expect(await entered[0]).toBeInstanceOf(Error);
    await thread.abort(submissionId);
    await expectSound(thread);
  });

  it("[TOOL-03, TOOL-08] a handler that outlived its timeout records nothing beside the next dispatch of its call", async () => {
    const { thread, submissionId, entered } = await outlived("never-started");
    await thread.settlement(submissionId);
    expect(await entered[0]).toBeInstanceOf(Error);
    expect(await entered[1]).toBe("by 2");
    const steps = (await thread.records()).filter(({ type }) => type === "StepRecorded");
    expect(steps.at(-1)).toMatchObject({
      payload: { step: "two", dispatch: 2, output: "by 2" },
    });
    await expectSound(thread);
  });

  it("[TOOL-02] whose deployment is gone does not answer: the call is unknown", async () => {
    const { thread, submissionId } = await lost("fails");
    reconciling.answer = { outcome: "never-started" };
    testOptions.agents = (all) =>
      all.map((agent) =>
        agent.id === "plain"
          ? { ...agent, tools: agent.tools.filter(({ name }) => name !== "sought") }
          : agent,
      );
    await thread.crash();
    await thread.toQuiescence();
    await thread.waitingFor(submissionId, "unknown-outcome");
    await expectSound(thread);
  });
});

describe("an exclusive tool", () => {
  it("[RUN-05] runs while nothing else of its batch does", async () => {
    const thread = new ThreadDriver("lost");
    const gates = ["before", "alone", "after"].map((name) => `${thread.threadId}-${name}`);
    const [before = "", alone = "", after = ""] = gates;
    const at = (tool: string, gate: string) => ({ tool, input: { behave: "gate", gate } });
    const calls = [at("look", before), at("alone", alone), at("bump", after)];
    const { receipt } = await thread.submit([{ calls }, { text: "ok" }]);
    const arrived = () => gates.map((gate) => world.hasArrivedAt(gate));
    await thread.arrival(before);
    expect(arrived()).toEqual([true, false, false]);
    await thread.openGate(before);
    await thread.arrival(alone);
    expect(arrived()).toEqual([true, true, false]);
    await thread.openGate(alone);
    await thread.arrival(after);
    await thread.openGate(after);
    await thread.settlement(receipt.submissionId);
    await expectSound(thread);
  });
});

describe("defining a tool", () => {
  const define = (more: object) =>
    defineTool({
      name: "t",
      revision: 1,
      description: "d",
      input: z.object({}),
      execute: () => null,
      ...more,
    });

  it.each([
    [{ effect: "read", resumable: true }, "resumable"],
    [{ effect: "idempotent", reconcile: () => ({ outcome: "unknown" }) }, "reconcile"],
  ])("[TOOL-02, TOOL-03, UX-04] refuses %j, which would never be used", (more, field) => {
    expect(() => define(more)).toThrow(new RegExp(`${field}: only of an external tool`));
  });
});
