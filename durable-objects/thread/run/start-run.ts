// The first attempt at a submission: epoch, charge, and its input made canonical, in one transaction.
import { must } from "../../../shared/assert.ts";
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { providerOf } from "../../model/provider-of.ts";
import { decideClaim } from "../ledger/decide-claim.ts";
import type { ThreadCore } from "../thread-core.ts";
import { foldRun } from "./fold-run.ts";
import type { Head, TakenUp } from "./head.ts";
import { LiveRun } from "./live-run.ts";
import { createThreadDrafts, planOpening } from "./plan-opening.ts";
import { closeSubmission } from "./settle.ts";

export function startRun(core: ThreadCore, head: Head): TakenUp {
  const { thread, entry, binding, waveRevision } = head;
  const { queueSequence, submissionId } = entry;
  const command = must(core.ledger.command(queueSequence), "an owed submission has its input");
  const input: JsonValue = JSON.parse(command.input);
  const { allowances } = command;
  const first = core.journal.tail().sequence + 1;
  const history = core.history.select(first, providerOf(binding.modelIdentity));
  const now = core.clock.now();
  const drafts = [
    ...createThreadDrafts(thread, first),
    ...planOpening(submissionId, binding, { input, allowances }, history.from, now),
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
  const ending = drafts.at(-1);
  const settled = ending?.type === "SubmissionSettled" ? ending.payload : null;
  const appended = core.database.transact(() => {
    core.row.claim(claim);
    const added = core.journal.append(queueSequence, claim.epoch, drafts, now);
    if (settled !== null) {
      const closing = { queueSequence, payload: settled, sequence: last, first };
      closeSubmission(core, closing, waveRevision);
    }
    core.failpoints.hit("claim:inside");
    return added;
  });
  core.committed(appended.records);
  core.failpoints.hit("claim:after");
  if (settled !== null) return { kind: "settled" };
  const live = new LiveRun({
    queueSequence,
    first,
    epoch: claim.epoch,
    supersededEpoch: null,
    waveRevision,
    principal: command.principal,
    binding,
    history,
    state: must(foldRun(appended.records), "a started run has records"),
    size: { records: appended.records.length, bytes: appended.bytes },
  });
  return { kind: "live", live };
}
