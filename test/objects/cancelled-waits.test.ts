// Waits that somebody cancels from elsewhere: before they came, while they park, and once more after that.
import { describe, expect, it } from "vitest";
import { MAX_CANCEL_HINTS, MAX_RECORD_WAITERS } from "../../shared/limits.ts";
import { unwrap } from "../../shared/wire/rpc.ts";
import { TESTER, ThreadDriver } from "../support/thread-driver.ts";

const MINUTE = 60_000;

/** A thread on which nothing runs, and calls of it by one stub, so that they arrive in their order. */
async function idleThread() {
  const thread = new ThreadDriver("cancel");
  const { receipt } = await thread.submit([{ calls: [{ tool: "guarded" }] }]);
  await thread.waitingFor(receipt.submissionId, "approval");
  const tail = (await thread.records()).length;
  const { stub } = thread;
  const address = { threadId: thread.threadId, caller: TESTER };
  return {
    tail,
    wait: async (waitId: string) =>
      unwrap(await stub.awaitProgress({ ...address, after: tail, timeoutMillis: MINUTE, waitId })),
    cancel: async (waitId: string) =>
      unwrap(await stub.cancelWait({ ...address, waitId })).cancelled,
    stub,
    of: { ...address, submissionId: receipt.submissionId },
  };
}

describe("a wait that is cancelled", () => {
  it("[OBS-07] ends within a second, and answers what is there", async () => {
    const { wait, cancel, tail } = await idleThread();
    const parked = wait("mine");
    const startedAt = performance.now();
    expect(await cancel("mine")).toBe(true);
    expect(await parked).toEqual({ tail });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it("[OBS-07] ends alone: the others go on", async () => {
    const { wait, cancel } = await idleThread();
    const waits = ["one", "two", "three"].map((waitId) => wait(waitId));
    expect(await cancel("two")).toBe(true);
    await waits[1];
    expect([await cancel("one"), await cancel("three")]).toEqual([true, true]);
    await Promise.all(waits);
  });

  it("[OBS-07] may be any wait: for progress, for a submission, for its settlement, for the outcome of new work", async () => {
    const { stub, of, cancel, tail } = await idleThread();
    const asked = (waitId: string) => ({ ...of, timeoutMillis: MINUTE, waitId });
    const { submissionId, ...address } = of;
    const submitted = stub.submit({
      ...address,
      timeoutMillis: MINUTE,
      waitId: "submit",
      idempotencyKey: "behind",
      request: { agent: "plain", input: { plan: [{ text: "ok" }] } },
    });
    const read = stub.getSubmission(asked("submission"));
    const settled = stub.awaitSettlement(asked("settlement"));
    const record = stub.awaitSettlementRecord(asked("record"));
    for (const waitId of ["submit", "submission", "settlement", "record"]) {
      expect(await cancel(waitId)).toBe(true);
    }
    expect(unwrap(await submitted)).toMatchObject({
      receipt: { queueSequence: 2 },
      submission: { state: "queued" },
    });
    expect(unwrap(await read)).toMatchObject({ submissionId, state: "waiting" });
    expect([unwrap(await settled), unwrap(await record)]).toEqual([null, null]);
    expect(tail).toBeGreaterThan(0);
  });

  it("[OBS-07] leaves places to those who wait for their work, where as many watch as may", async () => {
    const { wait, cancel, stub, of } = await idleThread();
    const waits = Array.from({ length: MAX_RECORD_WAITERS }, (_none, index) => wait(`w-${index}`));
    await expect(wait("one-too-many")).rejects.toMatchObject({ code: "Overloaded" });
    const settlement = stub.awaitSettlement({ ...of, timeoutMillis: MINUTE, waitId: "work" });
    expect(await cancel("work")).toBe(true);
    expect(unwrap(await settlement)).toBeNull();
    for (let index = 0; index < MAX_RECORD_WAITERS; index += 1) await cancel(`w-${index}`);
    await Promise.all(waits);
  });

  it("[OBS-07] leaves its place to another, also where as many wait as may", async () => {
    const { wait, cancel } = await idleThread();
    const waits = Array.from({ length: MAX_RECORD_WAITERS }, (_none, index) =>
      wait(`wait-${index}`),
    );
    await expect(wait("one-too-many")).rejects.toMatchObject({ code: "Overloaded" });
    expect(await cancel("wait-0")).toBe(true);
    const late = wait("late");
    expect(await cancel("late")).toBe(true);
    await late;
    for (let index = 1; index < MAX_RECORD_WAITERS; index += 1) await cancel(`wait-${index}`);
    await Promise.all(waits);
  });
});

describe("a cancellation that was first", () => {
  it("[OBS-07] makes the wait answer at once when it comes", async () => {
    const { wait, cancel, tail } = await idleThread();
    expect(await cancel("early")).toBe(false);
    expect(await wait("early")).toEqual({ tail });
  });

  it("[OBS-07] keeps late duplicates of the wait from parking as well, however the wait itself ended", async () => {
    const { wait, cancel, tail } = await idleThread();
    const parked = wait("repeated");
    expect(await cancel("repeated")).toBe(true);
    await parked;
    // The caller's transport had sent its wait again, and is gone.
    expect(await wait("repeated")).toEqual({ tail });
    expect(await wait("repeated")).toEqual({ tail });
    expect(await cancel("never-came")).toBe(false);
    expect(await wait("never-came")).toEqual({ tail });
    expect(await wait("never-came")).toEqual({ tail });
  });

  it("[OBS-07] is remembered among the newest 1,024, and no longer", async () => {
    expect(MAX_CANCEL_HINTS).toBe(1_024);
    const { wait, cancel, tail } = await idleThread();
    for (let hint = 0; hint <= MAX_CANCEL_HINTS; hint += 1) await cancel(`hint-${hint}`);
    // The oldest is forgotten: this one waits until it is cancelled anew.
    const parked = wait("hint-0");
    expect(await cancel("hint-0")).toBe(true);
    await parked;
    for (const hint of [2, 3, MAX_CANCEL_HINTS - 1, MAX_CANCEL_HINTS]) {
      expect(await wait(`hint-${hint}`)).toEqual({ tail });
    }
  });

  it("[OBS-07] counts from its newest repeat", async () => {
    const { wait, cancel, tail } = await idleThread();
    await cancel("often");
    for (let hint = 1; hint < MAX_CANCEL_HINTS; hint += 1) await cancel(`hint-${hint}`);
    await cancel("often");
    await cancel("one-more");
    expect(await wait("often")).toEqual({ tail });
  });
});

describe("a wait that is asked for twice", () => {
  it("[OBS-07] takes the place of the first, which ends", async () => {
    const { wait, cancel, tail } = await idleThread();
    const first = wait("same");
    const second = wait("same");
    expect(await first).toEqual({ tail });
    // The second is the one that waits.
    expect(await cancel("same")).toBe(true);
    expect(await second).toEqual({ tail });
  });

  it("[OBS-07] takes one place, however often it is repeated", async () => {
    const { wait, cancel } = await idleThread();
    const repeats = Array.from({ length: MAX_RECORD_WAITERS + 10 }, () => wait("same"));
    const other = wait("other");
    expect(await cancel("other")).toBe(true);
    await other;
    expect(await cancel("same")).toBe(true);
    await Promise.all(repeats);
  });
});
