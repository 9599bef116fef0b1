// A submission by its id, which carries its queue sequence.
import { must } from "../../../shared/assert.ts";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { queueSequenceOf, runIdOf } from "../../../shared/ids.ts";
import type { HostRun } from "../../../shared/wire/settlement.ts";
import type { ThreadCore } from "../thread-core.ts";
import type { Command, LedgerEntry } from "./ledger.store.ts";
import { isJoined } from "./select-head.ts";

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

/** The command of an owed submission, its input decoded. Throws `SyntaxError` where the stored text is none: a recovery fault (REC-04). */
export function requireCommand(
  core: ThreadCore,
  queueSequence: number,
): Omit<Command, "input"> & { readonly input: JsonValue } {
  const command = must(core.ledger.command(queueSequence), "an owed submission has its input");
  const input: JsonValue = JSON.parse(command.input);
  return { ...command, input };
}

/** The run that an owed submission's input is part of; null for one that has, or will have, a run of its own. */
export function hostOf(core: ThreadCore, entry: LedgerEntry): HostRun | null {
  if (entry.outcome !== null || entry.host === null || !isJoined(entry)) return null;
  const host = must(core.ledger.at(entry.host), "a host is a submission of its thread");
  return { submissionId: host.submissionId, runId: runIdOf(host.submissionId) };
}
