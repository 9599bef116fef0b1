// What others' users reported about runs over several attempts, as kinds of fault: other ids, outcomes that nobody sees, attempts that others
// wait for.
import { afterEach, describe, expect, it } from "vitest";
import { expectSound } from "../../support/expect-sound.ts";
import { resetOptions, testOptions } from "../../support/test-options.ts";
import { ThreadDriver } from "../../support/thread-driver.ts";
import { world } from "../../support/world.ts";
import {
  executionsOf,
  exhausted,
  modelCallsOf,
  only,
  runIdOf,
  submit,
  watch,
} from "./situations.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

describe("a run over several attempts", () => {
  it("field report 22: keeps its ids, so that a client follows it to its end by what it was given first", async () => {
    const thread = new ThreadDriver("report");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await submit(thread, [{ calls: [{ tool: "bump" }] }, { text: "ok", gate }]);
    const { submissionId } = receipt;
    // Each alarm holds an attempt that is lost with its object, but for the last.
    const fired: Promise<boolean>[] = [];
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await thread.arrival(gate);
      expect(await thread.submission(submissionId)).toMatchObject({
        submissionId,
        runId: runIdOf(submissionId),
        state: "running",
      });
      await thread.crash();
      fired.push(thread.fireAlarm().catch(() => false));
    }
    await thread.arrival(gate);
    const reader = await watch(thread, { submissionId });
    await thread.openGate(gate);
    const events = await reader.rest();
    expect(events.at(-1)).toMatchObject({ event: "settled", data: { submissionId } });
    const records = (await thread.records()).filter((record) => "runId" in record);
    expect(new Set(records.map((record) => ("runId" in record ? record.runId : "")))).toEqual(
      new Set([runIdOf(submissionId)]),
    );
    expect(await Promise.all(fired)).toEqual([false, false, true]);
    expect((await thread.dump()).thread?.epoch).toBe(4);
    await expectSound(thread);
  });

  it("field report 23: that came to nothing says so to a client that was away, whenever and however it looks", async () => {
    const { thread, submissionId } = await exhausted();
    await thread.evict();
    expect(await thread.submission(submissionId)).toMatchObject({
      state: "waiting",
      wait: { reason: "attempts-exhausted" },
    });
    const parked = await (await watch(thread, { submissionId, after: 2 })).rest();
    expect(parked[0]).toMatchObject({ event: "state", data: { state: "waiting" } });
    await thread.abort(submissionId);
    for (const away of [() => thread.evict(), () => thread.crash()]) {
      await away();
      const settlement = await thread.settlement(submissionId);
      expect(settlement.outcome).toBe("aborted");
      expect(await thread.submission(submissionId)).toMatchObject({ state: "settled", settlement });
      // Its cursor is where it left off, at the end, or at the beginning.
      for (const after of [0, 2, settlement.sequence]) {
        const events = await (await watch(thread, { submissionId, after })).rest();
        expect(events.at(-1)).toMatchObject({ event: "settled", data: { settlement } });
      }
    }
  });

  it("field report 35: is taken over by stored epoch: an attempt that is still in memory keeps the next one from nothing", async () => {
    const thread = new ThreadDriver("report");
    testOptions.limits = { event: { yieldAfterMillis: 60_000, ceilingMillis: 40 } };
    const gate = `${thread.threadId}-deaf`;
    const { receipt } = await submit(thread, [
      { calls: [{ tool: "look", input: { behave: "deaf-gate", gate } }] },
      { text: "ok" },
    ]);
    await thread.arrival(gate);
    // The pass ends at its ceiling while its handler, deaf to its signal, lives on in this very instance.
    await thread.quiet();
    expect((await thread.dump()).thread?.epoch).toBe(1);
    // The next attempt begins at once, and ends the same way; so does the one after it, but for the gate.
    await thread.runAlarms(1);
    await thread.openGate(gate);
    await thread.toQuiescence();
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "ok" });
    // Every attempt's handler answered in the end; one result stands.
    const { epoch } = (await thread.dump()).thread ?? {};
    expect(epoch).toBe(3);
    const [ran] = executionsOf(receipt.submissionId).values();
    expect(ran).toBe(epoch);
    expect(only(await thread.records(), "ToolSettled")).toHaveLength(1);
    expect(modelCallsOf(thread)).toBe(2);
    await expectSound(thread);
  });
});
