// A head whose agent this deployment does not have, or has twice (THR-09): it waits for another deployment. Nothing of it is looked for by
// time, but a run that was started still ends at its deadline.
import { must } from "../../../shared/assert.ts";
import { toIsoInstant } from "../../../shared/time.ts";
import type { Wait } from "../../../shared/wire/submission.ts";
import { logEvent } from "../../platform/log.ts";
import type { WaveEntry } from "../../scheduler/native-lanes.ts";
import { firstSequenceOf } from "../ledger/decide-claim.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import type { ThreadCore } from "../thread-core.ts";
import { DURATION_PASSED } from "./decide-step.ts";
import { planSettlement } from "./plan-settlement.ts";
import { readRunIfReadable } from "./read-run.ts";
import { closeRun } from "./settle.ts";

/** Commits the wait, or the end of a run that is past its deadline. */
export function parkUnbound(core: ThreadCore, entry: LedgerEntry, wave: WaveEntry): void {
  const run = readRunIfReadable(core, entry);
  const deadlineAt = run?.start?.deadlineAt ?? null;
  const now = core.clock.now();
  if (run !== null && deadlineAt !== null && deadlineAt <= now) {
    const first = firstSequenceOf(must(core.row.read(), "an owed run has a thread"), entry);
    core.commitAsControl("expire", (append) => {
      const { queueSequence } = entry;
      const { state } = append(queueSequence, run, planSettlement(run, DURATION_PASSED));
      const began = must(first, "a run with a deadline was started");
      closeRun(core, { queueSequence, first: began }, state, wave.revision);
    });
    return;
  }
  // Before the commit, so that a crash between the two repeats the report and never loses it.
  const { submissionId, agentId } = entry;
  logEvent("warn", "binding-missing", { threadId: core.threadId, submissionId, agentId });
  const wait: Wait = {
    reason: "binding",
    since: toIsoInstant(now),
    deadline: deadlineAt === null ? null : toIsoInstant(deadlineAt),
  };
  core.database.transact(() => {
    core.ledger.setWait(entry.queueSequence, wait, null);
    core.row.noteUnbound(core.registry.key);
    core.failpoints.hit("unbound:inside");
  });
  core.committed([]);
  core.failpoints.hit("unbound:after");
}

/** For an object that wakes: what waits for a binding is looked at again by the first instance that has other bindings than those under which
 * it began to wait. */
export function resumeUnbound(core: ThreadCore): void {
  const unboundUnder = core.row.read()?.unboundUnder ?? null;
  if (unboundUnder === null || unboundUnder === core.registry.key) return;
  core.database.transact(() => {
    core.ledger.clearBindingWaits();
    core.row.noteUnbound(null);
    core.enrolNative("binding");
  });
}
