// A thread at a glance, the list of its submissions, and what it spent.
import { runIdOf } from "../../../shared/ids.ts";
import { toIsoInstant } from "../../../shared/time.ts";
import type {
  ListSubmissionsRequest,
  SubmissionList,
  SubmissionSummary,
} from "../../../shared/wire/submission.ts";
import type { ThreadView } from "../../../shared/wire/thread.ts";
import { addUsage, NO_RUN_USAGE, type ThreadUsage } from "../../../shared/wire/usage.ts";
import { receiptOf } from "../admission/submit.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import { readRunIfReadable } from "../run/read-run.ts";
import type { ThreadCore } from "../thread-core.ts";
import { describeState, readSnapshot, stateOf } from "./thread-snapshot.ts";

export function readThread(core: ThreadCore): ThreadView {
  const snapshot = readSnapshot(core);
  return {
    ...describeState(core, snapshot),
    tail: core.journal.tail().sequence,
    createdAt: toIsoInstant(snapshot.row.createdAt),
  };
}

/** By queue sequence. Owed work is at most the queue's depth, so its derived states are filtered in memory; settled work is by the store. */
export function listSubmissions(
  core: ThreadCore,
  { after, limit, state }: ListSubmissionsRequest,
): SubmissionList {
  const claimedRun = core.row.read()?.claimedRun ?? null;
  const summarize = (entry: LedgerEntry): SubmissionSummary => ({
    ...receiptOf(core.threadId, entry),
    runId: runIdOf(entry.submissionId),
    ...stateOf(core, entry, claimedRun),
    ...(entry.outcome === null ? {} : { outcome: entry.outcome }),
  });
  const isOwedState = state !== undefined && state !== "settled";
  const found = isOwedState
    ? core.ledger
        .owed()
        .filter(({ queueSequence }) => queueSequence > after)
        .map(summarize)
        .filter((summary) => summary.state === state)
    : core.ledger.page(after, limit + 1, state === "settled").map(summarize);
  const submissions = found.slice(0, limit);
  const last = submissions.at(-1)?.queueSequence ?? null;
  return { submissions, next: found.length > limit ? last : null };
}

/** The sums of settled work are the ledger's; the runs that are owed are folded, at most the queue's depth of them. */
export function readUsage(core: ThreadCore): ThreadUsage {
  const { usage: settledUsage, settled } = core.ledger.settledUsage();
  const owed = core.ledger.owed().map((entry) => ({
    submissionId: entry.submissionId,
    usage: readRunIfReadable(core, entry)?.usage ?? NO_RUN_USAGE,
  }));
  return {
    threadId: core.threadId,
    usage: owed.reduce((sum, each) => addUsage(sum, each.usage), settledUsage),
    settled,
    owed,
  };
}
