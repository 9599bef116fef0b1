// What a submission costs in rows, exactly: the budget that shaped the tables (kernel.md). Every row and every alarm call is billed.
import { describe, expect, it } from "vitest";
import { meter, type StorageCost } from "../support/storage-meter.ts";
import { ThreadDriver } from "../support/thread-driver.ts";

const tenSteps = [
  ...Array.from({ length: 10 }, () => ({ calls: [{ tool: "act" }] })),
  { text: "done" },
];

async function openThread(): Promise<ThreadDriver> {
  const thread = new ThreadDriver("budget");
  await thread.run([{ text: "opens the thread" }]);
  await thread.quiet();
  return thread;
}

/** What it costs to read the newest submission of an evicted thread. */
async function meterRead(thread: ThreadDriver): Promise<StorageCost> {
  const { receipt } = await thread.submit([{ text: "ok" }]);
  await thread.settlement(receipt.submissionId);
  await thread.quiet();
  await thread.evict();
  return meter(thread, () => thread.submission(receipt.submissionId));
}

describe("rows written", () => {
  it("[PERF-01] one turn on an open thread: 9 rows and 2 alarm calls", async () => {
    const thread = await openThread();
    const cost = await meter(thread, async () => {
      await thread.run([{ text: "ok" }]);
      await thread.quiet();
    });
    expect(cost).toMatchObject({ rowsWritten: 9, alarmWrites: 2 });
  });

  it("[PERF-02] ten tool steps: 39 rows, an intent before every external call among them", async () => {
    const thread = await openThread();
    const cost = await meter(thread, async () => {
      await thread.run(tenSteps);
      await thread.quiet();
    });
    expect(cost).toMatchObject({ rowsWritten: 39, alarmWrites: 2 });
    const intents = (await thread.records()).filter((record) => record.type === "ToolsPrepared");
    expect(intents).toHaveLength(10);
  });

  it("[PERF-04] waking a settled thread by a read: few statements, flat in its age", async () => {
    const thread = await openThread();
    const young = await meterRead(thread);
    for (let run = 0; run < 20; run += 1) await thread.run([{ text: "ok" }]);
    const old = await meterRead(thread);
    expect(old).toEqual(young);
    expect(old.statements).toBeLessThanOrEqual(20);
    expect(old.rowsRead).toBeLessThanOrEqual(60);
    expect(old).toMatchObject({ rowsWritten: 0, alarmWrites: 0 });
  });

  it("[ALM-05] a forced alarm on an idle object writes nothing", async () => {
    const thread = await openThread();
    const cost = await meter(thread, () => thread.quiet());
    expect(cost).toMatchObject({ rowsWritten: 0, alarmWrites: 0 });
    expect(cost.statements).toBeLessThanOrEqual(1);
  });
});
