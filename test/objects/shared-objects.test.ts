// Several threads in one object: each keeps its own promises, two run at once, all take turns, and a bad one is in nobody's way.
import { afterEach, describe, expect, it } from "vitest";
import type { SubmitResult } from "../../shared/wire/submission.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

let objects = 0;

/** Threads that the deployment's placement puts into one object. */
function together(count: number): ThreadDriver[] {
  objects += 1;
  const placedIn = `room-${objects}`;
  testOptions.placement = () => placedIn;
  return Array.from({ length: count }, () => new ThreadDriver("placed", placedIn));
}

const idOf = ({ receipt }: SubmitResult): string => receipt.submissionId;

async function numbersOf(thread: ThreadDriver): Promise<unknown[]> {
  return thread.inObject(({ sql }) =>
    sql
      .exec("SELECT number, threadId FROM threads ORDER BY number")
      .toArray()
      .map(({ number, threadId }) => [number, threadId]),
  );
}

describe("threads of one object", () => {
  it("[HOST-01] have each their own log, queue, keys and lane", async () => {
    const [one, two, three] = together(3);
    if (one === undefined || two === undefined || three === undefined) throw new Error("three");
    for (const thread of [one, two, three]) {
      await thread.run([{ calls: [{ tool: "act" }] }, { text: thread.threadId }], { key: "same" });
    }
    expect(await numbersOf(one)).toEqual([
      [1, one.threadId],
      [2, two.threadId],
      [3, three.threadId],
    ]);
    for (const thread of [one, two, three]) {
      const records = await thread.records();
      expect(records.map(({ sequence }) => sequence)).toEqual(records.map((_, index) => index + 1));
      expect(records[0]).toMatchObject({ payload: { threadId: thread.threadId } });
      const { submissions } = await thread.list();
      expect(submissions.map(({ queueSequence }) => queueSequence)).toEqual([1]);
      const { settlement } = await thread.submission(submissions[0]?.submissionId ?? "");
      expect(settlement).toMatchObject({ output: thread.threadId });
      expect(await thread.check()).toMatchObject({ fault: null, tail: records.length });
    }
    await one.quiet();
    expect(await one.alarmAt()).toBeNull();
  });

  it("[HOST-01] are checked against the thread that an operation names", async () => {
    const [one, two, never] = together(3);
    const { receipt } = (await one?.submit([{ text: "one" }])) ?? {};
    await two?.run([{ text: "two" }]);
    await expect(never?.view()).rejects.toMatchObject({ code: "ThreadNotFound" });
    await expect(two?.submission(receipt?.submissionId ?? "")).rejects.toMatchObject({
      code: "SubmissionNotFound",
    });
    await one?.settlement(receipt?.submissionId ?? "");
  });

  it("[HOST-01, ALM-02] run two at once, and the third when one of them ends", async () => {
    const threads = together(3);
    const gates = threads.map(({ threadId }) => `${threadId}-model`);
    const submitted = await Promise.all(
      threads.map((thread, index) => thread.submit([{ text: "ok", gate: gates[index] ?? "" }])),
    );
    const [first = "", second = "", third = ""] = gates;
    await threads[0]?.arrival(first);
    await threads[1]?.arrival(second);
    expect(world.hasArrivedAt(third)).toBe(false);
    expect((await threads[2]?.explain())?.submissions[0]?.state).toBe("queued");
    await threads[0]?.openGate(first);
    await threads[2]?.arrival(third);
    await threads[0]?.openGate(second, third);
    for (const [index, thread] of threads.entries()) {
      const result = submitted[index];
      if (result === undefined) throw new Error("submitted");
      expect(await thread.settlement(idOf(result))).toMatchObject({ output: "ok" });
    }
  });

  it("[HOST-01] take turns: a long queue of one starves no other, before and after an eviction", async () => {
    const [busy, other] = together(2);
    if (busy === undefined || other === undefined) throw new Error("two");
    await busy.run([{ text: "first" }]);
    await other.run([{ text: "first" }]);
    await busy.quiet();
    const order: string[] = [];
    testOptions.authorize = ({ threadId }) => order.push(threadId) > 0;
    // Everything is admitted while the alarm has not come: nothing has run.
    const plan = [{ calls: [{ tool: "look" }] }, { text: "ok" }];
    const keys = ["1", "2", "3", "4"];
    world.armCrashes({ point: "submit:after", mode: "sync-abort" });
    await busy.submit(plan, { key: "1" }).catch(() => undefined);
    world.armCrashes({ point: "claim:before", mode: "sync-abort" });
    const receipts = [];
    for (const key of keys) {
      receipts.push(await busy.submit(plan, { key }).catch(() => busy.submit(plan, { key })));
    }
    const last = await other.submit(plan, { key: "1-other" });
    await busy.toQuiescence();
    await other.settlement(idOf(last));
    for (const receipt of receipts) await busy.settlement(idOf(receipt));
    // At most the heads that were under way come before it.
    expect(order.indexOf(other.threadId)).toBeLessThan(order.length - 1);
    expect(order).toHaveLength(5);
  });

  it("[HOST-01, REC-04, REC-06] one that cannot be read blocks nobody", async () => {
    const [bad, good] = together(2);
    if (bad === undefined || good === undefined) throw new Error("two");
    await bad.run([{ text: "fine" }]);
    await good.run([{ text: "fine" }]);
    await bad.quiet();
    await bad.inObject(({ sql }) => {
      sql.exec("UPDATE batches SET records = '{}' WHERE position < 2 * 4294967296");
    });
    await bad.evict();
    const stuck = await bad.submit([{ text: "stuck" }]);
    await bad.quiet();
    expect(await bad.view()).toMatchObject({ state: "faulted" });
    expect(await good.view()).toMatchObject({ state: "idle" });
    expect(await good.run([{ text: "goes on" }])).toMatchObject({ output: "goes on" });
    await good.quiet();
    const due = await bad.alarmAt();
    expect((due ?? 0) - world.now).toBe(5_000);
    await bad.runAlarms(2, 60_000);
    expect((await bad.view()).fault).toMatchObject({ attempts: 3 });
    expect(await bad.abort(idOf(stuck))).toMatchObject({ settlement: { outcome: "aborted" } });
  });

  it("[HOST-01, ALM-03] one whose every attempt fails backs off by itself, and is parked by itself", async () => {
    const [bad, good] = together(2);
    if (bad === undefined || good === undefined) throw new Error("two");
    testOptions.authorize = ({ threadId }) => {
      if (threadId === bad.threadId) throw new Error("the authorizer is down for it");
      return true;
    };
    const plan = [{ calls: [{ tool: "act" }] }, { text: "ok" }];
    const failing = await bad.submit(plan);
    expect(await good.run(plan)).toMatchObject({ output: "ok" });
    await good.runAlarms(20, 60_000);
    expect((await bad.submission(idOf(failing))).wait?.reason).toBe("attempts-exhausted");
    expect(await good.run(plan)).toMatchObject({ output: "ok" });
    await bad.abort(idOf(failing));
  });

  it("[HOST-01] survive a crash and an eviction together", async () => {
    const threads = together(3);
    const gates = threads.map(({ threadId }) => `${threadId}-model`);
    const submitted = await Promise.all(
      threads.map((thread, index) => thread.submit([{ text: "ok", gate: gates[index] ?? "" }])),
    );
    await threads[0]?.arrival(gates[0] ?? "");
    await threads[0]?.crash();
    const fired = threads[0]?.fireAlarm();
    for (const [index, thread] of threads.entries()) {
      await thread.arrival(gates[index] ?? "");
      await thread.openGate(gates[index] ?? "");
    }
    await fired;
    for (const [index, thread] of threads.entries()) {
      const result = submitted[index];
      if (result === undefined) throw new Error("submitted");
      expect(await thread.settlement(idOf(result))).toMatchObject({ output: "ok" });
      expect(await thread.check()).toMatchObject({ fault: null });
    }
  });

  it("[HOST-01, OBS-06] are deleted one by one", async () => {
    const [gone, stays] = together(2);
    await gone?.run([{ text: "gone" }]);
    await stays?.run([{ text: "stays" }]);
    await gone?.delete();
    await gone?.toQuiescence();
    expect(await gone?.view()).toMatchObject({ state: "deleted" });
    expect(await stays?.check()).toMatchObject({ fault: null, tail: 5 });
    expect(await stays?.run([{ text: "more" }])).toMatchObject({ output: "more" });
  });
});

describe("a changed placement", () => {
  it("[HOST-01] makes no empty twin: the object that does not own the thread refuses it", async () => {
    const [thread] = together(1);
    if (thread === undefined) throw new Error("one");
    await thread.run([{ text: "ok" }]);
    testOptions.ownsThread = (_threadId, objectName) => objectName !== "elsewhere";
    testOptions.placement = () => "elsewhere";
    const twin = new ThreadDriver("placed", "elsewhere");
    await expect(twin.submit([{ text: "twin" }])).rejects.toMatchObject({
      code: "Unavailable",
      fields: { reason: "placement" },
    });
    await expect(twin.view()).rejects.toMatchObject({ code: "ThreadNotFound" });
  });

  it("[HOST-01] without a placement an object holds one thread, and takes in no other", async () => {
    const thread = new ThreadDriver("placed", "alone");
    await thread.run([{ text: "ok" }]);
    const other = new ThreadDriver("placed", "alone");
    await expect(other.submit([{ text: "other" }])).rejects.toMatchObject({
      code: "ThreadNotFound",
    });
  });
});
