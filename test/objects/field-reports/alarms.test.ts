// What others' users reported about alarms, retries and start-up, as kinds of fault: each test makes the fault itself, on a real object.
//
// Report 39 (workerd 3566: alarms do not fire after a local code reload) is about the reload of a development server, which no object can
// bring about here: `npm run test:kill`, `npm run test:soak` and the demo restart the whole process, and it is their alarms that must come.
import { afterEach, describe, expect, it } from "vitest";
import type { Failpoint } from "../../../shared/failpoints.ts";
import { expectSound } from "../../support/expect-sound.ts";
import { meter } from "../../support/storage-meter.ts";
import { resetOptions, testOptions } from "../../support/test-options.ts";
import { ThreadDriver } from "../../support/thread-driver.ts";
import { world } from "../../support/world.ts";
import {
  awaitingApproval,
  backingOff,
  executionsOf,
  exhausted,
  modelCallsOf,
  submit,
  unknownOutcome,
} from "./situations.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

/** Ways for a thread to come to rest. */
const WAYS_TO_IDLE: readonly (readonly [string, () => Promise<ThreadDriver>])[] = [
  [
    "completed",
    async () => {
      const thread = new ThreadDriver("report");
      await thread.run([{ calls: [{ tool: "act" }] }, { text: "ok" }]);
      return thread;
    },
  ],
  [
    "failed",
    async () => {
      const thread = new ThreadDriver("report");
      await thread.run([{ fail: { how: "http", status: 400 } }]);
      return thread;
    },
  ],
  [
    "recovered from a crash",
    async () => {
      const thread = new ThreadDriver("report");
      world.armCrashes({ point: "turn:after", mode: "sync-abort" });
      const { receipt } = await submit(thread, [{ calls: [{ tool: "bump" }] }, { text: "ok" }]);
      await expect.poll(() => world.disarm()).toBe(0);
      await thread.toQuiescence();
      await thread.settlement(receipt.submissionId);
      return thread;
    },
  ],
  [
    "aborted while it waited for a person",
    async () => {
      const { thread, submissionId } = await awaitingApproval();
      await thread.abort(submissionId);
      return thread;
    },
  ],
  [
    "aborted while it backed off",
    async () => {
      const { thread, submissionId } = await backingOff(9);
      await thread.abort(submissionId);
      return thread;
    },
  ],
  ["parked with an unknown outcome", async () => (await unknownOutcome()).thread],
  ["parked with no attempt left", async () => (await exhausted()).thread],
  ["never written", async () => new ThreadDriver("report")],
];

describe("an object with nothing to do", () => {
  it.each(WAYS_TO_IDLE)(
    "field report 3: an idle pass leaves no alarm, and writes nothing (%s)",
    async (_way, comeToRest) => {
      const thread = await comeToRest();
      await thread.quiet();
      for (const wake of [
        () => thread.quiet(),
        () => thread.redeliverAlarm(),
        () => thread.evict(),
      ]) {
        const cost = await meter(thread, async () => {
          await wake();
          await thread.quiet();
        });
        expect(cost).toMatchObject({ rowsWritten: 0, alarmWrites: 0 });
        expect(await thread.alarmAt()).toBe(null);
      }
    },
  );
});

describe("start-up", () => {
  it("field report 5: nothing long runs in the constructor; the alarm's own event holds the run, however long, and keeps nobody out", async () => {
    const thread = new ThreadDriver("report");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await submit(thread, [{ text: "ok", gate }]);
    await thread.arrival(gate);
    await thread.crash();
    const calls = modelCallsOf(thread);
    // A read constructs the object again: it is answered, and the run has not begun in it.
    const cost = await meter(thread, () => thread.submission(receipt.submissionId));
    expect(cost.rowsWritten).toBe(0);
    expect(modelCallsOf(thread)).toBe(calls);
    let isOver = false;
    const fired = thread.fireAlarm().finally(() => {
      isOver = true;
    });
    await thread.arrival(gate);
    // Past the half minute after which a start gate is cut, the call goes on, and everybody is answered beside it.
    world.advance(5 * 60_000);
    expect((await thread.explain()).activeRun).toMatchObject({ attempt: 2 });
    expect((await thread.submission(receipt.submissionId)).state).toBe("running");
    expect(isOver).toBe(false);
    await thread.openGate(gate);
    await fired;
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "ok" });
    await expectSound(thread);
  });

  it("field report 5: waking an object costs the same however long its history is", async () => {
    const costOf = async (runs: number) => {
      const thread = new ThreadDriver("report");
      for (let run = 0; run < runs; run += 1) await thread.run([{ text: "x".repeat(1_000) }]);
      await thread.quiet();
      await thread.evict();
      return meter(thread, () => thread.inObject(() => undefined));
    };
    expect(await costOf(30)).toEqual(await costOf(1));
  });
});

/** Where an attempt dies again and again, and in the middle of which turn. */
const DEADLY: readonly (readonly [Failpoint, tool: string])[] = [
  ["charge:after", "look"],
  ["model:before-call", "look"],
  ["model:after-call", "look"],
  ["turn:inside", "look"],
  ["tool:before-handler", "look"],
  ["tool:after-handler", "look"],
  ["tool:after-handler", "bump"],
  ["results:inside", "bump"],
];

describe("a turn that kills its object every time", () => {
  it.each(DEADLY)(
    "field report 6: dying at %s of a run with %s is charged before it works, and parks the run, whatever the cause",
    async (point, tool) => {
      const thread = new ThreadDriver("report");
      const gate = `${thread.threadId}-model`;
      const plan = [{ calls: [{ tool }] }, { text: "ok" }];
      const { receipt } = await submit(thread, [{ ...plan[0], gate }, ...plan.slice(1)]);
      await thread.arrival(gate);
      await thread.crash();
      await thread.openGate(gate);
      // Far more deliveries than the cap: the platform would go on for ever.
      let deaths = 0;
      for (let delivery = 0; delivery < 15; delivery += 1) {
        world.armCrashes({ point, mode: "sync-abort" });
        await thread.redeliverAlarm().catch(() => undefined);
        deaths += world.disarm() === 0 ? 1 : 0;
        await thread.openGate(gate);
      }
      expect(deaths).toBeGreaterThan(0);
      expect(deaths).toBeLessThan(10);
      const view = await thread.submission(receipt.submissionId);
      expect(view).toMatchObject({ state: "waiting", wait: { reason: "attempts-exhausted" } });
      // Bounded in what is billed as well: one call before the first death, one per charged attempt after it.
      expect(modelCallsOf(thread)).toBeLessThan(10);
      for (const [, ran] of executionsOf(receipt.submissionId)) expect(ran).toBeLessThan(10);
      expect(await thread.alarmAt()).toBe(null);
      // A person leads it out.
      expect(await thread.retry(receipt.submissionId)).toBe("resumed");
      expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "ok" });
      await expectSound(thread);
    },
  );
});

describe("retries", () => {
  it("field report 12: are alarms with a backoff that no reset of the object eats up", async () => {
    const { thread, submissionId } = await backingOff(2);
    const waits: number[] = [];
    for (let failure = 1; failure <= 2; failure += 1) {
      const at = await thread.alarmAt();
      for (let reset = 0; reset < 5; reset += 1) {
        await thread.crash();
        // Woken by a client, long before its time: the run is not tried, and its alarm stands.
        await thread.submission(submissionId);
        await thread.quiet();
      }
      expect(modelCallsOf(thread)).toBe(failure);
      expect(await thread.alarmAt()).toBe(at);
      waits.push((at ?? 0) - world.now);
      await thread.runAlarms(1);
    }
    expect(await thread.settlement(submissionId)).toMatchObject({ output: "ok" });
    expect(waits[0]).toBeGreaterThan(0);
    expect(waits[1]).toBeGreaterThan(waits[0] ?? 0);
    expect(modelCallsOf(thread)).toBe(3);
    await expectSound(thread);
  });

  it("field report 12: of a pass that fails wait for their time too, whoever wakes the object", async () => {
    const thread = new ThreadDriver("report");
    testOptions.authorize = () => Promise.reject(new Error("down"));
    const { receipt } = await submit(thread, [{ calls: [{ tool: "act" }] }, { text: "ok" }]);
    await thread.quiet();
    const at = await thread.alarmAt();
    const { thread: charged } = await thread.dump();
    for (let reset = 0; reset < 8; reset += 1) {
      await thread.crash();
      await thread.explain();
      await thread.quiet();
    }
    expect(await thread.alarmAt()).toBe(at);
    expect((await thread.dump()).thread).toEqual(charged);
    testOptions.authorize = () => true;
    await thread.runAlarms(1);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "completed" });
    await expectSound(thread);
  });
});
