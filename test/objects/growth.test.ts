// What a turn costs does not depend on how many came before it.
import { describe, expect, it } from "vitest";
import { meter, type StorageCost } from "../support/storage-meter.ts";
import { ThreadDriver } from "../support/thread-driver.ts";

const done = { text: "done" };

/** What one more turn of a thread that is in memory costs. */
function costOfTurn(thread: ThreadDriver): Promise<StorageCost> {
  return meter(thread, async () => {
    await thread.run([done]);
    await thread.quiet();
  });
}

interface Stored {
  readonly log: number;
  readonly file: number;
}

function stored(thread: ThreadDriver): Promise<Stored> {
  return thread.inObject(({ sql }) => {
    const { log } = sql
      .exec<{ log: number }>("SELECT sum(octet_length(records)) AS log FROM batches")
      .one();
    return { log, file: sql.databaseSize };
  });
}

/** Bytes that a turn adds, over a hundred of them: the file grows by whole pages. */
async function bytesPerTurn(thread: ThreadDriver): Promise<Stored> {
  const before = await stored(thread);
  for (let turn = 0; turn < 100; turn += 1) await thread.run([done]);
  const after = await stored(thread);
  return { log: (after.log - before.log) / 100, file: (after.file - before.file) / 100 };
}

function expectWithinFifth(found: Stored, expected: Stored): void {
  for (const what of ["log", "file"] as const) {
    expect(found[what]).toBeGreaterThan(0);
    expect(found[what] / expected[what]).toBeLessThan(1.2);
  }
}

describe("a turn", () => {
  it("[PERF-15] reads and writes the same rows and stores as many bytes at turn 1,000 as at turn 10", async () => {
    const thread = new ThreadDriver("growing");
    for (let turn = 1; turn < 10; turn += 1) await thread.run([done]);
    await thread.quiet();
    const tenth = await costOfTurn(thread);
    const early = await bytesPerTurn(thread);
    for (let turn = 111; turn < 900; turn += 1) await thread.run([done]);
    const late = await bytesPerTurn(thread);
    const thousandth = await costOfTurn(thread);
    expect((await thread.view()).tail).toBe(4 * 1_000 + 1);
    expect(thousandth).toEqual(tenth);
    expect(thousandth).toMatchObject({ rowsWritten: 9, alarmWrites: 2 });
    expectWithinFifth(late, early);
  });
});
