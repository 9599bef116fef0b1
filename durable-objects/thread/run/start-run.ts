// The first attempt at a submission: epoch, charge, and its input made canonical, in one transaction.
import { must } from "../../../shared/assert.ts";
import { providerOf } from "../../model/provider-of.ts";
import { decideClaim } from "../ledger/decide-claim.ts";
import { requireCommand } from "../ledger/find-submission.ts";
import type { ThreadCore } from "../thread-core.ts";
import { foldRun } from "./fold-run.ts";
import type { Head, TakenUp } from "./head.ts";
import { LiveRun } from "./live-run.ts";
import { createThreadDrafts, planOpening } from "./plan-opening.ts";
import { closeRun } from "./settle.ts";

export function startRun(core: ThreadCore, head: Head): TakenUp {
  const { thread, entry, binding, waveRevision } = head;
  const { queueSequence, submissionId } = entry;
  const { principal, input, allowances, metadata } = requireCommand(core, queueSequence);
  const inputAt = entry.joinedAt;
  const first = core.journal.tail().sequence + 1;
  const history = core.history.select(first, providerOf(binding.modelIdentity));
  const now = core.clock.now();
  const drafts = [
    ...createThreadDrafts(thread, first),
    ...planOpening(
      submissionId,
      binding,
      { input, allowances, metadata, inputAt },
      history.from,
      now,
    ),
  ];
  const last = first + drafts.length - 1;
  const decision = decideClaim({
    thread,
    run: queueSequence,
    firstSequence: first,
    lastProgress: last,
    maxFruitlessAttempts: core.limits.maxFruitlessAttempts,
  });
  if (decision.kind === "park") return { kind: "exhausted", attempts: decision.attempts };
  const { claim } = decision;
  const { state, appended } = core.database.transact(() => {
    core.row.claim(claim);
    if (entry.wait !== null) core.ledger.clearWait(queueSequence);
    // It was to join a run that is parked now.
    if (entry.host !== null) core.joins.leave(queueSequence);
    const added = core.journal.append(queueSequence, claim.epoch, drafts, now);
    const folded = must(foldRun(added.records), "a started run has records");
    if (folded.settlement !== null) closeRun(core, { queueSequence, first }, folded, waveRevision);
    core.failpoints.hit("claim:inside");
    return { state: { ...folded, input, allowances, metadata }, appended: added };
  });
  core.committed(appended.records);
  core.failpoints.hit("claim:after");
  if (state.settlement !== null) return { kind: "settled" };
  const live = new LiveRun({
    queueSequence,
    first,
    epoch: claim.epoch,
    supersededEpoch: null,
    waveRevision,
    hasJoiners: head.hasJoiners,
    principal,
    binding,
    history,
    state,
    size: { records: appended.records.length, bytes: appended.bytes },
  });
  return { kind: "live", live };
}
