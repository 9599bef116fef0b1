// What a new attempt at a run is charged, before it starts any work (REC-10). Pure.
import { must } from "../../../shared/assert.ts";
import type { Claim, ThreadRow } from "./thread-row.store.ts";

export type ClaimDecision =
  | {
      readonly kind: "claim";
      readonly claim: Claim;
      /** The attempt at the same run that was lost before this one; null when there was none, or it ended in order. */
      readonly supersededEpoch: number | null;
    }
  /** So many attempts ended without one new record that another is not worth it: the run is parked for a person. */
  | { readonly kind: "park"; readonly attempts: number };

export interface ClaimFacts {
  readonly thread: ThreadRow;
  readonly run: number;
  /** The run's first record: stored, or where a run that never started will begin. */
  readonly firstSequence: number;
  /** The run's last record that is progress (audit records are not), the records of its start included. */
  readonly lastProgress: number;
  readonly maxFruitlessAttempts: number;
}

export function decideClaim(facts: ClaimFacts): ClaimDecision {
  const { thread, run, lastProgress } = facts;
  const again = thread.claimedRun === run && thread.epoch > 0;
  const fruitless = again && thread.chargedAt >= lastProgress;
  const charge = fruitless ? thread.charge + 1 : 1;
  if (charge > facts.maxFruitlessAttempts) return { kind: "park", attempts: thread.charge };
  return {
    kind: "claim",
    claim: {
      epoch: thread.epoch + 1,
      claimedRun: run,
      claimedRunFirst: facts.firstSequence,
      charge,
      chargedAt: lastProgress,
    },
    supersededEpoch: again && thread.yieldedEpoch !== thread.epoch ? thread.epoch : null,
  };
}

/** Where a claimed run's records begin: in its own row once it waited, else in the thread's. */
export function firstSequenceOf(
  thread: ThreadRow,
  entry: { readonly queueSequence: number; readonly firstSequence: number | null },
): number | null {
  if (entry.firstSequence !== null) return entry.firstSequence;
  return thread.claimedRun === entry.queueSequence
    ? must(thread.claimedRunFirst, "a claimed run has a first record")
    : null;
}
