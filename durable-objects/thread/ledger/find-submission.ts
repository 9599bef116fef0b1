// A submission by its id, which carries its queue sequence.
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import { queueSequenceOf } from "../../../shared/ids.ts";
import type { ThreadCore } from "../thread-core.ts";
import type { LedgerEntry } from "./ledger.store.ts";

/** The submission of an id, or null. */
export function findSubmission(core: ThreadCore, submissionId: string): LedgerEntry | null {
  const queueSequence = queueSequenceOf(submissionId);
  return queueSequence === null ? null : core.ledger.find(queueSequence, submissionId);
}

/** The submission of an id, or throws `SubmissionNotFound`. */
export function requireSubmission(core: ThreadCore, submissionId: string): LedgerEntry {
  const entry = findSubmission(core, submissionId);
  if (entry === null) {
    throw new HoldfastError(
      "SubmissionNotFound",
      "This thread has no such submission. Its id is in the receipt.",
    );
  }
  return entry;
}
