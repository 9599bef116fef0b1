// The controls as callers ask for them: by submission or operation, with the answer of the wire.
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import { DEFAULT_TOOL_RESULT_BYTES } from "../../../shared/limits.ts";
import { parseOperationId, type OperationName } from "../../../shared/ids.ts";
import type { Decision, DecideResult } from "../../../shared/wire/operations.ts";
import type {
  AbortRequest,
  AbortResult,
  RetryRequest,
  RetryResult,
} from "../../../shared/wire/submission.ts";
import type { ThreadCore } from "../thread-core.ts";
import { readSettlement } from "../view/read-submission.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import { findSubmission, requireSubmission } from "../ledger/find-submission.ts";
import { applyControl } from "./apply-control.ts";

export function abortSubmission(
  core: ThreadCore,
  asked: { submissionId: string; principal: string; request: AbortRequest },
): AbortResult {
  const entry = requireSubmission(core, asked.submissionId);
  const reason = asked.request.reason ?? null;
  const effect =
    entry.outcome === null
      ? applyControl(core, entry, { kind: "abort", author: asked.principal, reason })
      : "already-settled";
  const settlement = readSettlement(core, asked.submissionId);
  return {
    effect: effect === "dequeued" || effect === "already-settled" ? effect : "signalled",
    ...(settlement === null ? {} : { settlement }),
  };
}

export function resolveOperation(
  core: ThreadCore,
  author: string,
  decision: Decision,
): DecideResult["results"][number] {
  const { named, entry } = requireOperation(core, decision.operationId);
  const binding = core.registry.find(entry.agentId);
  const effect = applyControl(core, entry, {
    kind: "decide",
    author,
    decision,
    callId: named.callId,
    dispatch: named.dispatch,
    mayBeAsked: (toolName) => binding?.tools.get(toolName)?.mayNeedApproval === true,
    maxResultBytes: binding?.agent.policy.toolResultBounds.maxBytes ?? DEFAULT_TOOL_RESULT_BYTES,
    annotated: new Map(
      core.ledger
        .annotations(entry.queueSequence)
        .map((note) => [note.operationId, note.decisionDigest]),
    ),
  });
  return {
    operationId: decision.operationId,
    status: effect === "replayed" ? "replayed" : "applied",
  };
}

function requireOperation(
  core: ThreadCore,
  operationId: string,
): { named: OperationName; entry: LedgerEntry } {
  const named = parseOperationId(operationId);
  const entry = named === null ? null : findSubmission(core, named.submissionId);
  if (named === null || entry === null) {
    throw new HoldfastError(
      "OperationNotFound",
      "This thread has no operation of that id. List its operations.",
    );
  }
  return { named, entry };
}

export function retryParked(
  core: ThreadCore,
  asked: { principal: string; request: RetryRequest },
): RetryResult {
  const { target, reason } = asked.request;
  const entry = requireSubmission(core, target);
  const effect = applyControl(core, entry, { kind: "retry", author: asked.principal, reason });
  return { effect: effect === "resumed" ? "resumed" : "not-parked" };
}
