// The lanes of the threads of an object, as a pass runs them.
import type { EventBudget, WaveEntry } from "./alarm-pass.ts";
import type { Due } from "./due.ts";

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
