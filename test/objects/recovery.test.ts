// Attempts that are lost, abandoned, superseded or fruitless, over a real object.
import { afterEach, describe, expect, it, vi } from "vitest";
import { expectSound } from "../support/expect-sound.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

describe("taking over", () => {
  it("[REC-02, ALM-02] abandons an attempt at the event's ceiling; what it still does cannot land", async () => {
    const thread = new ThreadDriver("ceiling");
    testOptions.limits = { event: { yieldAfterMillis: 60_000, ceilingMillis: 40 } };
    const gate = `${thread.threadId}-deaf`;
    const { receipt } = await thread.submit([
      { calls: [{ tool: "act", input: { behave: "deaf-gate", gate, value: "too late" } }] },
      { text: "ok" },
    ]);
    await thread.arrival(gate);
    // The pass ends at its ceiling although the handler ignores its signal, and leaves an alarm. Looked for from outside: whoever enters the
    // object starts the next pass.
    await vi.waitUntil(async () => (await thread.dump()).due?.reason === "pass-failed");
    expect((await thread.dump()).alarm).not.toBe(null);
    await thread.runAlarms(2);
    const view = await thread.waitingFor(receipt.submissionId, "unknown-outcome");
    expect(view.state).toBe("waiting");
    const marked = await thread.dump();
    expect(marked.thread?.epoch).toBe(2);
    // Now the abandoned handler answers, in the same instance: nothing of it is written.
    await thread.openGate(gate);
    await thread.quiet();
    expect((await thread.dump()).batches).toEqual(marked.batches);
    expect(world.executions.get(`${receipt.submissionId.replace("sub", "run")}.t1.c0`)).toBe(1);
    await expectSound(thread);
  });

  it("[REC-02] refuses the commit of an attempt whose epoch was raised meanwhile, and lets the new owner go on", async () => {
    const thread = new ThreadDriver("fence");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await thread.submit([{ text: "ok", gate }]);
    await thread.arrival(gate);
    await thread.inObject((storage) => {
      storage.sql.exec("UPDATE threads SET epoch = epoch + 1");
    });
    const before = (await thread.dump()).batches;
    await thread.openGate(gate);
    await thread.quiet();
    expect((await thread.dump()).batches).toEqual(before);
    await thread.runAlarms(2);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "ok" });
    await expectSound(thread);
  });

  it("[REC-02, RUN-01] takes over at once after an eviction: no lease keeps the next attempt waiting", async () => {
    const thread = new ThreadDriver("takeover");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await thread.submit([{ calls: [{ tool: "look" }] }, { text: "ok", gate }]);
    await thread.arrival(gate);
    await thread.crash();
    await thread.resume(gate);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "ok" });
    expect((await thread.dump()).thread?.epoch).toBe(2);
    await expectSound(thread);
  });

  it("[REC-03, RUN-08] notes a model call that was lost with its attempt, repeats it, and shows its cost", async () => {
    const thread = new ThreadDriver("lost-call");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await thread.submit([{ text: "ok", gate }]);
    await thread.arrival(gate);
    await thread.crash();
    await thread.resume(gate);
    const settlement = await thread.settlement(receipt.submissionId);
    expect(settlement.usage).toMatchObject({ turns: 1, interruptedModelCalls: 1, inputTokens: 10 });
    expect((await thread.records()).map((record) => record.type)).toContain("ModelInterrupted");
    await expectSound(thread);
  });

  it("[REC-03] notes nothing where the lost attempt was in a tool, not in a model call", async () => {
    const thread = new ThreadDriver("lost-tool");
    const gate = `${thread.threadId}-tool`;
    const { receipt } = await thread.submit([
      { calls: [{ tool: "look", input: { behave: "deaf-gate", gate } }] },
      { text: "ok" },
    ]);
    await thread.arrival(gate);
    await thread.crash();
    await thread.resume(gate);
    const settlement = await thread.settlement(receipt.submissionId);
    expect(settlement.usage.interruptedModelCalls).toBe(0);
    await expectSound(thread);
  });

  it("[RUN-10] keeps a run's beginning when it is aborted after a kill, before any alarm", async () => {
    const thread = new ThreadDriver("abort-after-kill");
    const gate = `${thread.threadId}-tool`;
    const { receipt } = await thread.submit([
      { calls: [{ tool: "act", input: { behave: "deaf-gate", gate } }] },
      { text: "never" },
    ]);
    await thread.arrival(gate);
    await thread.crash();
    const first = await thread.abort(receipt.submissionId);
    expect(first.settlement).toMatchObject({ outcome: "aborted" });
    const [operationId] = first.settlement?.unknowns ?? [];
    expect((await thread.abort(receipt.submissionId)).effect).toBe("already-settled");
    expect(await thread.decide(operationId ?? "", "completed", { result: "seen" })).toBe("applied");
    await expectSound(thread);
  });

  it("[RUN-10] stops the live attempt with the commit of the abort, whatever becomes of the caller's answer", async () => {
    const thread = new ThreadDriver("abort-unanswered");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await thread.submit([{ text: "too late", gate }]);
    await thread.arrival(gate);
    world.armCrashes({ point: "abort:after", mode: "throw" });
    await expect(thread.abort(receipt.submissionId)).rejects.toThrow("Defect");
    // The model's answer finds a run that was stopped: nothing of it is written.
    await thread.openGate(gate);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "aborted" });
    expect((await thread.records()).map(({ type }) => type)).not.toContain("ModelResponded");
    await expectSound(thread);
  });

  it("[RUN-08] sums usage over attempts, from the log", async () => {
    const thread = new ThreadDriver("usage");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await thread.submit([
      { calls: [{ tool: "act" }], inputTokens: 100 },
      { text: "ok", gate, inputTokens: 200 },
    ]);
    await thread.arrival(gate);
    await thread.crash();
    const fired = thread.fireAlarm();
    await thread.arrival(gate);
    expect((await thread.submission(receipt.submissionId)).usage).toMatchObject({
      turns: 1,
      toolCalls: 1,
      inputTokens: 100,
    });
    await thread.openGate(gate);
    await fired;
    expect((await thread.settlement(receipt.submissionId)).usage).toMatchObject({
      turns: 2,
      toolCalls: 1,
      inputTokens: 300,
    });
    await expectSound(thread);
  });

  it("[RUN-11] repairs a ledger that disagrees from the log, and settles nothing twice", async () => {
    const thread = new ThreadDriver("repair");
    const { receipt } = await thread.submit([{ text: "ok" }]);
    const settlement = await thread.settlement(receipt.submissionId);
    await thread.quiet();
    await thread.inObject(async (storage) => {
      storage.sql.exec("UPDATE submissions SET outcome = NULL, settledSequence = NULL");
      storage.sql.exec("UPDATE due_queue SET dueAt = 1, revision = revision + 1");
      await storage.setAlarm(Date.parse("2036-01-01T00:00:00.000Z"));
    });
    await thread.fireAlarm();
    expect(await thread.settlement(receipt.submissionId)).toEqual(settlement);
    await expectSound(thread);
  });

  it("[RUN-07] fails a run that an attempt finds past its deadline, before any model or tool call", async () => {
    const thread = new ThreadDriver("late");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await thread.submit([{ text: "ok", gate }]);
    await thread.arrival(gate);
    await thread.crash();
    world.advance(3 * 3_600_000);
    await thread.fireAlarm();
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({
      outcome: "failed",
      limit: "duration",
    });
    expect(world.hasArrivedAt(gate)).toBe(false);
    await expectSound(thread);
  });
});

describe("fruitless attempts", () => {
  it("[REC-10] are charged before they work, and park the run after five; a person's retry leads out", async () => {
    const thread = new ThreadDriver("poison");
    let isDown = true;
    testOptions.authorize = () => (isDown ? Promise.reject(new Error("down")) : true);
    const { receipt } = await thread.submit([{ calls: [{ tool: "act" }] }, { text: "ok" }]);
    await thread.quiet();
    await thread.runAlarms(30);
    const parked = await thread.submission(receipt.submissionId);
    expect(parked.wait).toMatchObject({
      reason: "attempts-exhausted",
      deadline: null,
      attempts: 5,
    });
    expect(await thread.alarmAt()).toBe(null);
    // The first attempt made records; five after it made none.
    expect((await thread.dump()).thread?.epoch).toBe(6);
    const { submissions } = await thread.explain();
    expect(submissions[0]?.next).toContain("retry");
    // Later input is not blocked by it.
    isDown = false;
    expect((await thread.run([{ text: "later" }])).output).toBe("later");
    expect(await thread.retry(receipt.submissionId)).toBe("resumed");
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "completed" });
    expect(await thread.retry(receipt.submissionId)).toBe("not-parked");
    await expectSound(thread);
  });

  it("[REC-10] end with an abort as well", async () => {
    const thread = new ThreadDriver("poison");
    testOptions.authorize = () => Promise.reject(new Error("down"));
    const { receipt } = await thread.submit([{ calls: [{ tool: "act" }] }]);
    await thread.quiet();
    await thread.runAlarms(30);
    expect(await thread.abort(receipt.submissionId)).toMatchObject({
      settlement: { outcome: "aborted" },
    });
    await expectSound(thread);
  });

  it("[REC-10] park a run whose every attempt kills its object, whatever the cause", async () => {
    const thread = new ThreadDriver("killer");
    const { receipt } = await thread.submit([{ gate: `${thread.threadId}-never` }]);
    await thread.arrival(`${thread.threadId}-never`);
    await thread.crash();
    for (let crash = 0; crash < 5; crash += 1) {
      world.armCrashes({ point: "model:before-call", mode: "sync-abort" });
      await thread.fireAlarm().catch(() => undefined);
    }
    expect(world.disarm()).toBe(1);
    expect((await thread.submission(receipt.submissionId)).wait?.reason).toBe("attempts-exhausted");
    await expectSound(thread);
  });
});

describe("a death while a run is read", () => {
  it("[REC-10] is charged before it, and parks the run at the same five", async () => {
    const thread = new ThreadDriver("deadly");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await thread.submit([{ text: "ok", gate }]);
    await thread.arrival(gate);
    await thread.crash();
    for (let death = 0; death < 4; death += 1) {
      world.armCrashes({ point: "charge:after", mode: "sync-abort" });
      await thread.redeliverAlarm().catch(() => undefined);
      expect(world.disarm()).toBe(0);
    }
    await thread.redeliverAlarm();
    const { wait } = await thread.submission(receipt.submissionId);
    expect(wait).toMatchObject({ reason: "attempts-exhausted", attempts: 5 });
    expect(await thread.retry(receipt.submissionId)).toBe("resumed");
    await thread.arrival(gate);
    await thread.openGate(gate);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "ok" });
    await expectSound(thread);
  });
});

describe("a run that cannot be read", () => {
  it("[REC-04] is tried again for as long as it takes, charges no attempt, and an abort leads out", async () => {
    const thread = new ThreadDriver("unreadable");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await thread.submit([{ text: "ok", gate }]);
    await thread.arrival(gate);
    await thread.crash();
    await thread.inObject((storage) => {
      storage.sql.exec("UPDATE batches SET records = '{}'");
    });
    await thread.runAlarms(30);
    const { submissions } = await thread.explain();
    expect(submissions[0]?.wait).toMatchObject({ reason: "recovery-fault", attempts: 30 });
    expect(await thread.retry(receipt.submissionId)).toBe("not-parked");
    expect(await thread.abort(receipt.submissionId)).toMatchObject({
      settlement: { outcome: "aborted" },
    });
    expect(await thread.abort(receipt.submissionId)).toMatchObject({ effect: "already-settled" });
    await thread.quiet();
    expect(await thread.alarmAt()).toBeNull();
  });

  it("[REC-04] keeps later work waiting too where an earlier run cannot be read, and an abort leads out", async () => {
    const thread = new ThreadDriver("unreadable");
    await thread.run([{ text: "ok" }]);
    await thread.quiet();
    await thread.inObject((storage) => {
      storage.sql.exec("UPDATE batches SET records = '{}'");
    });
    await thread.evict();
    const { receipt } = await thread.submit([{ text: "later" }]);
    await thread.quiet();
    expect((await thread.submission(receipt.submissionId)).wait?.reason).toBe("recovery-fault");
    expect(await thread.abort(receipt.submissionId)).toMatchObject({
      settlement: { outcome: "aborted" },
    });
  });

  it("[RUN-12] fails PreparationFailed where the author's instructions do not fit a record", async () => {
    const thread = new ThreadDriver("huge");
    const { receipt } = await thread.submit([{ text: "ok" }], { agent: "broken", note: "huge" });
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({
      outcome: "failed",
      failure: { tag: "PreparationFailed" },
    });
    await expectSound(thread);
  });
});

describe("a schema whose own code throws", () => {
  it("[RUN-13, RUN-16] fails OutputInvalid after its repair turn", async () => {
    const thread = new ThreadDriver("throwing");
    const settlement = await thread.run([{ text: '"boom"' }], { agent: "throwing" });
    expect(settlement).toMatchObject({ outcome: "failed", failure: { tag: "OutputInvalid" } });
    expect(settlement.usage.turns).toBe(2);
  });
});

describe("a model that fails", () => {
  it.each(["http", "error-part", "break-off", "stall", "stall-open"] as const)(
    "[RUN-15] is called again after %s, from an alarm, with the failure in the log",
    async (how) => {
      const thread = new ThreadDriver("retry");
      const { receipt } = await thread.submit(
        [{ text: "ok", fail: { how, status: 503, times: 1 } }],
        { note: thread.threadId, agent: how.startsWith("stall") ? "impatient" : "plain" },
      );
      const waiting = await thread.waitingFor(receipt.submissionId, "retry-backoff");
      expect(waiting.wait?.deadline).not.toBe(null);
      expect(waiting.usage.failedModelCalls).toBe(1);
      await thread.runAlarms(1);
      expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "ok" });
      await expectSound(thread);
    },
  );

  it("[RUN-15] is left alone for as long as it asks, and no longer than the run has", async () => {
    for (const [seconds, waitedMillis] of [
      [120, 120_000],
      [36_000, 7_200_000],
    ]) {
      const thread = new ThreadDriver("retry");
      const headers = { "retry-after": String(seconds) };
      const { receipt } = await thread.submit([
        { text: "ok", fail: { how: "http", status: 429, times: 1, headers } },
      ]);
      const { wait } = await thread.waitingFor(receipt.submissionId, "retry-backoff");
      const waits = Date.parse(wait?.deadline ?? "") - Date.parse(wait?.since ?? "");
      expect(waits).toBe(waitedMillis);
      await thread.runAlarms(1);
      expect(await thread.settlement(receipt.submissionId)).toMatchObject(
        seconds === 120
          ? { output: "ok" }
          : { outcome: "failed", failure: { tag: "PolicyLimitError" }, limit: "duration" },
      );
      await expectSound(thread);
    }
  });

  it("[RUN-15] ends ModelFailed after modelRetries, and keeps the count across crashes", async () => {
    const thread = new ThreadDriver("retry");
    const { receipt } = await thread.submit([{ fail: { how: "http", status: 503 } }]);
    await thread.waitingFor(receipt.submissionId, "retry-backoff");
    await thread.crash();
    await thread.runAlarms(1);
    await thread.crash();
    await thread.runAlarms(1);
    const settlement = await thread.settlement(receipt.submissionId);
    expect(settlement).toMatchObject({ outcome: "failed", failure: { tag: "ModelFailed" } });
    expect(settlement.usage.failedModelCalls).toBe(3);
    expect(JSON.stringify(await thread.records())).not.toContain("secret");
    await expectSound(thread);
  });

  it.each([
    ["http", 400],
    ["http", 401],
    ["throw", undefined],
  ] as const)("[RUN-15] is not called again after %s %s", async (how, status) => {
    const thread = new ThreadDriver("retry");
    const fail = { how, ...(status === undefined ? {} : { status }) };
    const settlement = await thread.run([{ fail }]);
    expect(settlement).toMatchObject({ outcome: "failed", failure: { tag: "ModelFailed" } });
    expect(settlement.usage.failedModelCalls).toBe(1);
    expect(JSON.stringify(settlement)).not.toContain("secret");
  });

  it("repeats call ids: the second one never runs", async () => {
    const thread = new ThreadDriver("twins");
    const twin = { tool: "act", id: "same" };
    await thread.run([{ calls: [twin, twin] }, { text: "ok" }]);
    const outcomes = (await thread.records()).flatMap((record) =>
      record.type === "ToolSettled" ? [[record.payload.toolCallId, record.payload.outcome]] : [],
    );
    expect(Object.fromEntries(outcomes)).toEqual({ same: "success", "same#2": "invalid" });
    await expectSound(thread);
  });
});

describe("a tool that is gone", () => {
  it("[TOOL-11] answers unavailable where nothing was dispatched, and stays unknown where something was", async () => {
    const thread = new ThreadDriver("vanished");
    const gate = `${thread.threadId}-flight`;
    const flight = { behave: "deaf-gate", gate };
    const { receipt } = await thread.submit([
      {
        calls: [
          { tool: "bump", input: flight },
          { tool: "look", input: flight },
        ],
      },
      { text: "ok" },
    ]);
    await thread.arrival(gate);
    await thread.crash();
    // The next deployment has another toolkit: both names are gone from what the run was started with.
    await thread.inObject((storage) => {
      storage.sql.exec(
        `UPDATE batches SET records = replace(replace(records, '"toolName":"bump"', '"toolName":"was_bump"'), '"toolName":"look"', '"toolName":"was_look"')`,
      );
      storage.sql.exec(
        `UPDATE batches SET records = json_set(records, '$.records[2].payload.digests.tools', '${"0".repeat(64)}') WHERE records LIKE '%RunStarted%'`,
      );
    });
    await thread.fireAlarm();
    const view = await thread.waitingFor(receipt.submissionId, "unknown-outcome");
    expect(view.wait?.operationIds).toHaveLength(1);
    const [operation] = await thread.operations();
    expect(operation?.toolName).toBe("was_bump");
    await thread.decide(operation?.operationId ?? "", "completed", { result: "found" });
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "completed" });
    const look = (await thread.records()).find(
      (record) => record.type === "ToolSettled" && record.payload.toolName === "was_look",
    );
    expect(look?.payload).toMatchObject({ outcome: "unavailable" });
  });
});
