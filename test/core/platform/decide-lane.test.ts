// What a lane owes after a wave: every outcome, with and without progress of its source.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decideAfterWave,
  outcomeOf,
  type WaveFacts,
} from "../../../durable-objects/scheduler/decide-lane.ts";
import { LANE_PARKED_RECHECK_MILLIS, MAX_UNCHANGED_WAVES } from "../../../shared/limits.ts";
import { T0 } from "../support/builders.ts";

function after(changes: Partial<WaveFacts> = {}) {
  return decideAfterWave({
    outcome: { kind: "again", dueAt: T0 },
    unchanged: 0,
    hasProgressed: false,
    hasMore: false,
    now: T0,
    random: 0,
    ...changes,
  });
}

describe("a lane", () => {
  it("[LANE-03] that returns null is drained, and its budget is whole again", () => {
    const outcome = { kind: "drained" } as const;
    expect(after({ outcome, unchanged: 7 })).toEqual({
      due: { reason: "idle", dueAt: null },
      unchanged: 0,
      isParkedNow: false,
    });
    // What it was not handed is still owed.
    expect(after({ outcome, hasMore: true }).due).toEqual({ reason: "lane", dueAt: T0 });
  });

  it("[LANE-03] that returns a deadline without progress waits a second at least, and longer each time", () => {
    const waits = [0, 1, 2, 3, 4, 5, 6].map(
      (unchanged) => (after({ unchanged }).due.dueAt ?? 0) - T0,
    );
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000]);
    expect(after({ outcome: { kind: "again", dueAt: T0 + 90_000 } }).due.dueAt).toBe(T0 + 90_000);
  });

  it("[LANE-03] is parked by its eighth unchanged wave, reported once, and looked at hourly", () => {
    const eighth = after({ unchanged: MAX_UNCHANGED_WAVES - 1 });
    expect(eighth).toEqual({
      due: { reason: "lane-parked", dueAt: T0 + LANE_PARKED_RECHECK_MILLIS },
      unchanged: MAX_UNCHANGED_WAVES,
      isParkedNow: true,
    });
    expect(after({ unchanged: MAX_UNCHANGED_WAVES })).toMatchObject({
      due: { reason: "lane-parked" },
      isParkedNow: false,
    });
  });

  it("[LANE-03] is due when it says with progress, whatever it did before", () => {
    expect(after({ hasProgressed: true, unchanged: 9 })).toMatchObject({
      due: { reason: "lane", dueAt: T0 },
      unchanged: 0,
    });
  });

  it.each([undefined, Number.NaN, Infinity, -1, 1.5, "soon", {}, true])(
    "[LANE-09] fails with the malformed deadline %j, and is owed again",
    (returned) => {
      expect(outcomeOf(returned)).toEqual({ kind: "failed" });
      expect(after({ outcome: outcomeOf(returned) }).due.dueAt).toBe(T0 + 1_000);
    },
  );

  it("[LANE-03, LANE-09] never loses an obligation, and never spins", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("again" as const, "failed" as const),
        fc.nat({ max: 100_000 }),
        fc.nat({ max: 20 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (kind, delay, unchanged, random) => {
          const outcome = kind === "again" ? { kind, dueAt: T0 + delay } : { kind };
          const { due } = after({ outcome, unchanged, random });
          expect(due.dueAt).toBeGreaterThanOrEqual(T0 + 1_000);
        },
      ),
    );
  });
});
