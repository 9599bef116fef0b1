// Which owed work may run next, and what blocks it. Pure.
import type { EpochMillis } from "../../../shared/time.ts";
import type { WaitReason } from "../../../shared/wire/submission.ts";
import type { LedgerEntry } from "./ledger.store.ts";

export type HeadSelection =
  | { readonly kind: "ready"; readonly head: LedgerEntry }
  /** The head waits; `dueAt` null when only a decision moves it. */
  | { readonly kind: "blocked"; readonly reason: WaitReason; readonly dueAt: EpochMillis | null }
  /** Nothing is owed, or all that is owed is parked. */
  | { readonly kind: "none" };

/** Parked work leaves the head without settling, so that later input runs (RUN-06, RUN-17). Every other wait is a barrier. */
const PARKED: ReadonlySet<WaitReason> = new Set<WaitReason>([
  "unknown-outcome",
  "attempts-exhausted",
]);

export function isParked(entry: LedgerEntry): boolean {
  return entry.wait !== null && PARKED.has(entry.wait.reason);
}

/** Its input is canonical in another run, and settles with it (RUN-09). */
export function isJoined(entry: LedgerEntry): boolean {
  return entry.host !== null && entry.joinedAt !== null;
}

/** What waits to go into that run at its next turn boundary. Not what came to its own turn while that run was parked, and waits there. */
export function isJoining(entry: LedgerEntry, run: number): boolean {
  return entry.host === run && entry.joinedAt === null && entry.wait === null;
}

/**
 * The submission whose turn it is, whether it may run now or waits; undefined when all that is owed is parked. Input that joined a run which
 * is parked since stands in the way of what came after it, as it settles with that run alone.
 */
export function findHead(
  owed: readonly LedgerEntry[],
  claimedRun: number | null,
): LedgerEntry | undefined {
  const runnable = owed.filter((entry) => !isParked(entry));
  return runnable.find((entry) => entry.queueSequence === claimedRun) ?? runnable[0];
}

/**
 * The run that was claimed last stays the head until it settles or parks: one active run per thread. Otherwise the first owed work in
 * queue order, so that a parked run that was resolved comes before input that was never claimed.
 */
export function selectHead(
  owed: readonly LedgerEntry[],
  claimedRun: number | null,
  now: EpochMillis,
): HeadSelection {
  const head = findHead(owed, claimedRun);
  if (head === undefined) return { kind: "none" };
  if (isJoined(head)) {
    const host = owed.find((entry) => entry.queueSequence === head.host);
    return { kind: "blocked", reason: host?.wait?.reason ?? "unknown-outcome", dueAt: null };
  }
  if (head.wait === null) return { kind: "ready", head };
  const dueAt = head.wait.deadline === null ? null : Date.parse(head.wait.deadline);
  return dueAt !== null && dueAt <= now
    ? { kind: "ready", head }
    : { kind: "blocked", reason: head.wait.reason, dueAt };
}
