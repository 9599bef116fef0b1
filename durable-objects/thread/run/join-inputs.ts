// Takes the input of submissions that wait to join a run into it, at a turn boundary (RUN-09). A crash before the commit leaves them queued;
// after it, they stay part of the run whatever becomes of the attempt.
import { must } from "../../../shared/assert.ts";
import { utf8Length } from "../../../shared/bytes.ts";
import { MAX_CONTENT_BYTES } from "../../../shared/limits.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { requireCommand } from "../ledger/find-submission.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import { isJoining } from "../ledger/select-head.ts";
import type { ThreadCore } from "../thread-core.ts";
import type { LiveRun } from "./live-run.ts";
import { inputDraft, openBounded } from "./plan-opening.ts";

/** One commit takes about a record's worth of input; what is left waits for the next boundary. */
export function joinInputs(core: ThreadCore, live: LiveRun): void {
  const waiting = core.ledger.owed().filter((entry) => isJoining(entry, live.queueSequence));
  const drafts: RecordDraft[] = [];
  const joining: LedgerEntry[] = [];
  const leaving: LedgerEntry[] = [];
  let bytes = 0;
  for (const entry of waiting) {
    const draft = draftOf(core, live, entry);
    if (draft === null) {
      leaving.push(entry);
      continue;
    }
    bytes += utf8Length(JSON.stringify(draft));
    if (drafts.length > 0 && bytes > MAX_CONTENT_BYTES) break;
    drafts.push(draft);
    joining.push(entry);
  }
  core.commitAsAttempt(live, "join", drafts, ({ joined }) => {
    for (const { queueSequence } of leaving) core.joins.leave(queueSequence);
    for (const { queueSequence, submissionId } of joining) {
      const taken = joined.find((each) => each.submissionId === submissionId);
      core.joins.join(queueSequence, must(taken, "its record was appended").sequence);
    }
  });
  live.tookJoiners(joining.length + leaving.length < waiting.length);
}

/** Null where the author's functions do not take the input: it fails in a run of its own, and not in another's. */
function draftOf(core: ThreadCore, live: LiveRun, entry: LedgerEntry): RecordDraft | null {
  const command = requireCommand(core, entry.queueSequence);
  try {
    const { prompt } = openBounded(live.binding.agent, command.input);
    return inputDraft(entry.submissionId, live.state.runId, "joined", command, prompt);
  } catch {
    return null;
  }
}
