// The one alarm: armed with the work, quiet when nothing is owed, and never lost.
import { afterEach, describe, expect, it } from "vitest";
import { expectSound } from "../support/expect-sound.ts";
import { meter } from "../support/storage-meter.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

describe("the alarm", () => {
  it("[ALM-06] is not needed for a run to start: admission starts it", async () => {
    const thread = new ThreadDriver("alarm");
    expect((await thread.run([{ text: "ok" }])).output).toBe("ok");
  });

  it("[ALM-01, ALM-07] is armed in the admission's own transaction, so that it alone brings the work to its end", async () => {
    const thread = new ThreadDriver("alarm");
    world.armCrashes({ point: "submit:after", mode: "sync-abort" });
    await expect(thread.submit([{ text: "ok" }], { key: "k" })).rejects.toThrow();
    expect(await thread.alarmAt()).toBe(world.now);
    expect(await thread.fireAlarm()).toBe(true);
    const { receipt, replayed } = await thread.submit([{ text: "ok" }], { key: "k" });
    expect(replayed).toBe(true);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "ok" });
    await expectSound(thread);
  });

  it("[ALM-01] is neither armed nor enrolled by an admission that rolled back", async () => {
    const thread = new ThreadDriver("alarm");
    world.armCrashes({ point: "submit:inside", mode: "throw" });
    await expect(thread.submit([{ text: "ok" }])).rejects.toThrow();
    expect(await thread.alarmAt()).toBe(null);
    expect((await thread.dump()).submissions).toEqual([]);
  });

  it("[ALM-04, ALM-07] is armed again at its stored time by whatever wakes the object, from scheduling state alone", async () => {
    const thread = new ThreadDriver("alarm");
    const { receipt } = await thread.submit([{ calls: [{ tool: "guarded" }] }]);
    const waiting = await thread.waitingFor(receipt.submissionId, "approval");
    await thread.quiet();
    await thread.inObject((storage) => storage.deleteAlarm());
    await thread.evict();
    const cost = await meter(thread, () => thread.submission(receipt.submissionId));
    expect(await thread.alarmAt()).toBe(Date.parse(waiting.wait?.deadline ?? ""));
    expect(cost.alarmWrites).toBe(1);
    await thread.abort(receipt.submissionId);
  });

  it("[ALM-05] is absent from an idle object, and from one that only parked work is left in", async () => {
    const thread = new ThreadDriver("alarm");
    const gate = `${thread.threadId}-flight`;
    const { receipt } = await thread.submit([
      { calls: [{ tool: "act", input: { behave: "deaf-gate", gate } }] },
    ]);
    await thread.arrival(gate);
    await thread.crash();
    await thread.runAlarms();
    await thread.waitingFor(receipt.submissionId, "unknown-outcome");
    expect(await thread.alarmAt()).toBe(null);
    await thread.run([{ text: "later" }]);
    await thread.quiet();
    expect(await thread.alarmAt()).toBe(null);
  });

  it("[ALM-03] backs off with a pass that fails, keeps its work, and never throws", async () => {
    const thread = new ThreadDriver("alarm");
    let isDown = true;
    testOptions.authorize = () => (isDown ? Promise.reject(new Error("down")) : true);
    const { receipt } = await thread.submit([{ calls: [{ tool: "act" }] }, { text: "ok" }]);
    await thread.quiet();
    const delays: number[] = [];
    for (let failure = 0; failure < 3; failure += 1) {
      const at = await thread.alarmAt();
      delays.push((at ?? 0) - world.now);
      world.advanceTo(at ?? 0);
      await thread.fireAlarm();
    }
    // 100 ms doubled per failure, three quarters of it with the test's jitter.
    expect(delays).toEqual([75, 150, 300]);
    isDown = false;
    await thread.runAlarms(2);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "completed" });
    await expectSound(thread);
  });

  it("[ALM-03] ends the incarnation when even the re-arm cannot be committed, and the next one goes on", async () => {
    const thread = new ThreadDriver("alarm");
    testOptions.authorize = () => Promise.reject(new Error("down"));
    world.armCrashes({ point: "rearm:inside", mode: "throw" });
    const { receipt } = await thread.submit([{ calls: [{ tool: "act" }] }, { text: "ok" }]);
    await expect.poll(() => world.disarm()).toBe(0);
    testOptions.authorize = () => true;
    await expect.poll(() => thread.fireAlarm().catch(() => false)).toBe(true);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "completed" });
    await expectSound(thread);
  });

  it.each(["fails", "yields"] as const)(
    "[ALM-01, ALM-03] stays armed when a pass %s whose alarm was used up while newer work came",
    async (how) => {
      const thread = new ThreadDriver("used-up");
      const gate = `${thread.threadId}-tool`;
      if (how === "yields") {
        testOptions.limits = { event: { yieldAfterMillis: 10, ceilingMillis: 60_000 } };
      } else {
        testOptions.authorize = ({ toolName }) =>
          toolName === "bump" ? Promise.reject(new Error("down")) : true;
      }
      await thread.submit([
        { calls: [{ tool: "act", input: { behave: "gate", gate } }] },
        { calls: [{ tool: "bump" }] },
        { text: "ok" },
      ]);
      await thread.arrival(gate);
      await thread.submit([{ text: "newer" }]);
      // The one alarm joins the running pass, and is gone from the slot.
      const joined = thread.fireAlarm();
      await expect.poll(() => thread.alarmAt()).toBe(null);
      world.advance(20);
      await thread.openGate(gate);
      await joined;
      const { due, alarm } = await thread.dump();
      expect(due?.dueAt).not.toBe(null);
      expect(alarm).toBe(due?.dueAt);
      testOptions.authorize = () => true;
      await thread.runAlarms();
      await expectSound(thread);
    },
  );

  it("[ALM-03, REC-10] keeps a failed wave's backoff through newer submissions, which only a control cuts short", async () => {
    const thread = new ThreadDriver("backoff");
    testOptions.authorize = () => Promise.reject(new Error("down"));
    const { receipt } = await thread.submit([{ calls: [{ tool: "act" }] }, { text: "ok" }]);
    await thread.quiet();
    const at = await thread.alarmAt();
    expect(at).toBe(world.now + 75);
    for (let more = 0; more < 5; more += 1) await thread.submit([{ text: "more" }]);
    await thread.quiet();
    expect(await thread.alarmAt()).toBe(at);
    expect((await thread.dump()).thread?.epoch).toBe(1);
    testOptions.authorize = () => true;
    await thread.abort(receipt.submissionId);
    await thread.quiet();
    expect((await thread.explain()).state).toBe("idle");
    await expectSound(thread);
  });

  it("[ALM-03] never lets a finishing pass acknowledge work that came meanwhile", async () => {
    const thread = new ThreadDriver("alarm");
    const gate = `${thread.threadId}-first`;
    const first = await thread.submit([{ text: "first", gate }]);
    await thread.arrival(gate);
    const second = await thread.submit([{ text: "second" }]);
    await thread.openGate(gate);
    await thread.settlement(first.receipt.submissionId);
    expect(await thread.settlement(second.receipt.submissionId)).toMatchObject({
      output: "second",
    });
    await expectSound(thread);
  });

  it("[ALM-02, ALM-09] yields at the event's deadline with the turn committed, and a later alarm goes on", async () => {
    const thread = new ThreadDriver("yield");
    testOptions.limits = { event: { yieldAfterMillis: 10, ceilingMillis: 60_000 } };
    const gate = `${thread.threadId}-tool`;
    const { receipt } = await thread.submit([
      { calls: [{ tool: "act", input: { behave: "gate", gate } }] },
      { text: "ok" },
    ]);
    await thread.arrival(gate);
    world.advance(20);
    await thread.openGate(gate);
    await expect.poll(async () => (await thread.dump()).due?.reason).toBe("yield");
    const yielded = await thread.dump();
    expect(yielded.due).toMatchObject({ reason: "yield", dueAt: world.now });
    expect(yielded.records.at(-1)?.type).toBe("ToolSettled");
    expect((await thread.submission(receipt.submissionId)).state).toBe("running");
    await thread.fireAlarm();
    const settlement = await thread.settlement(receipt.submissionId);
    expect(settlement.output).toBe("ok");
    // It ended in order: no model call was lost.
    expect(settlement.usage.interruptedModelCalls).toBe(0);
    await expectSound(thread);
  });

  it("[ALM-08] polls nothing: a waiting object is silent until its deadline, and reads no payload to know it", async () => {
    const thread = new ThreadDriver("quiet");
    const { receipt } = await thread.submit([{ calls: [{ tool: "guarded" }] }]);
    await thread.waitingFor(receipt.submissionId, "approval");
    await thread.quiet();
    const at = await thread.alarmAt();
    const cost = await meter(thread, () => thread.quiet());
    expect(await thread.alarmAt()).toBe(at);
    expect(cost.rowsRead).toBeLessThan(10);
    await thread.abort(receipt.submissionId);
  });

  it("[ALM-09] holds every wait as a reason and a due time", async () => {
    const thread = new ThreadDriver("due");
    const { receipt } = await thread.submit([{ fail: { how: "http", status: 503 } }]);
    const waiting = await thread.waitingFor(receipt.submissionId, "retry-backoff");
    await thread.quiet();
    const { due } = await thread.dump();
    expect(due).toEqual({
      reason: "retry-backoff",
      dueAt: Date.parse(waiting.wait?.deadline ?? ""),
    });
    await thread.runAlarms();
  });

  it("fires early, late or twice without harm", async () => {
    const thread = new ThreadDriver("spurious");
    const { receipt } = await thread.submit([{ calls: [{ tool: "guarded" }] }, { text: "ok" }]);
    await thread.waitingFor(receipt.submissionId, "approval");
    const before = (await thread.dump()).batches;
    await Promise.all([thread.quiet(), thread.quiet(), thread.quiet()]);
    expect((await thread.dump()).batches).toEqual(before);
    const [operation] = await thread.operations();
    await thread.decide(operation?.operationId ?? "", "approve");
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "completed" });
    await expectSound(thread);
  });
});
