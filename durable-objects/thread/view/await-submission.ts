// Waiting for a submission to settle, and reading it as it is then.
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import type { SubmissionView, SubmitResult } from "../../../shared/wire/submission.ts";
import { requireSubmission } from "../ledger/find-submission.ts";
import type { ThreadCore } from "../thread-core.ts";
import { readSubmission } from "./read-submission.ts";

/** The submission once it settled, or after the timeout. Throws `SubmissionNotFound`, and `Overloaded` when too many wait. */
export async function awaitSubmission(
  core: ThreadCore,
  submissionId: string,
  timeoutMillis: number,
): Promise<SubmissionView> {
  const isSettled = (): true | null =>
    requireSubmission(core, submissionId).outcome === null ? null : true;
  if (timeoutMillis > 0) {
    await core.waiters.waitFor("settlement", undefined, timeoutMillis, isSettled);
  }
  return readSubmission(core, submissionId);
}

/** The same for work that was admitted a moment ago: whatever becomes of the wait, the receipt is owed, so it is answered without. */
export async function awaitAdmitted(
  core: ThreadCore,
  { receipt }: SubmitResult,
  timeoutMillis: number,
): Promise<Pick<SubmitResult, "submission">> {
  try {
    return { submission: await awaitSubmission(core, receipt.submissionId, timeoutMillis) };
  } catch (error) {
    if (error instanceof HoldfastError) return {};
    throw error;
  }
}
