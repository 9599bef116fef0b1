// A recovery fault: what a thread retains cannot be read, so nothing of it runs until it can (REC-04). What is known of it, what comes next, and
// what the host is told (REC-05). Pure.
import { RECOVERY_LADDER_MILLIS } from "../../../shared/limits.ts";
import { toIsoInstant, type EpochMillis } from "../../../shared/time.ts";
import type { Fault, FaultFailure, RecoveryEvent } from "../../../shared/wire/fault.ts";

/** The events of one transition, without their numbers. */
export type Transition = Omit<RecoveryEvent, "sequence" | "threadId">;

export interface FaultChange {
  readonly fault: Fault;
  readonly transitions: readonly Transition[];
}

/** After a failed try to take a run up. `owed` are the submissions that it keeps waiting. */
export function planFault(
  known: Fault | null,
  failure: FaultFailure,
  owed: readonly string[],
  now: EpochMillis,
): FaultChange {
  const at = toIsoInstant(now);
  const failedAt = known?.failedAt ?? at;
  const attempts = (known?.attempts ?? 0) + 1;
  const before = known?.affected ?? [];
  const added = owed.filter((submissionId) => !before.includes(submissionId));
  const isChanged =
    known !== null && (known.class !== failure.class || known.diagnostic !== failure.diagnostic);
  const fault: Fault = {
    ...failure,
    failedAt,
    changedAt: known === null || isChanged ? at : known.changedAt,
    attempts,
    retryAt: toIsoInstant(now + ladderMillis(attempts)),
    affected: [...before, ...added],
    isAnnounced: known?.isAnnounced ?? false,
  };
  const told = (transition: Transition["transition"]) => (submissionId: string) =>
    tell(fault, transition, submissionId, at);
  return {
    fault,
    transitions: [...(isChanged ? before.map(told("changed")) : []), ...added.map(told("created"))],
  };
}

/** An admission while the thread waits for its next try. */
export function planAdmission(known: Fault, submissionId: string, now: EpochMillis): FaultChange {
  return {
    fault: { ...known, affected: [...known.affected, submissionId] },
    transitions: [tell(known, "created", submissionId, toIsoInstant(now))],
  };
}

/** Every submission that the fault kept waiting, whatever has become of it since. */
export function planClear(known: Fault, now: EpochMillis): readonly Transition[] {
  return announce(known, "cleared", now);
}

/** What a host is told that has a handler for the first time. */
export function planAnnouncement(known: Fault, now: EpochMillis): readonly Transition[] {
  return announce(known, "created", now);
}

function announce(
  known: Fault,
  transition: Transition["transition"],
  now: EpochMillis,
): readonly Transition[] {
  return known.affected.map((id) => tell(known, transition, id, toIsoInstant(now)));
}

function tell(
  { class: kind, diagnostic, failedAt }: Fault,
  transition: Transition["transition"],
  submissionId: string,
  at: string,
): Transition {
  return { transition, submissionId, failure: { class: kind, diagnostic }, failedAt, at };
}

function ladderMillis(attempts: number): number {
  const last = RECOVERY_LADDER_MILLIS.length - 1;
  return RECOVERY_LADDER_MILLIS[Math.min(attempts - 1, last)] ?? 0;
}
