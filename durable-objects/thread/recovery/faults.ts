// The recovery fault of a thread, kept outside its log: noted when a run cannot be taken up, retried on its ladder, cleared by the first run that
// can. Each transition commits with what the host is told of it (REC-04, REC-05).
import { z } from "zod";
import { utf8Prefix } from "../../../shared/bytes.ts";
import type { Wait } from "../../../shared/wire/submission.ts";
import type { Fault, FaultFailure } from "../../../shared/wire/fault.ts";
import { logEvent } from "../../platform/log.ts";
import { RECOVERY_LANE } from "../../scheduler/lane.ts";
import { LogCorrupt } from "../journal/record-codec.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import type { ThreadCore } from "../thread-core.ts";
import { planAdmission, planAnnouncement, planClear, planFault, type Transition } from "./fault.ts";

const MAX_DIAGNOSTIC_BYTES = 256;

/** What is wrong with what the thread retains, by an error of reading it; null for any other error. */
export function failureOf(error: unknown): FaultFailure | null {
  if (error instanceof LogCorrupt) {
    return { class: "log-unreadable", diagnostic: utf8Prefix(error.message, MAX_DIAGNOSTIC_BYTES) };
  }
  if (error instanceof SyntaxError || error instanceof z.ZodError) {
    // Their words may hold what was read.
    return { class: "payload-unreadable", diagnostic: "a stored submission cannot be read" };
  }
  return null;
}

/** Notes the fault, and the head's wait for the next try, in one transaction. No attempt is charged: none was made. */
export function noteFault(core: ThreadCore, head: LedgerEntry, failure: FaultFailure): void {
  const owed = core.ledger.owed().map(({ submissionId }) => submissionId);
  const change = planFault(core.fault, failure, owed, core.clock.now());
  const { retryAt: deadline, failedAt: since, attempts } = change.fault;
  const wait: Wait = { reason: "recovery-fault", since, deadline, attempts };
  commitFault(core, change.fault, change.transitions, () =>
    core.ledger.setWait(head.queueSequence, wait, null),
  );
  // Retries are bookkeeping: the log says a fault once, as the host is told it once.
  if (change.transitions.length > 0) {
    logEvent("error", "recovery-fault", { threadId: core.threadId, ...failure });
  }
}

/** Ends the fault, if there is one: a run of the thread was taken up, or none is owed. */
export function clearFault(core: ThreadCore): void {
  if (core.fault === null) return;
  commitFault(core, null, planClear(core.fault, core.clock.now()));
  logEvent("info", "recovery-fault-cleared", { threadId: core.threadId });
}

/** Tells a handler that was not there when the fault came. */
export function announceFault(core: ThreadCore): void {
  const { fault } = core;
  if (fault === null || fault.isAnnounced || !core.lanes.has(RECOVERY_LANE)) return;
  commitFault(core, fault, planAnnouncement(fault, core.clock.now()));
}

/** Makes the next try now; false where nothing is at fault. The fault stays until that try succeeds. */
export function retryFault(core: ThreadCore): boolean {
  if (core.fault === null) return false;
  core.database.transact(() => {
    for (const { queueSequence, wait } of core.ledger.owed()) {
      if (wait?.reason === "recovery-fault") core.ledger.clearWait(queueSequence);
    }
    core.enrolNative("controlled");
  });
  core.committed([]);
  return true;
}

/** The admission of a submission to a thread at fault. Call inside its transaction; what it returns is in force once that committed. */
export function admitToFault(core: ThreadCore, submissionId: string): Fault | null {
  if (core.fault === null) return null;
  const { fault, transitions } = planAdmission(core.fault, submissionId, core.clock.now());
  return writeFault(core, fault, transitions);
}

function commitFault(
  core: ThreadCore,
  fault: Fault | null,
  transitions: readonly Transition[],
  alongside: () => void = () => undefined,
): void {
  const written = core.database.transact(() => {
    alongside();
    const stored = writeFault(core, fault, transitions);
    core.failpoints.hit("fault:inside");
    return stored;
  });
  core.fault = written;
  core.committed([]);
  core.failpoints.hit("fault:after");
}

/** Without a handler the transitions are told to nobody, and the fault remembers it. */
function writeFault(
  core: ThreadCore,
  fault: Fault | null,
  transitions: readonly Transition[],
): Fault | null {
  const { faults, lanes, row, threadId } = core;
  const isHeard = lanes.has(RECOVERY_LANE);
  const stored = fault === null ? null : { ...fault, isAnnounced: fault.isAnnounced || isHeard };
  row.noteFault(stored);
  // What a host never heard of does not clear for it either.
  if (isHeard && transitions.length > 0 && (stored ?? core.fault)?.isAnnounced === true) {
    const first = faults.takeSequences(transitions.length);
    lanes.post(
      RECOVERY_LANE,
      transitions.map((transition, index) => ({
        sequence: first + index,
        threadId,
        ...transition,
      })),
    );
  }
  return stored;
}
