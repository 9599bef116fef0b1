// What a turn costs does not depend on how many came before it, and neither does what a resting thread keeps of them.
import { describe, expect, it } from "vitest";
import { MAX_KEPT_HISTORY_BYTES } from "../../shared/limits.ts";
import { must } from "../../shared/assert.ts";
import { seenPrompts } from "../support/scripted-model.ts";
import { threadWithPast } from "../support/long-log.ts";
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

function lastPrompt() {
  return must(seenPrompts.at(-1), "the model was called").prompt;
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

describe("a resting thread", () => {
  it.each([
    { kept: "short", part: 8, more: [0, 0] },
    // The window's rows, twice: their sizes, then themselves.
    { kept: "long", part: 4, more: [28, 32] },
  ])(
    "[RTM-01, PERF-08] keeps a history that is short, and reads a long one again: $kept",
    async ({ part, more }) => {
      const thread = await threadWithPast({ runs: 5, bytes: MAX_KEPT_HISTORY_BYTES / part });
      await thread.run([done]);
      await thread.quiet();
      const prompts = [lastPrompt()];
      for (const rows of more) {
        expect(await costOfTurn(thread)).toMatchObject({ rowsRead: 25 + rows, rowsWritten: 9 });
        prompts.push(lastPrompt());
      }
      // Either way each prompt is the one before it, what was answered, and what is asked now.
      for (const [index, prompt] of prompts.slice(1).entries()) {
        const before = must(prompts[index], "an earlier one");
        expect(prompt.slice(0, before.length)).toEqual(before);
        expect(prompt).toHaveLength(before.length + 2);
      }
    },
  );
});
