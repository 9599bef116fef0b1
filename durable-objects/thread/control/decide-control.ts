// What a control does to one submission: abort, decide, retry. Each is idempotent by what it names, and says its real effect. Pure; the
// caller commits the decision in one transaction.
import { unreachable } from "../../../shared/assert.ts";
import type { ControlDecision, ControlFacts } from "./control-decision.ts";
import { abortDrafts } from "./abort-drafts.ts";
import { decideOperation, type OperationCommand } from "./decide-operation.ts";

export type ControlCommand =
  | { readonly kind: "abort"; readonly author: string; readonly reason: string | null }
  | ({ readonly kind: "decide" } & OperationCommand)
  | { readonly kind: "retry"; readonly author: string; readonly reason: string };

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
    effect: run.start === null && !facts.wasClaimed ? "dequeued" : "signalled",
    answered: [],
  };
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
