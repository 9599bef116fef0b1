// A run as the log has it.
import { must } from "../../../shared/assert.ts";
import { logEvent } from "../../platform/log.ts";
import type { StoredBatch } from "../journal/journal.store.ts";
import { readRecord } from "../journal/read-page.ts";
import { LogCorrupt } from "../journal/record-codec.ts";
import { firstSequenceOf } from "../ledger/decide-claim.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import type { ThreadCore } from "../thread-core.ts";
import { foldRecord } from "./fold-run.ts";
import { emptyRun, type RunState } from "./run-state.ts";

/** A run's records, and what they fold to. */
export function loadRun(
  core: ThreadCore,
  entry: Pick<LedgerEntry, "queueSequence" | "submissionId">,
  first: number,
): { state: RunState; batches: StoredBatch[] } {
  const batches = [...core.journal.readRun(entry.queueSequence, first)];
  let state = emptyRun(entry.submissionId);
  for (const batch of batches) {
    for (const stored of batch.records) state = foldRecord(state, stored);
  }
  return { state: restoreInput(core, state), batches };
}

/** The input of a run stands among another's records where it joined that one first, and was not answered there. */
function restoreInput(core: ThreadCore, state: RunState): RunState {
  const inputAt = state.start?.payload.inputAt;
  if (inputAt === undefined) return state;
  const { payload } = readRecord(core.journal, inputAt, "InputRecorded");
  const { input, allowances = null, metadata = null } = payload;
  return { ...state, input, allowances, metadata };
}

/** The run of a submission as the log has it; the live attempt's own copy where there is one. */
export function readRun(core: ThreadCore, entry: LedgerEntry): RunState {
  if (isLive(core, entry)) return must(core.live, "the run is live").state;
  const thread = must(core.row.read(), "a submission has a thread");
  const first = firstSequenceOf(thread, entry);
  return first === null ? emptyRun(entry.submissionId) : loadRun(core, entry, first).state;
}

/** An attempt of this instance works on the submission. */
export function isLive(core: ThreadCore, entry: LedgerEntry): boolean {
  const { live } = core;
  return live !== null && live.queueSequence === entry.queueSequence && !live.hasEnded;
}

/** The run of a submission, or null where its records cannot be read: what shows or ends such a run must not fail with it. */
export function readRunIfReadable(core: ThreadCore, entry: LedgerEntry): RunState | null {
  try {
    return readRun(core, entry);
  } catch (error) {
    if (!(error instanceof LogCorrupt)) throw error;
    const { submissionId } = entry;
    logEvent("error", "run-unreadable", { threadId: core.threadId, submissionId });
    return null;
  }
}
