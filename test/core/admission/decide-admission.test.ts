// Replays and limits at admission.
import { describe, expect, it } from "vitest";
import {
  decideReplay,
  findLimitBreach,
} from "../../../durable-objects/thread/admission/decide-admission.ts";
import { DEFAULT_THREAD_LIMITS } from "../../../durable-objects/thread/thread-limits.ts";

describe("[THR-03] a key", () => {
  it.each([
    [null, "a", "new"],
    ["a", "a", "replay"],
    ["a", "b", "conflict"],
  ] as const)("accepted for %j and sent with %j is %s", (accepted, sent, kind) => {
    expect(decideReplay(accepted, sent).kind).toBe(kind);
  });
});

describe("[THR-06] admission limits", () => {
  const limits = { maxInputBytes: 100, maxQueueDepth: 4, maxDatabaseBytes: 1_000 };
  const fine = { inputBytes: 100, queueDepth: 3, databaseBytes: 999 };

  it("admit at their bounds", () => {
    expect(findLimitBreach(fine, limits)).toBeNull();
  });

  it.each([
    ["inputBytes", 101, "maxInputBytes", 413, false],
    ["queueDepth", 4, "maxQueueDepth", 429, true],
    ["queueDepth", 5, "maxQueueDepth", 429, true],
    ["databaseBytes", 1_000, "maxDatabaseBytes", 507, false],
    ["databaseBytes", 1_001, "maxDatabaseBytes", 507, false],
  ] as const)("refuse %s of %i by %s with %i", (fact, current, limit, status, retryable) => {
    expect(findLimitBreach({ ...fine, [fact]: current }, limits)).toEqual({
      limit,
      current,
      maximum: limits[limit],
      status,
      retryable,
    });
  });

  it("name the input first: waiting would not help it", () => {
    const all = { inputBytes: 101, queueDepth: 9, databaseBytes: 9_999 };
    expect(findLimitBreach(all, limits)?.limit).toBe("maxInputBytes");
    expect(findLimitBreach({ ...all, inputBytes: 1 }, limits)?.limit).toBe("maxQueueDepth");
  });

  it("have the specified defaults", () => {
    expect(DEFAULT_THREAD_LIMITS).toMatchObject({
      maxQueueDepth: 64,
      maxInputBytes: 262_144,
      maxDatabaseBytes: 8_589_934_592,
      maxFruitlessAttempts: 5,
    });
  });
});
