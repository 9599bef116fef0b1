// The end of a submission: its settlement record, the ledger's outcome and the due queue, in one transaction (RUN-11).
import { assert, must } from "../../../shared/assert.ts";
import { queueSequenceOf } from "../../../shared/ids.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { selectHead } from "../ledger/select-head.ts";
import type { ThreadCore } from "../thread-core.ts";
import type { Ending } from "./decide-step.ts";
import type { LiveRun } from "./live-run.ts";
import { planSettlement } from "./plan-settlement.ts";
import type { RunState } from "./run-state.ts";

/** Settles the attempt's run with records that end in its settlement; a final response may share their batch. */
export function settleRun(
  core: ThreadCore,
  live: LiveRun,
  settlement: readonly RecordDraft[],
): void {
  core.commitAsAttempt(live, "settle", settlement, (state) => {
    closeRun(core, live, state, live.waveRevision);
    core.mutated("WorkerStop", state.submissionId, live.epoch);
  });
  const tail = core.journal.tail().sequence;
  // Where other runs' records lie in between, as after a park, only the log knows the order.
  if (live.isContiguousTo(tail)) core.history.keep(live.history, live.asHistory(), tail);
}

export function settleWith(core: ThreadCore, live: LiveRun, ending: Ending): void {
  settleRun(core, live, planSettlement(live.state, ending));
}

/**
 * The ledger's side of a settlement: the run, what joined it and was delivered, and the rest of it, which goes back to the queue. Call inside
 * its transaction. When nothing can run any more, the due queue goes idle with it, at the revision that the running wave saw, so that a newer
 * enrolment stays; outside a wave the caller sees to the queue.
 * @param run its place in the queue, and its first record
 */
export function closeRun(
  core: ThreadCore,
  run: { readonly queueSequence: number; readonly first: number },
  state: RunState,
  waveRevision: number | null,
): void {
  const { queueSequence, first } = run;
  const isFirst = settleInLedger(core, queueSequence, first, state.settlement);
  assert(isFirst, "a submission settles once");
  core.mutated("Settlement", state.submissionId);
  for (const { submissionId, sequence, settlement } of state.joined) {
    if (settlement === null) continue;
    const joined = must(queueSequenceOf(submissionId), "what joined is a submission");
    if (settleInLedger(core, joined, sequence, settlement))
      core.mutated("Settlement", submissionId);
  }
  const owed = core.ledger.owed().map((entry) => {
    if (entry.host !== queueSequence) return entry;
    core.joins.leave(entry.queueSequence);
    return { ...entry, host: null };
  });
  if (waveRevision === null) return;
  const next = selectHead(owed, queueSequence, core.clock.now());
  if (next.kind === "none") {
    const idle = { reason: "idle", dueAt: null } as const;
    core.dueQueue.acknowledge(core.nativeLane, waveRevision, idle);
  }
}

function settleInLedger(
  core: ThreadCore,
  queueSequence: number,
  first: number,
  settlement: RunState["settlement"],
): boolean {
  const { payload, sequence } = must(settlement, "a run that closes has its settlement");
  const { outcome, usage } = payload;
  return core.ledger.settle(queueSequence, outcome, sequence, first, usage);
}
