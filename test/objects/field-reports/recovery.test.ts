// What others' users reported about recovery, as kinds of fault: work that is dropped, repeated, renamed, or waited for by nobody.
import { afterEach, describe, expect, it } from "vitest";
import { FAILPOINTS } from "../../../shared/failpoints.ts";
import { expectSound } from "../../support/expect-sound.ts";
import type { PlannedTurn } from "../../support/scripted-model.ts";
import { resetOptions } from "../../support/test-options.ts";
import { ThreadDriver } from "../../support/thread-driver.ts";
import { world, type CrashMode } from "../../support/world.ts";
import { backingOff, executionsOf, only, persistently, runIdOf, submit } from "./situations.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

const MODES: readonly CrashMode[] = ["throw", "abort", "sync-abort"];

describe("accepted input", () => {
  it.each(MODES)(
    "field report 9: reaches its one settlement, whatever dies where (%s)",
    async (mode) => {
      let crashes = 0;
      for (const point of FAILPOINTS) {
        const thread = new ThreadDriver("report");
        const ask = () =>
          submit(thread, [{ calls: [{ tool: "bump" }] }, { text: "ok" }], { key: "k" });
        world.armCrashes({ point, mode });
        const { receipt } = await persistently(ask);
        await thread.toQuiescence();
        crashes += world.disarm() === 0 ? 1 : 0;
        const settled = only(await thread.records(), "SubmissionSettled");
        expect({ point, settled }).toMatchObject({
          point,
          settled: [{ submissionId: receipt.submissionId, payload: { outcome: "completed" } }],
        });
        await expectSound(thread);
      }
      expect(crashes).toBeGreaterThan(15);
    },
  );

  it.each<[string, PlannedTurn]>([
    ["nothing at all", {}],
    ["an empty text", { text: "" }],
    ["reasoning alone", { pieces: [{ reasoning: "Hm." }] }],
    ["nothing, and an unknown reason to end", { finish: "other" }],
    ["nothing, and an error as its reason to end", { finish: "error" }],
    ["nothing, and a filter as its reason to end", { finish: "content-filter" }],
  ])("field report 9: is not skipped where the model streams %s", async (_what, turn) => {
    const thread = new ThreadDriver("report");
    const { receipt } = await submit(thread, [turn]);
    await thread.toQuiescence();
    const settlement = await thread.settlement(receipt.submissionId);
    expect(["completed", "failed"]).toContain(settlement.outcome);
    expect(only(await thread.records(), "InputRecorded")).toHaveLength(1);
    await expectSound(thread);
  });

  it.each([
    ["with no content yet", [], 0],
    ["with half of its text", ["half ", "way"], 1],
    ["with reasoning alone", [{ reasoning: "Hm. " }, "So."], 1],
  ] as const)(
    "field report 10: is not skipped where its stream had opened %s and was interrupted",
    async (_how, pieces, at) => {
      const thread = new ThreadDriver("report");
      const gate = `${thread.threadId}-piece`;
      const { receipt } = await submit(thread, [
        { pieces: [...pieces], pieceGate: gate, text: "the end" },
      ]);
      const fired: Promise<boolean>[] = [];
      for (const _death of ["first", "second"]) {
        await thread.arrival(`${gate}-${at}`);
        await thread.crash();
        fired.push(thread.fireAlarm().catch(() => false));
      }
      await thread.arrival(`${gate}-${at}`);
      await thread.openGate(...[0, 1, 2].map((piece) => `${gate}-${piece}`));
      expect(await Promise.all(fired)).toEqual([false, true]);
      const settlement = await thread.settlement(receipt.submissionId);
      expect(settlement).toMatchObject({ outcome: "completed" });
      expect(settlement.output).toContain("the end");
      expect(settlement.usage.interruptedModelCalls).toBe(2);
      await expectSound(thread);
    },
  );

  it.each(["stall", "stall-open"] as const)(
    "field report 10: is not skipped where its model opens and says no more (%s), time after time",
    async (how) => {
      const thread = new ThreadDriver("report");
      const { receipt } = await submit(thread, [{ text: "ok", fail: { how } }], {
        agent: "impatient",
      });
      await thread.waitingFor(receipt.submissionId, "retry-backoff");
      await thread.crash();
      await thread.runAlarms();
      // It failed, and says so: it is neither lost nor tried for ever.
      expect(await thread.settlement(receipt.submissionId)).toMatchObject({
        outcome: "failed",
        failure: { tag: "ModelFailed" },
        usage: { failedModelCalls: 3 },
      });
      await expectSound(thread);
    },
  );
});

describe("work that is to be tried again", () => {
  it("field report 11: is nothing but that for whoever wakes the object meanwhile, and is never sealed as failed", async () => {
    const { thread, submissionId } = await backingOff(2);
    const before = (await thread.dump()).batches;
    const wakes: (() => Promise<unknown>)[] = [
      () => thread.evict(),
      () => thread.crash(),
      () => thread.quiet(),
      () => thread.redeliverAlarm(),
      () => thread.explain(),
      () => thread.list(),
      () => thread.operations(),
    ];
    for (const wake of wakes) {
      await wake();
      await thread.quiet();
      const view = await thread.submission(submissionId);
      expect(view).toMatchObject({ state: "waiting", wait: { reason: "retry-backoff" } });
      expect((await thread.dump()).due?.reason).toBe("retry-backoff");
    }
    expect((await thread.dump()).batches).toEqual(before);
    await thread.runAlarms();
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    await expectSound(thread);
  });
});

describe("a duty", () => {
  it("field report 13: outlives an attempt that was superseded: its end takes nothing off the queue", async () => {
    const thread = new ThreadDriver("report");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await submit(thread, [{ text: "ok", gate }]);
    await thread.arrival(gate);
    await thread.inObject((storage) => {
      storage.sql.exec("UPDATE threads SET epoch = epoch + 1");
    });
    await thread.openGate(gate);
    await thread.quiet();
    const { due, alarm, submissions } = await thread.dump();
    expect(submissions[0]?.outcome).toBe(null);
    expect(due?.dueAt).not.toBe(null);
    expect(alarm).toBe(due?.dueAt);
    await thread.runAlarms();
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "ok" });
    await expectSound(thread);
  });

  it.each(
    (["finish-pass:before", "finish-pass:inside", "finish-pass:after"] as const).flatMap((point) =>
      MODES.map((mode) => [point, mode] as const),
    ),
  )(
    "field report 13: is never taken off by a pass that died at %s (%s) with newer work behind it",
    async (point, mode) => {
      const thread = new ThreadDriver("report");
      const gate = `${thread.threadId}-model`;
      world.armCrashes({ point, mode });
      const first = await submit(thread, [{ text: "first", gate }]);
      await thread.arrival(gate);
      const second = await submit(thread, [{ text: "second" }]);
      // The object may be gone before it answers.
      await thread.openGate(gate).catch(() => undefined);
      await expect.poll(() => world.disarm()).toBe(0);
      // What was lost with it comes to the gate again.
      await persistently(() => thread.openGate(gate));
      await thread.toQuiescence();
      for (const { receipt } of [first, second]) {
        expect(await thread.settlement(receipt.submissionId)).toMatchObject({
          outcome: "completed",
        });
      }
      expect(await thread.alarmAt()).toBe(null);
      await expectSound(thread);
    },
  );
});

describe("a call that completed", () => {
  it.each(["sync-abort", "abort"] as const)(
    "field report 14: is never run again, nor its result written twice, wherever its object dies (%s)",
    async (mode) => {
      let crashes = 0;
      for (const point of FAILPOINTS) {
        for (const hit of [1, 2]) {
          const thread = new ThreadDriver("report");
          const plan = [{ calls: [{ tool: "bump" }, { tool: "act" }] }, { text: "ok" }];
          world.armCrashes({ point, mode, hit });
          const { receipt } = await persistently(() => submit(thread, plan, { key: "k" }));
          await thread.quiet().catch(() => undefined);
          crashes += world.disarm() === 0 ? 1 : 0;
          const recorded = only((await thread.dump()).records, "ToolSettled").map(
            ({ payload }) => payload.operationId,
          );
          const before = executionsOf(receipt.submissionId);
          await thread.toQuiescence();
          const after = executionsOf(receipt.submissionId);
          for (const operationId of recorded) {
            expect(after.get(operationId)).toBe(before.get(operationId));
          }
          // The external call ran once at most, whether or not its result was recorded.
          expect(after.get(`${runIdOf(receipt.submissionId)}.t1.c1`) ?? 0).toBeLessThanOrEqual(1);
          const results = only(await thread.records(), "ToolSettled");
          const ids = results.map(({ payload }) => payload.operationId);
          expect(new Set(ids).size).toBe(ids.length);
          await expectSound(thread);
        }
      }
      expect(crashes).toBeGreaterThan(15);
    },
  );
});
