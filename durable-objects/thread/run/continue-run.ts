// A later attempt at a run that the log has begun: epoch and charge in one transaction, everything else from the log.
import { must } from "../../../shared/assert.ts";
import type { StoredBatch } from "../journal/journal.store.ts";
import { providerOf } from "../../model/provider-of.ts";
import { decideClaim } from "../ledger/decide-claim.ts";
import type { ThreadCore } from "../thread-core.ts";
import type { Head, TakenUp } from "./head.ts";
import { LiveRun } from "./live-run.ts";
import type { RunState } from "./run-state.ts";
import { closeRun } from "./settle.ts";

/** The run as the log has it. */
interface LoadedRun {
  readonly first: number;
  readonly state: RunState;
  readonly batches: readonly StoredBatch[];
}

export function continueRun(core: ThreadCore, head: Head, run: LoadedRun): TakenUp {
  const { thread, entry, binding, waveRevision } = head;
  const { first, state, batches } = run;
  const { queueSequence } = entry;
  if (state.settlement !== null) {
    // The log has the outcome; a ledger that says otherwise is repaired from it, never the reverse (RUN-11).
    core.database.transact(() => closeRun(core, { queueSequence, first }, state, waveRevision));
    core.committed([], true);
    return { kind: "settled" };
  }
  const decision = decideClaim({
    thread,
    run: queueSequence,
    firstSequence: first,
    lastProgress: state.lastProgress,
    maxFruitlessAttempts: core.limits.maxFruitlessAttempts,
  });
  if (decision.kind === "park") return { kind: "exhausted", attempts: decision.attempts };
  const { claim, supersededEpoch } = decision;
  core.database.transact(() => {
    core.row.claim(claim);
    if (entry.wait !== null) core.ledger.clearWait(queueSequence);
    core.failpoints.hit("claim:inside");
  });
  core.committed([]);
  core.failpoints.hit("claim:after");
  const start = must(state.start, "a run that goes on was started");
  const live = new LiveRun({
    queueSequence,
    first,
    epoch: claim.epoch,
    supersededEpoch,
    waveRevision,
    hasJoiners: head.hasJoiners,
    principal: must(core.ledger.command(queueSequence), "the submission is there").principal,
    binding,
    history: core.history.restore(
      first,
      start.payload.historyFrom,
      providerOf(binding.modelIdentity),
    ),
    state,
    size: {
      records: batches.reduce((sum, batch) => sum + batch.records.length, 0),
      bytes: batches.reduce((sum, batch) => sum + batch.bytes, 0),
    },
  });
  return { kind: "live", live };
}
