// Reading a thread and waiting for it to grow.
import { describe, expect, it } from "vitest";
import { unwrap } from "../../shared/wire/rpc.ts";
import { TESTER, ThreadDriver } from "../support/thread-driver.ts";

describe("pages", () => {
  it("[OBS-01] are contiguous from any cursor, and end at the tail", async () => {
    const thread = new ThreadDriver("pages");
    await thread.run([{ calls: [{ tool: "look" }, { tool: "act" }] }, { text: "ok" }]);
    const all = await thread.records();
    const address = { threadId: thread.threadId, caller: TESTER };
    for (let after = 0; after <= all.length; after += 1) {
      const page = unwrap(await thread.stub.readPage({ ...address, page: { after, limit: 3 } }));
      expect(page.records).toEqual(all.slice(after, after + 3));
      expect(page).toMatchObject({ next: Math.min(after + 3, all.length), tail: all.length });
    }
    const beyond = unwrap(await thread.stub.readPage({ ...address, page: { after: 999 } }));
    expect(beyond).toEqual({ records: [], next: all.length, tail: all.length });
    const some = unwrap(
      await thread.stub.readPage({ ...address, page: { types: ["ToolSettled"] } }),
    );
    expect(some.records.map((record) => record.type)).toEqual(["ToolSettled", "ToolSettled"]);
    expect(some.next).toBe(all.length);
  });
});

describe("waits", () => {
  it("[OBS-01] wake when a record past the cursor commits, and at once when one is there", async () => {
    const thread = new ThreadDriver("waits");
    const address = { threadId: thread.threadId, caller: TESTER };
    await thread.run([{ text: "first" }]);
    const { tail } = unwrap(
      await thread.stub.awaitProgress({ ...address, after: 0, timeoutMillis: 60_000 }),
    );
    expect(tail).toBe(5);
    const woken = thread.stub.awaitProgress({ ...address, after: 5, timeoutMillis: 60_000 });
    await thread.run([{ text: "second" }]);
    expect(unwrap(await woken).tail).toBeGreaterThan(5);
  });

  it("[OBS-01] free their place when the caller cancels, and after their timeout", async () => {
    const thread = new ThreadDriver("waits");
    const address = { threadId: thread.threadId, caller: TESTER };
    await thread.run([{ text: "ok" }]);
    const parked = thread.stub.awaitProgress({
      ...address,
      after: 5,
      timeoutMillis: 60_000,
      waitId: "mine",
    });
    await expect
      .poll(async () => unwrap(await thread.stub.cancelWait({ ...address, waitId: "mine" })))
      .toEqual({ cancelled: true });
    expect(unwrap(await parked)).toEqual({ tail: 5 });
    const short = await thread.stub.awaitProgress({ ...address, after: 5, timeoutMillis: 1 });
    expect(unwrap(short)).toEqual({ tail: 5 });
    expect(unwrap(await thread.stub.cancelWait({ ...address, waitId: "mine" }))).toEqual({
      cancelled: false,
    });
  });

  it("[OBS-02] for a settlement give the outcome without the output, or the terminal record with it", async () => {
    const thread = new ThreadDriver("waits");
    const address = { threadId: thread.threadId, caller: TESTER };
    const gate = `${thread.threadId}-model`;
    const { receipt } = await thread.submit([{ text: "the answer", gate }]);
    const { submissionId } = receipt;
    await thread.arrival(gate);
    const owed = await thread.stub.awaitSettlement({ ...address, submissionId, timeoutMillis: 0 });
    expect(unwrap(owed)).toBe(null);
    const metadata = thread.stub.awaitSettlement({
      ...address,
      submissionId,
      timeoutMillis: 60_000,
    });
    await thread.openGate(gate);
    expect(unwrap(await metadata)).toMatchObject({ outcome: "completed", sequence: 5 });
    expect(unwrap(await metadata)).not.toHaveProperty("output");
    expect(await thread.settlement(submissionId)).toMatchObject({ output: "the answer" });
  });
});

describe("explain", () => {
  it("[OBS-04, RUN-18] tells an idle, a running and a queued story in words and as data", async () => {
    const thread = new ThreadDriver("explain");
    const gate = `${thread.threadId}-model`;
    const active = await thread.submit([{ text: "ok", gate }]);
    await thread.arrival(gate);
    const queued = await thread.submit([{ text: "next" }]);
    const explanation = await thread.explain();
    expect(explanation).toMatchObject({
      state: "running",
      queueDepth: 2,
      activeRun: { submissionId: active.receipt.submissionId, attempt: 1 },
      alarm: { reason: "submitted" },
    });
    expect(explanation.submissions.map(({ state }) => state)).toEqual(["running", "queued"]);
    expect(explanation.submissions[1]?.why).toContain(active.receipt.submissionId);
    await thread.openGate(gate);
    await thread.settlement(queued.receipt.submissionId);
    await thread.quiet();
    expect(await thread.explain()).toMatchObject({
      state: "idle",
      queueDepth: 0,
      submissions: [],
      alarm: { reason: "idle", dueAt: null },
    });
  });

  it("[OBS-04] writes nothing", async () => {
    const thread = new ThreadDriver("explain");
    await thread.run([{ text: "ok" }]);
    await thread.quiet();
    const before = await thread.dump();
    await thread.explain();
    expect(await thread.dump()).toEqual(before);
  });
});
