// The words of an explanation: one sentence for what work does or waits for, one for what would move it. Pure.
import { unreachable } from "../../../shared/assert.ts";
import { toIsoInstant, type EpochMillis } from "../../../shared/time.ts";
import type { ExplainedSubmission } from "../../../shared/wire/explain.ts";
import type { HostRun } from "../../../shared/wire/settlement.ts";
import type { SubmissionState, Wait } from "../../../shared/wire/submission.ts";
import type { ThreadState } from "../../../shared/wire/thread.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import type { HeadSelection } from "../ledger/select-head.ts";

export interface SubmissionFacts {
  readonly threadId: string;
  readonly state: SubmissionState;
  readonly wait: Wait | null;
  readonly head: HeadSelection;
  /** Of its run, in epoch milliseconds; null where none was started, or its records cannot be read. */
  readonly deadlineAt: EpochMillis | null;
  readonly now: EpochMillis;
  /** The run that has its input. */
  readonly host: HostRun | null;
  /** Input of others is part of its run: what came after that waits with it. */
  readonly hasJoined: boolean;
}

interface Words {
  readonly why: string;
  readonly next: string;
}

export function renderThreadState(owed: number, head: HeadSelection): ThreadState {
  if (owed === 0) return "idle";
  return head.kind === "ready" ? "running" : "waiting";
}

export function renderSummary(
  state: ThreadState,
  submissions: readonly ExplainedSubmission[],
): string {
  if (state === "deleted") return "The thread was deleted. Nothing is owed; its id stays used.";
  const first = submissions.find((submission) => submission.state !== "queued") ?? submissions[0];
  if (first === undefined) return "Nothing is owed. The thread waits for a submission.";
  const others = submissions.length - 1;
  const more = others === 0 ? "" : ` ${others} more ${others === 1 ? "is" : "are"} owed.`;
  return `The thread is ${state}: ${first.why} ${first.next}${more}`;
}

export function renderSubmission(entry: LedgerEntry, facts: SubmissionFacts): ExplainedSubmission {
  const { wait, deadlineAt, now } = facts;
  return {
    submissionId: entry.submissionId,
    agentId: entry.agentId,
    queueSequence: entry.queueSequence,
    acceptedAt: toIsoInstant(entry.acceptedAt),
    state: facts.state,
    ...(wait === null ? {} : { wait }),
    ...(deadlineAt === null ? {} : { deadlineAt: toIsoInstant(deadlineAt) }),
    isOverdue: deadlineAt !== null && deadlineAt <= now,
    ...(wait === null ? wordsOf(entry, facts) : wordsOfWait(wait, entry.agentId, facts)),
  };
}

function wordsOf(entry: LedgerEntry, { state, head, host, threadId }: SubmissionFacts): Words {
  if (host !== null && state === "joined") {
    return {
      why: `Its input is part of the run of ${host.submissionId}.`,
      next: "It settles with that run; where no response follows it there, it gets a run of its own.",
    };
  }
  if (entry.host !== null) {
    return {
      why: "It joins the active run at that run's next turn boundary.",
      next: "It goes in by itself; if the run ends or parks before, it gets a run of its own.",
    };
  }
  if (state === "running") {
    return {
      why: "An attempt works on it, or is about to take it up again.",
      next: "It goes on by itself; the alarm guarantees it.",
    };
  }
  const isNext = head.kind === "ready" && head.head.queueSequence === entry.queueSequence;
  if (isNext) {
    return { why: "It is next.", next: "It starts by itself; the alarm guarantees it." };
  }
  const before = head.kind === "ready" ? head.head.submissionId : "the work before it";
  return {
    why: `It is queued behind ${before}: a thread runs one submission at a time, in order.`,
    next: `It starts when that settles or parks. GET /v1/threads/${threadId}/explain shows why that one waits.`,
  };
}

function wordsOfWait(wait: Wait, agentId: string, { threadId, hasJoined }: SubmissionFacts): Words {
  const decide = `POST /v1/threads/${threadId}/operations/decide`;
  const operations = wait.operationIds?.join(", ") ?? "";
  switch (wait.reason) {
    case "approval":
      return {
        why: `It waits for a person to approve, edit or deny ${operations}.`,
        next: `${decide} with approve, edit or deny moves it; without a decision it fails at its deadline, ${wait.deadline}.`,
      };
    case "unknown-outcome":
      return {
        why: `A tool call may or may not have happened outside: ${operations}. Nothing of it is repeated by itself, and ${hasJoined ? "what came after the input that joined it waits too" : "later submissions run"}.`,
        next: `Find out what happened, then ${decide} with completed, failed, never-started, safe-to-retry or abort. There is no deadline for that.`,
      };
    case "retry-backoff":
      return {
        why: "The model call failed in passing.",
        next: `It is called again at ${wait.deadline}.`,
      };
    case "attempts-exhausted":
      return {
        why: `${wait.attempts ?? 0} attempts in a row ended without one new record, so no further one is started.`,
        next: `Look at the logs for the cause, then POST /v1/threads/${threadId}/repair with action retry, or abort it. There is no deadline.`,
      };
    case "recovery-fault":
      return {
        why: `What the thread retains cannot be read; ${wait.attempts ?? 0} tries have failed. GET /v1/threads/${threadId}/verify names the first bad record.`,
        next: `It is tried again at ${wait.deadline}. POST /v1/threads/${threadId}/repair with action clear-fault tries now; abort ends this submission without reading it.`,
      };
    case "binding":
      return {
        why: `This deployment has no agent ${agentId}, or more than one and nothing selects.`,
        next: `It goes on with the first call of a deployment that has it. It can be aborted. ${wait.deadline === null ? "There is no deadline." : `Its run fails at its deadline, ${wait.deadline}.`}`,
      };
    default:
      return unreachable(wait.reason);
  }
}
