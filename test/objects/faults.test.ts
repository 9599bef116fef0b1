// What a thread retains cannot be read: it waits by itself, says so, tells the host, and goes on where it was once it can be read.
import { afterEach, describe, expect, it } from "vitest";
import type { RecoveryEvent } from "../../worker/holdfast.ts";
import { expectSound } from "../support/expect-sound.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

/** How a row of the log can be bad; each leaves the text to be put back. */
const DAMAGE = {
  "bad JSON": "records = substr(records, 1, length(records) - 1)",
  "a wrong schema version": `records = replace(records, '"schemaVersion":1', '"schemaVersion":99')`,
  "a payload of another shape": `records = replace(records, '"instructions"', '"instructed"')`,
  "a gap": "last = last + 1",
} as const;

/** A run whose object died in a model call, and whose log is damaged before it is taken up again. */
async function damaged(damage: string = DAMAGE["bad JSON"]) {
  const thread = new ThreadDriver("faulted");
  const gate = `${thread.threadId}-model`;
  const { receipt } = await thread.submit([{ text: "ok", gate }]);
  await thread.arrival(gate);
  await thread.crash();
  const rows = await thread.inObject(({ sql }) => {
    const kept = sql.exec("SELECT position, last, records FROM batches").toArray();
    sql.exec(`UPDATE batches SET ${damage}`);
    return kept;
  });
  /** What an instance knows of the log's end it has from the damaged one, so it goes with the damage. */
  const heal = async () => {
    await thread.inObject(({ sql }) => {
      for (const { position = null, last = null, records = null } of rows) {
        sql.exec(
          "UPDATE batches SET last = ?, records = ? WHERE position = ?",
          last,
          records,
          position,
        );
      }
    });
    await thread.evict();
  };
  /** Lets the healed run through the model's gate. */
  const finish = async () => {
    const fired = thread.runAlarms(1, 120_000);
    await thread.arrival(gate);
    await thread.openGate(gate);
    await fired;
    return thread.settlement(receipt.submissionId);
  };
  return { thread, submissionId: receipt.submissionId, gate, heal, finish };
}

describe("a log that cannot be read", () => {
  it.each(Object.entries(DAMAGE))(
    "[REC-04] with %s: the thread is at fault, tries again on its ladder, and goes on once it is healed",
    async (_what, damage) => {
      const { thread, submissionId, heal, finish } = await damaged(damage);
      await thread.runAlarms(1);
      const began = world.now;
      expect(await thread.view()).toMatchObject({
        state: "faulted",
        fault: { class: "log-unreadable", attempts: 1 },
        attention: [{ submissionId, reason: "recovery-fault" }],
      });
      const tries: number[] = [];
      for (let attempt = 0; attempt < 6; attempt += 1) {
        const at = await thread.alarmAt();
        tries.push(((at ?? 0) - world.now) / 1_000);
        await thread.runAlarms(1);
      }
      expect(tries).toEqual([5, 10, 20, 40, 60, 60]);
      expect(world.now).toBe(began + 195_000);
      await heal();
      expect(await finish()).toMatchObject({ outcome: "completed", output: "ok" });
      expect((await thread.view()).fault).toBeUndefined();
      await expectSound(thread);
    },
  );

  it("[REC-04] keeps the receipts of new admissions, and is not brought forward by them", async () => {
    const { thread, submissionId, heal, finish } = await damaged();
    await thread.runAlarms(1);
    const due = await thread.alarmAt();
    const later = await thread.submit([{ text: "later" }], { key: "later" });
    await thread.quiet();
    expect(await thread.alarmAt()).toBe(due);
    expect(await thread.submit([{ text: "later" }], { key: "later" })).toMatchObject({
      replayed: true,
      receipt: later.receipt,
    });
    await heal();
    await finish();
    expect((await thread.settlement(submissionId)).outcome).toBe("completed");
    expect(await thread.settlement(later.receipt.submissionId)).toMatchObject({ output: "later" });
    await expectSound(thread);
  });

  it("[REC-04, TOOL-04] resolves no unknown outcome by clearing", async () => {
    const thread = new ThreadDriver("faulted");
    const plan = [{ calls: [{ tool: "hasty_act", input: { behave: "honour-signal" } }] }];
    const { receipt } = await thread.submit([...plan, { text: "ok" }]);
    await thread.waitingFor(receipt.submissionId, "unknown-outcome");
    await thread.quiet();
    await thread.evict();
    await thread.inObject(({ sql }) => {
      sql.exec(`UPDATE batches SET ${DAMAGE["a gap"]}`);
    });
    const next = await thread.submit([{ text: "next" }]);
    await thread.quiet();
    expect((await thread.view()).state).toBe("faulted");
    await thread.inObject(({ sql }) => {
      sql.exec("UPDATE batches SET last = last - 1");
    });
    await thread.evict();
    await thread.runAlarms(1, 60_000);
    expect(await thread.settlement(next.receipt.submissionId)).toMatchObject({ output: "next" });
    await thread.waitingFor(receipt.submissionId, "unknown-outcome");
    await thread.abort(receipt.submissionId);
    await expectSound(thread);
  });

  it("[REC-07, REC-04] an accepted abort ends work that was never claimed at once, and reads nothing", async () => {
    const { thread, submissionId, heal } = await damaged();
    await thread.runAlarms(1);
    const queued = await thread.submit([{ text: "queued" }]);
    expect(await thread.abort(queued.receipt.submissionId)).toMatchObject({
      effect: "dequeued",
      settlement: { outcome: "aborted" },
    });
    expect(await thread.abort(submissionId)).toMatchObject({ settlement: { outcome: "aborted" } });
    await thread.quiet();
    // Nothing is owed, so nothing is at fault: later work finds out for itself.
    expect(await thread.view()).toMatchObject({ state: "idle" });
    await heal();
    await thread.toQuiescence();
    expect(await thread.run([{ text: "fresh" }])).toMatchObject({ output: "fresh" });
  });

  it("[REC-04, OPS-01] is tried at once for an operator, and says so when nothing is at fault", async () => {
    const { thread, submissionId, gate, heal } = await damaged();
    await thread.runAlarms(1);
    expect(await thread.clearFault()).toBe("resumed");
    await thread.quiet();
    expect((await thread.view()).fault).toMatchObject({ attempts: 2 });
    await heal();
    expect(await thread.clearFault()).toBe("resumed");
    await thread.arrival(gate);
    await thread.openGate(gate);
    expect(await thread.settlement(submissionId)).toMatchObject({ output: "ok" });
    expect(await thread.clearFault()).toBe("not-parked");
    await expectSound(thread);
  });
});

describe("a stored submission that cannot be read", () => {
  it("[REC-04] is a fault too, whose diagnostic holds nothing of it", async () => {
    const thread = new ThreadDriver("faulted");
    world.armCrashes({ point: "submit:after", mode: "sync-abort" });
    await expect(thread.submit([{ text: "sacred" }], { key: "k" })).rejects.toThrow();
    await thread.inObject(({ sql }) => {
      sql.exec("UPDATE submissions SET input = substr(input, 2)");
    });
    await thread.runAlarms(1);
    const { fault } = await thread.view();
    expect(fault).toMatchObject({ class: "payload-unreadable" });
    expect(JSON.stringify(fault)).not.toContain("sacred");
  });
});

describe("onRecoveryEvent", () => {
  const heard: RecoveryEvent[] = [];
  afterEach(() => heard.splice(0));
  const said = () => heard.map(({ transition, submissionId }) => `${transition} ${submissionId}`);

  it("[REC-05] is told of each submission in order, bounded and without content", async () => {
    testOptions.onRecoveryEvent = (event) => void heard.push(event);
    const { thread, submissionId, heal, finish } = await damaged();
    await thread.runAlarms(1);
    const later = (await thread.submit([{ text: "later" }])).receipt.submissionId;
    await thread.quiet();
    await thread.runAlarms(2, 120_000);
    expect(said()).toEqual([`created ${submissionId}`, `created ${later}`]);
    await heal();
    await finish();
    await thread.settlement(later);
    await thread.quiet();
    expect(said().slice(2)).toEqual([`cleared ${submissionId}`, `cleared ${later}`]);
    expect(heard.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
    expect(JSON.stringify(heard)).not.toMatch(/later|plan|gate/);
    expect(await thread.alarmAt()).toBeNull();
    await expectSound(thread);
  });

  it("[REC-05] hears the same sequence again where its acknowledgement was lost", async () => {
    let isDown = true;
    testOptions.onRecoveryEvent = (event) => {
      heard.push(event);
      if (isDown) throw new Error("the acknowledgement is lost");
    };
    const { thread, submissionId } = await damaged();
    await thread.runAlarms(1);
    await thread.evict();
    isDown = false;
    await thread.runAlarms(1, 4_000);
    expect(said()).toEqual([`created ${submissionId}`, `created ${submissionId}`]);
    expect(heard.map(({ sequence }) => sequence)).toEqual([1, 1]);
  });

  it("[REC-05] that is left out hears nothing, and one that comes later hears of what is at fault once", async () => {
    const { thread, submissionId } = await damaged();
    await thread.runAlarms(3, 120_000);
    testOptions.onRecoveryEvent = (event) => void heard.push(event);
    await thread.evict();
    await thread.runAlarms(3, 120_000);
    expect(said()).toEqual([`created ${submissionId}`]);
  });

  it.each(["fault:inside", "fault:after"] as const)(
    "[REC-05] commits with the fault, whatever crashes at %s",
    async (point) => {
      for (const mode of ["throw", "abort", "sync-abort"] as const) {
        heard.splice(0);
        testOptions.onRecoveryEvent = (event) => void heard.push(event);
        const { thread, submissionId, heal, finish } = await damaged();
        world.armCrashes({ point, mode });
        await thread.runAlarms(1).catch(() => undefined);
        await thread.runAlarms(2, 60_000);
        expect(world.disarm()).toBe(0);
        expect(new Set(said())).toEqual(new Set([`created ${submissionId}`]));
        await heal();
        await finish();
        await thread.toQuiescence();
        expect(said().at(-1)).toBe(`cleared ${submissionId}`);
        await expectSound(thread);
      }
    },
  );
});
