// The end of a thread: a tombstone, then everything that it owned; and nothing that makes it anew.
import { afterEach, describe, expect, it } from "vitest";
import { unwrap } from "../../shared/wire/rpc.ts";
import { EventReader } from "../support/event-reader.ts";
import { threadWithPast } from "../support/long-log.ts";
import { resetOptions } from "../support/test-options.ts";
import { TESTER, ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

async function rowsOf(thread: ThreadDriver): Promise<Record<string, number>> {
  return thread.inObject(({ sql }) =>
    Object.fromEntries(
      ["batches", "submissions", "threads"].map((table) => [
        table,
        Number(sql.exec(`SELECT count(*) AS n FROM ${table}`).one()["n"]),
      ]),
    ),
  );
}

async function settled(runs = 1): Promise<ThreadDriver> {
  const thread = new ThreadDriver("deleted");
  for (let run = 0; run < runs; run += 1) await thread.run([{ text: "ok" }]);
  await thread.quiet();
  return thread;
}

describe("deleting a thread", () => {
  it("[OBS-06] leaves a tombstone, no row, and no alarm", async () => {
    const thread = await settled(40);
    const tombstone = await thread.delete();
    expect(tombstone).toMatchObject({ deletedBy: "tester", owed: 0 });
    await thread.toQuiescence();
    expect(await rowsOf(thread)).toEqual({ batches: 0, submissions: 0, threads: 1 });
    expect(await thread.alarmAt()).toBeNull();
    expect(await thread.view()).toMatchObject({
      state: "deleted",
      tail: 0,
      queueDepth: 0,
      attention: [],
      tombstone,
    });
    expect((await thread.explain()).summary).toContain("deleted");
    expect(await thread.delete()).toEqual(tombstone);
  });

  it("[OBS-06] lets no request and no late alarm make it anew, evicted or not", async () => {
    const thread = await settled();
    await thread.delete();
    for (const isEvicted of [false, true]) {
      if (isEvicted) await thread.evict();
      // The key of its first submission is no receipt any more.
      const gone = { code: "ThreadDeleted", fields: { deletedAt: expect.any(String) } };
      await expect(thread.submit([{ text: "ok" }], { key: "key-1" })).rejects.toMatchObject(gone);
      await expect(thread.submit([{ text: "new" }])).rejects.toMatchObject(gone);
      await expect(thread.records()).rejects.toMatchObject(gone);
      await expect(thread.abort("sub-1-aaaaaaaaaaaaaaaa")).rejects.toMatchObject(gone);
      await thread.redeliverAlarm();
      await thread.quiet();
      expect(await rowsOf(thread)).toEqual({ batches: 0, submissions: 0, threads: 1 });
      expect(await thread.alarmAt()).toBeNull();
    }
  });

  it("[OPS-02, OBS-06] is refused while work is owed, and changes nothing", async () => {
    const thread = new ThreadDriver("deleted");
    const { receipt } = await thread.submit([{ calls: [{ tool: "guarded" }] }, { text: "ok" }]);
    await thread.waitingFor(receipt.submissionId, "approval");
    await expect(thread.delete()).rejects.toMatchObject({
      code: "WorkOwed",
      fields: { owed: 1, submissionId: receipt.submissionId },
    });
    const [operation] = await thread.operations();
    await thread.decide(operation?.operationId ?? "", "approve");
    expect((await thread.settlement(receipt.submissionId)).outcome).toBe("completed");
  });

  it("[OPS-02] forced, stops what runs and says who did it and why", async () => {
    const thread = new ThreadDriver("deleted");
    const gate = `${thread.threadId}-tool`;
    const plan = [{ calls: [{ tool: "act", input: { behave: "gate", gate } }] }, { text: "ok" }];
    const { receipt } = await thread.submit(plan);
    await thread.submit([{ text: "queued" }]);
    await thread.arrival(gate);
    const waiting = thread.settlement(receipt.submissionId).catch((error: unknown) => error);
    const tombstone = await thread.delete({ force: true, reason: "the customer left" });
    expect(tombstone).toMatchObject({ owed: 2, reason: "the customer left" });
    await thread.openGate(gate);
    expect(await waiting).toMatchObject({ code: "ThreadDeleted" });
    await thread.toQuiescence();
    expect(await rowsOf(thread)).toEqual({ batches: 0, submissions: 0, threads: 1 });
    expect(await thread.alarmAt()).toBeNull();
  });

  it("[OBS-06, OBS-03] ends the stream of who follows its work, and says nothing more of that", async () => {
    const thread = new ThreadDriver("deleted");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await thread.submit([{ text: "ok", gate }]);
    await thread.arrival(gate);
    const { submissionId } = receipt;
    const request = { threadId: thread.threadId, caller: TESTER, submissionId };
    const reader = new EventReader(unwrap(await thread.stub.events(request)));
    await reader.until(({ event }) => event === "record");
    await thread.delete({ force: true });
    await thread.openGate(gate);
    await thread.toQuiescence();
    expect((await reader.rest()).map(({ event }) => event)).not.toContain("state");
  });

  it("[OBS-06] keeps what a long teardown has done when the object is lost in it, and answers meanwhile", async () => {
    const thread = await threadWithPast({ runs: 640, bytes: 10 });
    const before = await rowsOf(thread);
    world.armCrashes({ point: "teardown:after", mode: "abort", hit: 6 });
    await thread.delete();
    // Asked while rows go.
    expect(await thread.view()).toMatchObject({ state: "deleted" });
    await thread.quiet().catch(() => undefined);
    expect(world.disarm()).toBe(0);
    const { batches = 0 } = await rowsOf(thread);
    expect(batches).toBeLessThan((before["batches"] ?? 0) - 128);
    expect(batches).toBeGreaterThan(0);
    await thread.toQuiescence();
    expect(await rowsOf(thread)).toEqual({ batches: 0, submissions: 0, threads: 1 });
  });

  it.each(["throw", "abort", "sync-abort"] as const)(
    "[OBS-06] is whole or not begun after a crash (%s) around each commit, and the alarm ends it",
    async (mode) => {
      for (const point of [
        "delete:inside",
        "delete:after",
        "teardown:inside",
        "teardown:after",
      ] as const) {
        const thread = await settled(3);
        world.armCrashes({ point, mode });
        await thread.delete().catch(() => undefined);
        await thread.toQuiescence();
        // What got no answer is asked again.
        await thread.delete();
        await thread.toQuiescence();
        expect(world.disarm()).toBe(0);
        expect(await rowsOf(thread)).toEqual({ batches: 0, submissions: 0, threads: 1 });
        expect(await thread.alarmAt()).toBeNull();
      }
    },
  );
});
