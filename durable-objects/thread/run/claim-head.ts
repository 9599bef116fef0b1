// Takes over a head for one attempt: raises the epoch and charges the attempt before any work starts. A crash here leaves either nothing or
// a run that any later attempt continues.
import { must } from "../../../shared/assert.ts";
import { toIsoInstant } from "../../../shared/time.ts";
import type { Wait } from "../../../shared/wire/submission.ts";
import type { Binding } from "../../agents/registry.ts";
import type { WaveEntry } from "../../scheduler/native-lanes.ts";
import { firstSequenceOf } from "../ledger/decide-claim.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import type { ThreadCore } from "../thread-core.ts";
import { continueRun } from "./continue-run.ts";
import type { Head, TakenUp } from "./head.ts";
import type { LiveRun } from "./live-run.ts";
import { loadRun } from "./read-run.ts";
import { startRun } from "./start-run.ts";

/** The live run, or null when the head is another now: it was parked, settled by its own opening, or repaired from the log. */
export function claimHead(
  core: ThreadCore,
  entry: LedgerEntry,
  binding: Binding,
  wave: WaveEntry,
  hasJoiners: boolean,
): LiveRun | null {
  core.failpoints.hit("claim:before");
  const thread = must(core.row.read(), "owed work has a thread row");
  const head: Head = { thread, entry, binding, hasJoiners, waveRevision: wave.revision };
  const first = firstSequenceOf(thread, entry);
  const taken = wave.isSuspect ? takeUpSuspect(core, head, first) : takeUp(core, head, first);
  if (taken.kind === "live") core.live = taken.live;
  if (taken.kind === "exhausted") park(core, entry, first, taken.attempts);
  return taken.kind === "live" ? taken.live : null;
}

function takeUp(core: ThreadCore, head: Head, first: number | null): TakenUp {
  if (first === null) return startRun(core, head);
  const { state, batches } = loadRun(core, head.entry, first);
  // Charged before it was started, and lost before its start was committed.
  return batches.length === 0
    ? startRun(core, head)
    : continueRun(core, head, { first, state, batches });
}

/**
 * After a wave that failed or died, the attempt is charged in a transaction of its own before anything is read, so that a run whose very
 * records cannot be read, or whose reading kills the object, is parked as well (REC-10).
 */
function takeUpSuspect(core: ThreadCore, head: Head, first: number | null): TakenUp {
  const { thread, entry } = head;
  const run = entry.queueSequence;
  const spent = thread.claimedRun === run ? thread.charge : 0;
  const isSpent = spent >= core.limits.maxFruitlessAttempts;
  if (isSpent && !core.journal.hasProgressedSince(run, thread.chargedAt)) {
    return { kind: "exhausted", attempts: spent };
  }
  chargeBeforeReading(core, head, first, spent + 1);
  return takeUp(core, head, first);
}

function chargeBeforeReading(
  core: ThreadCore,
  { thread, entry }: Head,
  first: number | null,
  charge: number,
): void {
  const isSameRun = thread.claimedRun === entry.queueSequence;
  core.database.transact(() => {
    core.row.claim({
      epoch: thread.epoch + 1,
      claimedRun: entry.queueSequence,
      claimedRunFirst: first ?? core.journal.tail().sequence + 1,
      charge,
      chargedAt: isSameRun ? thread.chargedAt : 0,
    });
    core.failpoints.hit("charge:inside");
  });
  core.failpoints.hit("charge:after");
}

function park(core: ThreadCore, entry: LedgerEntry, first: number | null, attempts: number): void {
  const since = toIsoInstant(core.clock.now());
  const wait: Wait = { reason: "attempts-exhausted", since, deadline: null, attempts };
  core.database.transact(() => {
    core.ledger.setWait(entry.queueSequence, wait, first);
    core.failpoints.hit("park:inside");
  });
  core.committed([]);
  core.failpoints.hit("park:after");
}
