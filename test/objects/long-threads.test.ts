// Threads of ten thousand records and of fifty megabytes: what they cost is that of a younger one, and no statement loads more of them than a
// page. The younger one fills the window that prompts carry, as the old one does.
import { beforeAll, describe, expect, it } from "vitest";
import { holdfastClient } from "../../shared/client/index.ts";
import { unwrap } from "../../shared/wire/rpc.ts";
import { MAX_PAGE_BYTES, MAX_PAGE_RECORDS, MAX_WINDOW_RECORDS } from "../../shared/limits.ts";
import { AUTHORIZATION, fetchBare } from "../http/http-client.ts";
import { serviceFor } from "../http/service-client.ts";
import { meterLoads, threadWithPast } from "../support/long-log.ts";
import { TESTER, type ThreadDriver } from "../support/thread-driver.ts";

const WRITES_NOTHING = { rowsWritten: 0, alarmWrites: 0 };

async function tailOf(thread: ThreadDriver): Promise<number> {
  return (await thread.view()).tail;
}

/** Wakes the thread and runs a turn. */
async function runCold(thread: ThreadDriver) {
  await thread.evict();
  const { largestLoad, ...cost } = await meterLoads(thread, async () => {
    expect(await thread.run([{ text: "goes on" }])).toMatchObject({ outcome: "completed" });
    await thread.quiet();
  });
  expect(largestLoad).toBeGreaterThan(0);
  expect(largestLoad).toBeLessThanOrEqual(MAX_PAGE_BYTES);
  return cost;
}

/** Reads a page from the middle of the log. */
async function readPage(thread: ThreadDriver) {
  const { stub, threadId } = thread;
  const after = Math.floor((await tailOf(thread)) / 2);
  const page = { after, limit: MAX_PAGE_RECORDS };
  let records = 0;
  const { largestLoad, ...cost } = await meterLoads(thread, async () => {
    const answer = unwrap(await stub.readPage({ threadId, caller: TESTER, page }));
    records = answer.records.length;
    expect(answer.next).toBe(after + records);
  });
  expect(largestLoad).toBeLessThanOrEqual(MAX_PAGE_BYTES);
  return { cost, records };
}

/** Takes the whole log away, record by record; how many bytes it was. */
async function exportWhole({ threadId }: ThreadDriver, tail: number): Promise<number> {
  const headers = { authorization: AUTHORIZATION };
  const answer = await fetchBare(`/v1/threads/${threadId}/export`, { headers });
  const text = answer.body?.pipeThrough(new TextDecoderStream()) ?? new ReadableStream<string>();
  let [sequence, bytes, rest] = [0, 0, ""];
  for await (const piece of text) {
    bytes += piece.length;
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      sequence += 1;
      const record: unknown = JSON.parse(line);
      if (Reflect.get(Object(record), "sequence") !== sequence) throw new Error(`not ${sequence}`);
    }
  }
  expect({ sequence, rest }).toEqual({ sequence: tail, rest: "" });
  return bytes;
}

describe.each([
  {
    size: "10,000 records",
    past: { runs: 2_500, bytes: 0 },
    younger: 300,
    page: 256,
    exported: { statements: 120, rowsRead: 14_998 },
    verified: { statements: 15, rowsRead: 12_513 },
  },
  {
    size: "50 MB",
    past: { runs: 125, bytes: 400_000 },
    younger: 15,
    page: 39,
    exported: { statements: 39, rowsRead: 1_969 },
    verified: { statements: 39, rowsRead: 2_094 },
  },
])("a thread of $size", ({ past, younger, page, exported, verified }) => {
  let old: ThreadDriver;
  let young: ThreadDriver;

  beforeAll(async () => {
    old = await threadWithPast(past);
    young = await threadWithPast({ ...past, runs: younger });
  });

  it("[PERF-10, RTM-01] has a page of 256 records, or of 4 MiB, in three statements", async () => {
    const { cost, records } = await readPage(old);
    expect(records).toBe(page);
    expect(cost).toMatchObject({ ...WRITES_NOTHING, statements: 3 });
    expect(cost.rowsRead).toBeLessThanOrEqual(1 + 2 * MAX_PAGE_RECORDS);
  });

  it("[OBS-05, RTM-01] is exported whole, a page at a time", async () => {
    const tail = await tailOf(old);
    let bytes = 0;
    const { largestLoad, ...cost } = await meterLoads(old, async () => {
      bytes = await exportWhole(old, tail);
    });
    expect(bytes).toBeGreaterThan(past.runs * past.bytes);
    expect(largestLoad).toBeLessThanOrEqual(MAX_PAGE_BYTES);
    expect(cost).toEqual({ ...WRITES_NOTHING, ...exported });
  });

  it("[REC-09, RTM-01] is verified whole, a page at a time", async () => {
    const tail = await tailOf(old);
    const client = holdfastClient({ binding: serviceFor(TESTER) });
    const { largestLoad, ...cost } = await meterLoads(old, async () => {
      const found = await client.thread(old.threadId).verify();
      expect(found).toMatchObject({ tail, verified: { sequence: tail }, fault: null });
    });
    expect(largestLoad).toBeLessThanOrEqual(MAX_PAGE_BYTES);
    expect(cost).toEqual({ ...WRITES_NOTHING, ...verified });
  });

  // The last: it makes the thread longer.
  it("[PERF-10, RTM-01] wakes and runs a turn in the statements of a younger one", async () => {
    const cost = await runCold(old);
    expect(cost).toMatchObject({ rowsWritten: 9, alarmWrites: 2 });
    expect(cost.statements).toBe((await runCold(young)).statements);
    expect(cost.rowsRead).toBeLessThanOrEqual(2 * MAX_WINDOW_RECORDS + 64);
  });
});

it("[OBS-06, RTM-01] a long log is deleted whole, a chunk at a time, and its object stays answerable", async () => {
  const thread = await threadWithPast({ runs: 2_500, bytes: 2_000 });
  const { largestLoad } = await meterLoads(thread, async () => {
    await thread.delete();
    expect(await thread.view()).toMatchObject({ state: "deleted", tail: expect.any(Number) });
    await thread.toQuiescence();
  });
  expect(largestLoad).toBeLessThanOrEqual(MAX_PAGE_BYTES);
  const left = await thread.inObject(({ sql }) =>
    sql
      .exec("SELECT (SELECT count(*) FROM batches) + (SELECT count(*) FROM submissions) AS n")
      .one(),
  );
  expect(left).toEqual({ n: 0 });
  expect(await thread.alarmAt()).toBeNull();
});

it("[PERF-10, RTM-01] a log of many short runs costs no row more than a younger one, to run a turn or to read a page", async () => {
  const [old, young] = [
    await threadWithPast({ runs: 2_500, bytes: 0 }),
    await threadWithPast({ runs: 600, bytes: 0 }),
  ];
  expect(await readPage(old)).toEqual(await readPage(young));
  expect(await runCold(old)).toEqual(await runCold(young));
});

/** Takes up a run that was parked, in a new instance, and lets it end. */
async function resumeCold(thread: ThreadDriver) {
  const { receipt } = await thread.submit([{ calls: [{ tool: "guarded" }] }, { text: "ok" }]);
  await thread.waitingFor(receipt.submissionId, "approval");
  await thread.quiet();
  await thread.evict();
  const [operation] = await thread.operations();
  const { largestLoad, ...cost } = await meterLoads(thread, async () => {
    await thread.decide(operation?.operationId ?? "", "approve");
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "ok" });
    await thread.quiet();
  });
  expect(largestLoad).toBeLessThanOrEqual(MAX_PAGE_BYTES);
  return cost;
}

it("[REC-08, REC-06] a run that is taken up again reads its own records and its window, whatever lies before them", async () => {
  const [old, young] = [
    await threadWithPast({ runs: 2_500, bytes: 0 }),
    await threadWithPast({ runs: 600, bytes: 0 }),
  ];
  expect(await resumeCold(old)).toEqual(await resumeCold(young));
});
