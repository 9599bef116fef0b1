// Waiting for a submission to settle, and reading it as it is then.
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import type { Settlement } from "../../../shared/wire/settlement.ts";
import type { SubmissionView, SubmitResult } from "../../../shared/wire/submission.ts";
import { requireSubmission } from "../ledger/find-submission.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import { refuseDeleted } from "../deletion/delete-thread.ts";
import type { ThreadCore } from "../thread-core.ts";
import { readSettlement, readSubmission } from "./read-submission.ts";

/** The submission once it settled, or after the timeout. Throws `SubmissionNotFound`, and `Overloaded` when too many wait. */
export async function awaitSubmission(
  core: ThreadCore,
  submissionId: string,
  timeoutMillis: number,
  waitId: string | undefined,
): Promise<SubmissionView> {
  const findSettled = (): LedgerEntry | null => {
    refuseDeleted(core);
    const entry = requireSubmission(core, submissionId);
    return entry.outcome === null ? null : entry;
  };
  const settled =
    timeoutMillis > 0
      ? await core.waiters.waitFor("settlement", waitId, timeoutMillis, findSettled)
      : null;
  return readSubmission(core, settled ?? requireSubmission(core, submissionId));
}

/** The settlement, or null when it is still owed after the timeout. Throws like `awaitSubmission`. */
export async function awaitSettled(
  core: ThreadCore,
  asked: { submissionId: string; timeoutMillis: number; waitId?: string | undefined },
): Promise<Settlement | null> {
  const { submissionId, timeoutMillis, waitId } = asked;
  return core.waiters.waitFor("settlement", waitId, timeoutMillis, () => {
    refuseDeleted(core);
    return readSettlement(core, submissionId);
  });
}

/** The submission for work that was admitted a moment ago: whatever becomes of the wait, the receipt is owed, so it is answered without. */
export async function awaitAdmitted(
  core: ThreadCore,
  { receipt }: SubmitResult,
  timeoutMillis: number,
  waitId: string | undefined,
): Promise<Pick<SubmitResult, "submission">> {
  try {
    const { submissionId } = receipt;
    return { submission: await awaitSubmission(core, submissionId, timeoutMillis, waitId) };
  } catch (error) {
    if (error instanceof HoldfastError) return {};
    throw error;
  }
}
