// What a control does to one submission: abort, decide, retry. Each is idempotent by what it names, and says its real effect. Pure; the
// caller commits the decision in one transaction.
import { unreachable } from "../../../shared/assert.ts";
import type { ErrorCode } from "../../../shared/errors/codes.ts";
import { runIdOf } from "../../../shared/ids.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { planSettlement } from "../run/plan-settlement.ts";
import type { RunState } from "../run/run-state.ts";
import { decideOperation, type OperationCommand } from "./decide-operation.ts";

export type ControlCommand =
  | { readonly kind: "abort"; readonly author: string; readonly reason: string | null }
  | ({ readonly kind: "decide" } & OperationCommand)
  | { readonly kind: "retry"; readonly author: string; readonly reason: string };

export interface ControlFacts {
  /** The run as the log has it; one that was never started for a submission that is queued. */
  readonly run: RunState;
  /** An attempt of this instance works on it: it settles the run itself. */
  readonly isLive: boolean;
  /** Parked after too many attempts without a new record. */
  readonly isExhausted: boolean;
  /** The thread's epoch. */
  readonly epoch: number;
}

export type ControlDecision =
  | {
      readonly kind: "commit";
      readonly drafts: readonly RecordDraft[];
      readonly effect: "dequeued" | "signalled" | "applied" | "resumed";
      /** Operations that this answers: the wait ends when none is left. */
      readonly answered: readonly string[];
      /** A note on the unknown outcome of a settled run. */
      readonly annotation?: { readonly operationId: string; readonly decisionDigest: string };
    }
  /** The same command was carried out before, or there is nothing to do: nothing is written. */
  | {
      readonly kind: "unchanged";
      readonly effect: "already-settled" | "signalled" | "replayed" | "not-parked";
    }
  | { readonly kind: "refused"; readonly code: ErrorCode; readonly detail: string };

export function decideControl(facts: ControlFacts, command: ControlCommand): ControlDecision {
  switch (command.kind) {
    case "abort":
      return decideAbort(facts, command.author, command.reason);
    case "decide":
      return decideOperation(facts, command);
    case "retry":
      return decideRetry(facts, command.author, command.reason);
    default:
      return unreachable(command);
  }
}

/**
 * Queued work settles at once, without waiting for its turn; so does work that waits, for nothing runs of it. A live attempt is told by
 * a canonical record before its model call or tool is interrupted, and settles the run itself (RUN-10).
 */
function decideAbort(facts: ControlFacts, author: string, reason: string | null): ControlDecision {
  const { run } = facts;
  if (run.settlement !== null) return { kind: "unchanged", effect: "already-settled" };
  if (run.abort !== null && facts.isLive) return { kind: "unchanged", effect: "signalled" };
  return {
    kind: "commit",
    drafts: abortDrafts(facts, author, reason),
    effect: run.start === null ? "dequeued" : "signalled",
    answered: [],
  };
}

/** The request, and, where no attempt is there to do it, the settlement in the same batch. */
export function abortDrafts(
  facts: ControlFacts,
  author: string,
  reason: string | null,
): RecordDraft[] {
  const { run, isLive } = facts;
  const { submissionId } = run;
  const settlement = isLive ? [] : planSettlement(run, { outcome: "aborted" });
  // An earlier request whose attempt was lost is settled by the next abort.
  if (run.abort !== null) return settlement;
  const request: RecordDraft = {
    type: "AbortRequested",
    submissionId,
    runId: runIdOf(submissionId),
    payload: { author, reason },
  };
  return [request, ...settlement];
}

function decideRetry(facts: ControlFacts, author: string, reason: string): ControlDecision {
  if (!facts.isExhausted) return { kind: "unchanged", effect: "not-parked" };
  const { submissionId } = facts.run;
  return {
    kind: "commit",
    drafts: [
      {
        type: "RepairAnnotated",
        submissionId,
        payload: { action: "retry", afterEpoch: facts.epoch, author, reason },
      },
    ],
    effect: "resumed",
    answered: [],
  };
}
