// A submission as callers read it: its derived state, its wait, its settlement, and what it spent.
import { runIdOf } from "../../../shared/ids.ts";
import type { Settlement } from "../../../shared/wire/settlement.ts";
import type { SubmissionView } from "../../../shared/wire/submission.ts";
import { NO_RUN_USAGE } from "../../../shared/wire/usage.ts";
import { receiptOf } from "../admission/submit.ts";
import { requireSubmission } from "../ledger/find-submission.ts";
import { readRunIfReadable } from "../run/read-run.ts";
import { readRecord } from "../journal/read-page.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import type { ThreadCore } from "../thread-core.ts";
import { stateOf } from "./thread-snapshot.ts";

export function readSubmission(core: ThreadCore, entry: LedgerEntry): SubmissionView {
  const claimedRun = core.row.read()?.claimedRun ?? null;
  const settlement = settlementOf(core, entry);
  return {
    ...receiptOf(core.threadId, entry),
    runId: runIdOf(entry.submissionId),
    ...stateOf(core, entry, claimedRun),
    ...(settlement === null ? {} : { settlement }),
    usage: settlement?.usage ?? readRunIfReadable(core, entry)?.usage ?? NO_RUN_USAGE,
  };
}

/** The settlement of a submission, or null while it is owed. Throws `SubmissionNotFound`. */
export function readSettlement(core: ThreadCore, submissionId: string): Settlement | null {
  return settlementOf(core, requireSubmission(core, submissionId));
}

function settlementOf(core: ThreadCore, entry: LedgerEntry): Settlement | null {
  if (entry.settledSequence === null) return null;
  const record = readRecord(core.journal, entry.settledSequence, "SubmissionSettled");
  return { ...record.payload, settledAt: record.createdAt, sequence: record.sequence };
}
