// Lanes of the host on a real object: an outbox to an unreliable destination, a lane after the runs, and a remote source with a cursor.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Envelope, Lane, LaneWave } from "../../worker/holdfast.ts";
import { expectSound } from "../support/expect-sound.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

const HOUR = 3_600_000;

/** Delivers settlements to a destination that may be down, and counts what arrived, by identity. */
function outbox() {
  const arrived = new Map<string, number>();
  const state = { isDown: false, waves: 0 };
  const lane: Lane = {
    id: "outbox",
    dispatchTimeoutMillis: 1_000,
    run: ({ envelopes }) => {
      state.waves += 1;
      if (state.isDown) throw new Error("the destination is down");
      for (const { id } of envelopes) arrived.set(id, (arrived.get(id) ?? 0) + 1);
      return null;
    },
  };
  testOptions.lanes = [lane];
  testOptions.hostLanesForMutation = ({ kind }) => (kind === "Settlement" ? ["outbox"] : []);
  return { arrived, state };
}

async function laneRow(thread: ThreadDriver, id = "outbox") {
  return thread.inObject(
    ({ sql }) =>
      sql
        .exec("SELECT reason, dueAt, unchanged, cursor FROM due_queue WHERE lane = ?", id)
        .toArray()[0],
  );
}

async function envelopesLeft(thread: ThreadDriver): Promise<number> {
  return thread.inObject(({ sql }) =>
    Number(sql.exec("SELECT count(*) AS n FROM lane_envelopes").one()["n"]),
  );
}

describe("an outbox lane", () => {
  it("[LANE-07, LANE-08] is armed with each settlement, and handed it by a stable identity", async () => {
    const { arrived } = outbox();
    const thread = new ThreadDriver("lanes");
    await thread.run([{ text: "one" }]);
    await thread.run([{ text: "two" }]);
    await thread.toQuiescence();
    const ids = (await thread.list()).submissions.map(
      ({ submissionId }) => `${thread.threadId}:${submissionId}:Settlement`,
    );
    expect([...arrived]).toEqual(ids.map((id) => [id, 1]));
    expect(await envelopesLeft(thread)).toBe(0);
    expect(await thread.alarmAt()).toBeNull();
    await expectSound(thread);
  });

  it("[LANE-03, LANE-05] retries a destination that is down by itself, and holds up no run", async () => {
    const { arrived, state } = outbox();
    state.isDown = true;
    const thread = new ThreadDriver("lanes");
    expect(await thread.run([{ text: "one" }])).toMatchObject({ output: "one" });
    await thread.quiet();
    expect(state.waves).toBe(1);
    expect(await thread.run([{ text: "two" }])).toMatchObject({ output: "two" });
    await thread.quiet();
    state.isDown = false;
    await thread.runAlarms(2, HOUR - 1);
    expect([...arrived.values()]).toEqual([1, 1]);
    expect(await thread.alarmAt()).toBeNull();
    await expectSound(thread);
  });

  it("[LANE-03] is parked after eight unchanged waves, reported once, listed, and resumed by an operator", async () => {
    const logged = vi.spyOn(console, "error").mockReturnValue();
    const { arrived, state } = outbox();
    state.isDown = true;
    const thread = new ThreadDriver("lanes");
    await thread.run([{ text: "one" }]);
    await thread.quiet();
    await thread.runAlarms(20, HOUR - 1);
    expect(state.waves).toBe(8);
    expect(await laneRow(thread)).toMatchObject({ reason: "lane-parked", unchanged: 8 });
    // The recovery deadline.
    await thread.runAlarms(1);
    expect(state.waves).toBe(9);
    const reports = logged.mock.calls.filter(([line]) => String(line).includes('"lane-parked"'));
    expect(reports).toHaveLength(1);
    logged.mockRestore();
    expect((await thread.explain()).lanes).toMatchObject([
      { id: "outbox", state: "parked", unchangedWaves: 9 },
    ]);
    state.isDown = false;
    expect(await thread.retryLane("outbox")).toBe("resumed");
    await thread.toQuiescence();
    expect([...arrived.values()]).toEqual([1]);
    expect(await thread.retryLane("outbox")).toBe("not-parked");
    await expectSound(thread);
  });

  it("[LANE-03] is resumed at once by progress of its source, and not by a replay", async () => {
    const { arrived, state } = outbox();
    testOptions.hostLanesForMutation = () => ["outbox"];
    state.isDown = true;
    const thread = new ThreadDriver("lanes");
    const { receipt } = await thread.submit([{ text: "one" }], { key: "k" });
    await thread.settlement(receipt.submissionId);
    await thread.quiet();
    await thread.runAlarms(20, HOUR - 1);
    expect(await laneRow(thread)).toMatchObject({ reason: "lane-parked" });
    const { waves } = state;
    await thread.submit([{ text: "one" }], { key: "k" });
    await thread.quiet();
    expect(await laneRow(thread)).toMatchObject({ unchanged: 8 + state.waves - waves });
    state.isDown = false;
    await thread.run([{ text: "two" }]);
    await thread.toQuiescence();
    expect(arrived.size).toBeGreaterThanOrEqual(4);
    expect(await laneRow(thread)).toMatchObject({ reason: "idle", unchanged: 0 });
    await expectSound(thread);
  });

  it.each(["lane:inside", "lane:after", "settle:inside", "settle:after"] as const)(
    "[LANE-02, LANE-08] delivers each settlement at least once whatever crashes at %s",
    async (point) => {
      for (const mode of ["throw", "abort", "sync-abort"] as const) {
        const { arrived } = outbox();
        const thread = new ThreadDriver("lanes");
        world.armCrashes({ point, mode });
        await thread.submit([{ text: "one" }], { key: "k" }).catch(() => undefined);
        await thread.toQuiescence();
        const { receipt } = await thread.submit([{ text: "one" }], { key: "k" });
        await thread.settlement(receipt.submissionId);
        await thread.toQuiescence();
        expect(world.disarm()).toBe(0);
        // An admission that was lost before it was acknowledged may have been delivered too.
        const id = `${thread.threadId}:${receipt.submissionId}:Settlement`;
        expect([...arrived.keys()]).toContain(id);
        expect(await envelopesLeft(thread)).toBe(0);
        await expectSound(thread);
      }
    },
  );

  it("[LANE-05] does not lose what is enrolled while its wave runs", async () => {
    const handed: Envelope[][] = [];
    const gate = Promise.withResolvers<void>();
    testOptions.lanes = [
      {
        id: "outbox",
        dispatchTimeoutMillis: 60_000,
        run: async ({ envelopes }: LaneWave) => {
          handed.push([...envelopes]);
          if (handed.length === 1) await gate.promise;
          return null;
        },
      },
    ];
    testOptions.hostLanesForMutation = ({ kind }) => (kind === "Settlement" ? ["outbox"] : []);
    const thread = new ThreadDriver("lanes");
    await thread.run([{ text: "one" }]);
    await vi.waitUntil(() => handed.length === 1);
    await thread.run([{ text: "two" }]);
    await thread.inObject(() => gate.resolve());
    await thread.toQuiescence();
    expect(handed.map((each) => each.length)).toEqual([1, 1]);
    expect(await envelopesLeft(thread)).toBe(0);
    await expectSound(thread);
  });

  it("[LANE-01] without a handler in this deployment fails by itself, and keeps what it owes", async () => {
    const { arrived } = outbox();
    const { lanes } = testOptions;
    testOptions.lanes = [];
    const thread = new ThreadDriver("lanes");
    expect(await thread.run([{ text: "one" }])).toMatchObject({ output: "one" });
    await thread.quiet();
    expect(await envelopesLeft(thread)).toBe(1);
    testOptions.lanes = lanes;
    await thread.evict();
    await thread.runAlarms(3, HOUR - 1);
    expect([...arrived.values()]).toEqual([1]);
    await expectSound(thread);
  });

  it("[LANE-09] is failed by its timeout, which covers all of its wave", async () => {
    const waves: number[] = [];
    testOptions.lanes = [
      {
        id: "outbox",
        dispatchTimeoutMillis: 20,
        run: ({ signal }) =>
          new Promise((_resolve, reject) => {
            waves.push(1);
            signal.addEventListener("abort", () => reject(new Error("gave up")));
          }),
      },
    ];
    testOptions.hostLanesForMutation = () => ["outbox"];
    const thread = new ThreadDriver("lanes");
    await thread.run([{ text: "one" }]);
    await thread.quiet();
    expect(await laneRow(thread)).toMatchObject({ reason: "lane" });
    expect(await envelopesLeft(thread)).toBeGreaterThan(0);
    await expectSound(thread);
  });

  it("[LANE-05] starts no wave whose allowance does not fit the event", async () => {
    const { state } = outbox();
    testOptions.limits = { event: { yieldAfterMillis: 500, ceilingMillis: 900 } };
    const thread = new ThreadDriver("lanes");
    await thread.run([{ text: "one" }]);
    await thread.quiet();
    expect(state.waves).toBe(0);
    expect(await thread.alarmAt()).not.toBeNull();
  });
});

describe("a lane after the runs", () => {
  it("[LANE-06] gets one wave once the runs of the event have ended, and none before", async () => {
    const seen: string[] = [];
    testOptions.lanes = [
      {
        id: "tidy",
        dispatchTimeoutMillis: 1_000,
        phase: "after-native",
        run: ({ envelopes }) => {
          seen.push(...envelopes.map(({ kind }) => kind));
          return null;
        },
      },
    ];
    testOptions.hostLanesForMutation = ({ kind }) => (kind === "Admission" ? ["tidy"] : []);
    const thread = new ThreadDriver("lanes");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await thread.submit([{ text: "one", gate }]);
    await thread.arrival(gate);
    expect(seen).toEqual([]);
    await thread.openGate(gate);
    await thread.settlement(receipt.submissionId);
    await thread.toQuiescence();
    expect(seen).toEqual(["Admission"]);
    await expectSound(thread);
  });

  it("[LANE-06] gets it when the runs failed, too", async () => {
    const seen: string[] = [];
    testOptions.lanes = [
      {
        id: "tidy",
        dispatchTimeoutMillis: 1_000,
        phase: "after-native",
        run: () => {
          seen.push("wave");
          return null;
        },
      },
    ];
    testOptions.hostLanesForMutation = ({ kind }) => (kind === "Admission" ? ["tidy"] : []);
    testOptions.authorize = () => Promise.reject(new Error("the authorizer is down"));
    const thread = new ThreadDriver("lanes");
    const plan = [{ calls: [{ tool: "act" }] }, { text: "ok" }];
    const { receipt } = await thread.submit(plan);
    await thread.quiet();
    expect(seen).toEqual(["wave"]);
    testOptions.authorize = () => true;
    await thread.toQuiescence();
    expect((await thread.settlement(receipt.submissionId)).outcome).toBe("completed");
    await expectSound(thread);
  });
});

describe("a remote source with a cursor", () => {
  it("[LANE-04] renews nothing with a cursor that it reported before", async () => {
    const cursors: number[] = [];
    testOptions.lanes = [
      {
        id: "feed",
        dispatchTimeoutMillis: 1_000,
        run: ({ cursor }) => {
          cursors.push(cursor);
          return null;
        },
      },
    ];
    const thread = new ThreadDriver("lanes");
    await thread.run([{ text: "one" }]);
    await thread.quiet();
    expect(await thread.scheduleLane("feed", world.now, 7)).toBe(true);
    await thread.quiet();
    expect(await thread.scheduleLane("feed", world.now, 7)).toBe(false);
    expect(await thread.scheduleLane("feed", world.now, 3)).toBe(false);
    await thread.toQuiescence();
    expect(cursors).toEqual([7]);
    expect(await thread.scheduleLane("feed", world.now + 5_000, 8)).toBe(true);
    expect(await thread.alarmAt()).toBe(world.now + 5_000);
    await thread.runAlarms(1, 60_000);
    expect(cursors).toEqual([7, 8]);
    expect(await thread.alarmAt()).toBeNull();
    await expectSound(thread);
  });
});
