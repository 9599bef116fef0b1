// The lanes of the threads of an object, as a pass runs them.
import type { EpochMillis } from "../../shared/time.ts";
import type { Due, LaneEntry } from "./due.ts";

/** The deadlines that all work of one event shares (ALM-02). New arrivals renew neither. */
export interface EventBudget {
  readonly yieldAt: EpochMillis;
  readonly ceilingAt: EpochMillis;
  /** Other threads of the object take turns: a wave is one head. */
  readonly isShared?: boolean;
}

export interface WaveEntry extends LaneEntry {
  /** A wave before this one failed, or died: whatever is started now is charged before anything is read. */
  readonly isSuspect: boolean;
}

export interface NativeLanes {
  /** More than one thread is here: then each grant is one head, and they take turns. */
  readonly isShared: () => boolean;
  /** Lanes that may be due, in their turn. */
  readonly next: () => readonly string[];
  /** Notes durably whose turn it was. */
  readonly granted: (lane: string) => void;
  /** What the runs of a lane do in an event, given its entry as the event found it. Contract: resolves with what it still owes; a rejection is a
   * failed wave, retried with backoff. */
  readonly run: (lane: string, budget: EventBudget, entry: WaveEntry) => Promise<Due>;
}
