// What several views of a thread derive from: its owed work and what is first among it. Read once per commit, however many look.
import { must } from "../../../shared/assert.ts";
import type { SubmissionState, Wait } from "../../../shared/wire/submission.ts";
import type { Attention, ThreadState, ThreadView } from "../../../shared/wire/thread.ts";
import type { Fault, FaultView } from "../../../shared/wire/fault.ts";
import type { HostRun } from "../../../shared/wire/settlement.ts";
import { hostOf } from "../ledger/find-submission.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import { findHead, selectHead, type HeadSelection } from "../ledger/select-head.ts";
import { deriveState } from "../ledger/submission-state.ts";
import type { ThreadRow } from "../ledger/thread-row.store.ts";
import type { ThreadCore } from "../thread-core.ts";
import { renderThreadState } from "./render-explanation.ts";

export interface ThreadSnapshot {
  readonly row: ThreadRow;
  readonly owed: readonly LedgerEntry[];
  readonly head: HeadSelection;
  readonly state: ThreadState;
}

export function readSnapshot(core: ThreadCore): ThreadSnapshot {
  const row = must(core.row.read(), "an open thread has its row");
  // What is not torn down yet is owed no more.
  const owed = core.tombstone === null ? core.ledger.owed() : [];
  const head = selectHead(owed, row.claimedRun, core.clock.now());
  const state = specialStateOf(core) ?? renderThreadState(owed.length, head);
  return { row, owed, head, state };
}

function specialStateOf({ tombstone, fault }: ThreadCore): "deleted" | "faulted" | null {
  if (tombstone !== null) return "deleted";
  return fault === null ? null : "faulted";
}

/** What callers see of a fault. */
export function showFault({
  class: kind,
  diagnostic,
  failedAt,
  attempts,
  retryAt,
}: Fault): FaultView {
  return { class: kind, diagnostic, failedAt, attempts, retryAt };
}

/** The state as a watcher is told it, and as the thread's own view begins. */
export function describeState(
  core: ThreadCore,
  snapshot: ThreadSnapshot,
): Omit<ThreadView, "tail" | "createdAt"> {
  const { row, owed, state } = snapshot;
  const head = findHead(owed, row.claimedRun);
  // Input that joined waits for its host, and so do the others behind it.
  const active = head && (hostOf(core, head) ?? head).submissionId;
  return {
    threadId: core.threadId,
    state,
    queueDepth: owed.length,
    ...(active === undefined ? {} : { activeSubmission: active }),
    attention: attentionOf(owed),
    ...(core.fault === null ? {} : { fault: showFault(core.fault) }),
    ...(core.tombstone === null ? {} : { tombstone: core.tombstone }),
  };
}

/** Owed work that nothing moves by itself. A model call that is retried soon is not among it. */
function attentionOf(owed: readonly LedgerEntry[]): Attention[] {
  return owed.flatMap(({ wait, submissionId }) => {
    if (wait === null || wait.reason === "retry-backoff") return [];
    const { reason, since, deadline, operationIds } = wait;
    return [
      {
        submissionId,
        reason,
        since,
        deadline,
        ...(operationIds === undefined ? {} : { operationIds }),
      },
    ];
  });
}

/** State and wait of one submission, as every view shows them. */
export function stateOf(
  core: ThreadCore,
  entry: LedgerEntry,
  claimedRun: number | null,
): { state: SubmissionState; wait?: Wait; host?: HostRun } {
  const wait = entry.outcome === null ? entry.wait : null;
  const host = hostOf(core, entry);
  return {
    state: deriveState(entry, claimedRun),
    ...(wait === null ? {} : { wait }),
    ...(host === null ? {} : { host }),
  };
}
