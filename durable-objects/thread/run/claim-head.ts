// Takes over a head for one attempt: raises the epoch and charges the attempt before any work starts, and makes the input canonical if it
// is not yet; all in one transaction, so that a crash here leaves either nothing or a run that any later attempt continues.
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { must } from "../../../shared/assert.ts";
import { toIsoInstant } from "../../../shared/time.ts";
import type { Wait } from "../../../shared/wire/submission.ts";
import type { Binding } from "../../agents/registry.ts";
import type { WaveEntry } from "../../scheduler/alarm-pass.ts";
import type { Appended, StoredBatch } from "../journal/journal.store.ts";
import { LogCorrupt } from "../journal/record-codec.ts";
import { decideClaim, firstSequenceOf } from "../ledger/decide-claim.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import type { ThreadRow } from "../ledger/thread-row.store.ts";
import type { ThreadCore } from "../thread-core.ts";
import { foldRun } from "./fold-run.ts";
import type { SelectedHistory } from "./history.ts";
import { LiveRun } from "./live-run.ts";
import { createThreadDrafts, planOpening } from "./plan-opening.ts";
import { loadRun } from "./read-run.ts";
import type { RunState } from "./run-state.ts";
import { closeSubmission } from "./settle.ts";

export type ClaimOutcome =
  | { readonly kind: "claimed"; readonly live: LiveRun }
  /** Parked, settled by its own opening, or repaired from the log: the head is another now. */
  | { readonly kind: "moved-on" };

/** How the wave found the lane that its claims belong to. */
export type Wave = Pick<WaveEntry, "revision" | "isSuspect">;

/**
 * After a wave that failed or died, the attempt is charged in a transaction of its own before anything is read, so that a run whose very
 * records cannot be read, or whose reading kills the object, is parked as well (REC-10).
 */
export function claimHead(
  core: ThreadCore,
  entry: LedgerEntry,
  binding: Binding,
  wave: Wave,
): ClaimOutcome {
  core.failpoints.hit("claim:before");
  const thread = must(core.row.read(), "owed work has a thread row");
  const first = firstSequenceOf(thread, entry);
  const spent = thread.claimedRun === entry.queueSequence ? thread.charge : 0;
  const max = core.limits.maxFruitlessAttempts;
  if (!wave.isSuspect) return takeUp(core, thread, entry, binding, wave, first);
  // A death while reading cannot be caught: past twice the cap nothing is read any more.
  if (spent >= 2 * max) return parkExhausted(core, entry, first, spent);
  chargeBeforeReading(core, thread, entry, first, spent + 1);
  try {
    return takeUp(core, thread, entry, binding, wave, first);
  } catch (error) {
    if (spent < max || !(error instanceof LogCorrupt)) throw error;
    return parkExhausted(core, entry, first, spent);
  }
}

function chargeBeforeReading(
  core: ThreadCore,
  thread: ThreadRow,
  entry: LedgerEntry,
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

function takeUp(
  core: ThreadCore,
  thread: ThreadRow,
  entry: LedgerEntry,
  binding: Binding,
  wave: Wave,
  first: number | null,
): ClaimOutcome {
  if (first === null) return startRun(core, thread, entry, binding, wave);
  const { state, batches } = loadRun(core, entry, first);
  // Charged before it was started, and lost before its start was committed.
  if (batches.length === 0) return startRun(core, thread, entry, binding, wave);
  return continueRun(core, thread, entry, binding, wave, { first, state, batches });
}

function startRun(
  core: ThreadCore,
  thread: ThreadRow,
  entry: LedgerEntry,
  binding: Binding,
  wave: Wave,
): ClaimOutcome {
  const { principal, input } = must(
    core.ledger.command(entry.queueSequence),
    "an owed submission has its input",
  );
  const first = core.journal.tail().sequence + 1;
  const history = core.history.select(first);
  const parsed: JsonValue = JSON.parse(input);
  const drafts = [
    ...createThreadDrafts(thread, first),
    ...planOpening(entry.submissionId, binding, parsed, history.from, core.clock.now()),
  ];
  const settled = drafts.at(-1)?.type === "SubmissionSettled";
  const decision = decideClaim({
    thread,
    run: entry.queueSequence,
    firstSequence: first,
    lastProgress: first + drafts.length - 1,
    maxFruitlessAttempts: core.limits.maxFruitlessAttempts,
  });
  if (decision.kind === "park") return parkExhausted(core, entry, first, decision.attempts);
  const { claim } = decision;
  const appended = core.database.transact(() => {
    core.row.claim(claim);
    const added = core.journal.append(entry.queueSequence, claim.epoch, drafts, core.clock.now());
    const { queueSequence } = entry;
    const sequence = first + drafts.length - 1;
    const closing = { queueSequence, outcome: "failed", sequence, first } as const;
    if (settled) closeSubmission(core, closing, wave.revision);
    core.failpoints.hit("claim:inside");
    return added;
  });
  core.waiters.notify(settled);
  core.failpoints.hit("claim:after");
  if (settled) return { kind: "moved-on" };
  const state = must(foldRun(appended.records), "a started run has records");
  return claimed(core, entry, binding, {
    first,
    epoch: claim.epoch,
    principal,
    history,
    state,
    supersededEpoch: null,
    waveRevision: wave.revision,
    appended,
  });
}

function continueRun(
  core: ThreadCore,
  thread: ThreadRow,
  entry: LedgerEntry,
  binding: Binding,
  wave: Wave,
  run: {
    readonly first: number;
    readonly state: RunState;
    readonly batches: readonly StoredBatch[];
  },
): ClaimOutcome {
  const { first, state, batches } = run;
  if (state.settlement !== null) {
    // The log has the outcome; a ledger that says otherwise is repaired from it, never the reverse (RUN-11).
    const { payload, sequence } = state.settlement;
    const { queueSequence } = entry;
    const closing = { queueSequence, outcome: payload.outcome, sequence, first };
    core.database.transact(() => closeSubmission(core, closing, wave.revision));
    core.waiters.notify(true);
    return { kind: "moved-on" };
  }
  const decision = decideClaim({
    thread,
    run: entry.queueSequence,
    firstSequence: first,
    lastProgress: state.lastProgress,
    maxFruitlessAttempts: core.limits.maxFruitlessAttempts,
  });
  if (decision.kind === "park") return parkExhausted(core, entry, first, decision.attempts);
  const { claim, supersededEpoch } = decision;
  core.database.transact(() => {
    core.row.claim(claim);
    if (entry.wait !== null) core.ledger.clearWait(entry.queueSequence);
    core.failpoints.hit("claim:inside");
  });
  core.failpoints.hit("claim:after");
  const { principal } = must(core.ledger.command(entry.queueSequence), "the submission is there");
  const start = must(state.start, "a run that goes on was started");
  return claimed(core, entry, binding, {
    first,
    epoch: claim.epoch,
    principal,
    history: core.history.restore(first, start.payload.historyFrom),
    state,
    supersededEpoch,
    waveRevision: wave.revision,
    appended: {
      records: batches.flatMap((batch) => batch.records),
      bytes: batches.reduce((sum, batch) => sum + batch.bytes, 0),
    },
  });
}

function parkExhausted(
  core: ThreadCore,
  entry: LedgerEntry,
  first: number | null,
  attempts: number,
): ClaimOutcome {
  const since = toIsoInstant(core.clock.now());
  const wait: Wait = { reason: "attempts-exhausted", since, deadline: null, attempts };
  core.database.transact(() => {
    core.ledger.setWait(entry.queueSequence, wait, first);
    core.failpoints.hit("park:inside");
  });
  core.failpoints.hit("park:after");
  return { kind: "moved-on" };
}

function claimed(
  core: ThreadCore,
  entry: LedgerEntry,
  binding: Binding,
  run: {
    readonly first: number;
    readonly epoch: number;
    readonly principal: string;
    readonly history: SelectedHistory;
    readonly state: RunState;
    readonly supersededEpoch: number | null;
    readonly waveRevision: number;
    readonly appended: Appended;
  },
): ClaimOutcome {
  const live = new LiveRun({
    queueSequence: entry.queueSequence,
    binding,
    ...run,
    size: { records: run.appended.records.length, bytes: run.appended.bytes },
  });
  core.live = live;
  return { kind: "claimed", live };
}
