// What is owed later, as data: why and when. Pure; the store keeps it, the queue arms the alarm for it.
import { planBackoff } from "../../shared/backoff.ts";
import { ALARM_BACKOFF } from "../../shared/limits.ts";
import type { EpochMillis } from "../../shared/time.ts";

/** The lane of the runtime's own work. The prefix is reserved; lanes of hosts have their own names. */
export const NATIVE_LANE = "holdfast:native";

/** The lane of each thread of an object: the first has the plain name. */
export function nativeLaneOf(threadNumber: number): string {
  return threadNumber === 1 ? NATIVE_LANE : `${NATIVE_LANE}:${threadNumber}`;
}

/** The thread whose lane it is. */
export function threadNumberOfLane(lane: string): number {
  return lane === NATIVE_LANE ? 1 : Number(lane.slice(NATIVE_LANE.length + 1));
}

/** Every deferral of a run has one shape: a reason and a due time (ALM-09). */
export const DUE_REASONS = [
  "submitted",
  "controlled",
  "yield",
  "retry-backoff",
  "recovery-fault",
  "run-deadline",
  "binding",
  "deleted",
  "lane",
  "lane-parked",
  "pass-failed",
  "idle",
] as const;
export type DueReason = (typeof DUE_REASONS)[number];

export interface Due {
  readonly reason: DueReason;
  /** Null when only a decision from outside moves the work. */
  readonly dueAt: EpochMillis | null;
}

export interface LaneEntry extends Due {
  readonly revision: number;
  /** Consecutive waves that failed. */
  readonly attempts: number;
}

/** When a lane whose wave failed is due again: from 100 ms doubling to 5 s, jittered (ALM-03). */
export function planRetry(failedWaves: number, now: EpochMillis, random: number): Due {
  return { reason: "pass-failed", dueAt: now + planBackoff(ALARM_BACKOFF, failedWaves, random) };
}
