// The native lane's wave: heads one after the other, until none is ready or the event's time is up.
import { raceTimer } from "../../../shared/race-timer.ts";
import type { EpochMillis } from "../../../shared/time.ts";
import type { EventBudget, WaveEntry } from "../../scheduler/native-lanes.ts";
import type { WaitReason } from "../../../shared/wire/submission.ts";
import type { Due, DueReason } from "../../scheduler/due.ts";
import { tearDown } from "../deletion/delete-thread.ts";
import { announceFault, clearFault, failureOf, noteFault } from "../recovery/faults.ts";
import { isJoining, selectHead } from "../ledger/select-head.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import type { ThreadCore } from "../thread-core.ts";
import { runAttempt, type AttemptEnd } from "./attempt.ts";
import { parkUnbound } from "./park-unbound.ts";
import { resolveBinding } from "./resolve-binding.ts";
import { traceAttempt } from "./trace-attempt.ts";
import type { LiveRun } from "./live-run.ts";
import { claimHead } from "./claim-head.ts";

export async function runHeads(
  core: ThreadCore,
  budget: EventBudget,
  wave: WaveEntry,
): Promise<Due> {
  announceFault(core);
  let hasRun = false;
  for (;;) {
    if (core.tombstone !== null) return tearDown(core, budget);
    const now = core.clock.now();
    const owed = core.ledger.owed();
    const head = selectHead(owed, core.row.read()?.claimedRun ?? null, now);
    if (head.kind === "none") clearFault(core);
    if (head.kind === "none") return { reason: "idle", dueAt: null };
    if (head.kind === "blocked") {
      return { reason: dueReasonOf(head.reason), dueAt: head.dueAt };
    }
    // Another thread of the object may be waiting for its turn.
    if (hasRun && budget.isShared === true) return { reason: "submitted", dueAt: now };
    hasRun = true;
    if (now >= budget.yieldAt) return { reason: "yield", dueAt: now };
    const hasJoiners = owed.some((entry) => isJoining(entry, head.head.queueSequence));
    const end = await runReadable(core, head.head, budget, wave, hasJoiners);
    if (end === "yielded") return { reason: "yield", dueAt: core.clock.now() };
    if (end === "abandoned" && core.tombstone === null)
      return { reason: "pass-failed", dueAt: core.clock.now() };
  }
}

/** A head that cannot be read waits for its next try, and everything behind it; whatever else goes wrong is the wave's failure. */
async function runReadable(...asked: Parameters<typeof runHead>): Promise<AttemptEnd> {
  const [core, head] = asked;
  try {
    return await runHead(...asked);
  } catch (error) {
    const failure = core.live === null ? failureOf(error) : null;
    if (failure === null) throw error;
    noteFault(core, head, failure);
    return "waiting";
  }
}

async function runHead(
  core: ThreadCore,
  head: LedgerEntry,
  budget: EventBudget,
  wave: WaveEntry,
  hasJoiners: boolean,
): Promise<AttemptEnd> {
  const binding = resolveBinding(core, head);
  if (binding === null) {
    parkUnbound(core, head, wave);
    return "waiting";
  }
  const live = claimHead(core, head, binding, wave, hasJoiners);
  clearFault(core);
  // Another head is first now.
  if (live === null) return "settled";
  return traceAttempt(core, live, () =>
    raceCeiling(core, live, runAttempt(core, live, budget), budget.ceilingAt),
  );
}

/**
 * The event ends at its ceiling whatever a handler does that ignores its signal: the attempt is abandoned, and the next one takes over
 * with a higher epoch, so that nothing the abandoned one still does can land.
 */
async function raceCeiling(
  core: ThreadCore,
  live: LiveRun,
  attempt: Promise<AttemptEnd>,
  ceilingAt: EpochMillis,
): Promise<AttemptEnd> {
  try {
    return await raceTimer(attempt, ceilingAt - core.clock.now(), () => {
      live.stop("ceiling");
      return "abandoned";
    });
  } finally {
    // An abandoned attempt ends unheard, also when it ends in an error.
    void attempt.catch(() => undefined);
  }
}

function dueReasonOf(reason: WaitReason): DueReason {
  return reason === "retry-backoff" || reason === "recovery-fault" ? reason : "run-deadline";
}
