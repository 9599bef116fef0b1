// What a lane owes after a wave (LANE-03, LANE-09). Pure.
import { planBackoff } from "../../shared/backoff.ts";
import {
  LANE_BACKOFF,
  LANE_PARKED_RECHECK_MILLIS,
  MAX_UNCHANGED_WAVES,
} from "../../shared/limits.ts";
import type { EpochMillis } from "../../shared/time.ts";
import type { Due } from "./due.ts";

export type WaveOutcome =
  | { readonly kind: "drained" }
  | { readonly kind: "again"; readonly dueAt: EpochMillis }
  | { readonly kind: "failed" };

/** What a wave's handler returned, as an outcome. A malformed deadline is a failure, and discards nothing. */
export function outcomeOf(returned: unknown): WaveOutcome {
  if (returned === null) return { kind: "drained" };
  if (typeof returned !== "number" || !Number.isSafeInteger(returned) || returned < 0) {
    return { kind: "failed" };
  }
  return { kind: "again", dueAt: returned };
}

export interface AfterWave {
  readonly due: Due;
  /** Consecutive waves without progress of the source, this one included. */
  readonly unchanged: number;
  /** True for the wave that parks the lane: it is reported once. */
  readonly isParkedNow: boolean;
}

export interface WaveFacts {
  readonly outcome: WaveOutcome;
  /** As it was before the wave. */
  readonly unchanged: number;
  /** The source made progress since the wave began. */
  readonly hasProgressed: boolean;
  /** Envelopes are left that the wave was not handed. */
  readonly hasMore: boolean;
  readonly now: EpochMillis;
  /** In [0, 1), for jitter. */
  readonly random: number;
}

export function decideAfterWave(facts: WaveFacts): AfterWave {
  const { outcome, hasProgressed, hasMore, now } = facts;
  if (outcome.kind === "drained") {
    const due: Due = hasMore ? { reason: "lane", dueAt: now } : { reason: "idle", dueAt: null };
    return { due, unchanged: 0, isParkedNow: false };
  }
  if (hasProgressed) {
    const dueAt = outcome.kind === "again" ? Math.max(outcome.dueAt, now) : now;
    return { due: { reason: "lane", dueAt }, unchanged: 0, isParkedNow: false };
  }
  const unchanged = facts.unchanged + 1;
  if (unchanged >= MAX_UNCHANGED_WAVES) {
    return {
      due: { reason: "lane-parked", dueAt: now + LANE_PARKED_RECHECK_MILLIS },
      unchanged,
      isParkedNow: unchanged === MAX_UNCHANGED_WAVES,
    };
  }
  const floor = now + planBackoff(LANE_BACKOFF, unchanged, facts.random);
  const dueAt = outcome.kind === "again" ? Math.max(outcome.dueAt, floor) : floor;
  return { due: { reason: "lane", dueAt }, unchanged, isParkedNow: false };
}
