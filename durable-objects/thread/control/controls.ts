// The controls as callers ask for them: by submission or operation, with the answer of the wire.
import { utf8Length } from "../../../shared/bytes.ts";
import { canonicalJson, type JsonValue } from "../../../shared/canonical-json.ts";
import type { Tool } from "../../../shared/define/tool.ts";
import { HoldfastError, type SchemaFault } from "../../../shared/errors/holdfast-error.ts";
import { DEFAULT_TOOL_RESULT_BYTES, MAX_EDITED_ARGUMENTS_BYTES } from "../../../shared/limits.ts";
import { parseOperationId, type OperationName } from "../../../shared/ids.ts";
import type { DecideRequest, DecideResult, Decision } from "../../../shared/wire/operations.ts";
import type {
  AbortRequest,
  AbortResult,
  RepairRequest,
  RepairResult,
} from "../../../shared/wire/submission.ts";
import { logEvent } from "../../platform/log.ts";
import type { ThreadCore } from "../thread-core.ts";
import { resolveBinding } from "../run/resolve-binding.ts";
import { retryFault } from "../recovery/faults.ts";
import { readSettlement } from "../view/read-submission.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import { findSubmission, hostOf, requireSubmission } from "../ledger/find-submission.ts";
import { applyControl, applyControls, type Control } from "./apply-control.ts";

export function abortSubmission(
  core: ThreadCore,
  author: string,
  asked: { submissionId: string; request: AbortRequest },
): AbortResult {
  const entry = requireSubmission(core, asked.submissionId);
  const host = hostOf(core, entry);
  if (host !== null) return { effect: "joined", host };
  const reason = asked.request.reason ?? null;
  const effect =
    entry.outcome === null
      ? applyControl(core, entry, { kind: "abort", author, reason })
      : "already-settled";
  const settlement = readSettlement(core, asked.submissionId);
  return {
    effect: effect === "dequeued" || effect === "already-settled" ? effect : "signalled",
    ...(settlement === null ? {} : { settlement }),
  };
}

/** All of the decisions or none (TOOL-10). A refusal points at the decision that was refused. */
export function decideOperations(
  core: ThreadCore,
  author: string,
  { decisions }: DecideRequest,
): DecideResult {
  const pointerOf = (index: number): string => `/decisions/${index}`;
  const controls = decisions.map((decision, index) =>
    toControl(core, author, decision, pointerOf(index)),
  );
  const effects = applyControls(core, "decide", controls, ({ code, detail, errors }, index) => {
    const at = pointerOf(index);
    throw new HoldfastError(code, detail, {
      errors: errors?.map(({ pointer, message }) => ({ pointer: at + pointer, message })) ?? [
        { pointer: at, message: detail },
      ],
    });
  });
  return {
    results: decisions.map(({ operationId }, index) => ({
      operationId,
      status: effects[index] === "replayed" ? "replayed" : "applied",
    })),
  };
}

function toControl(core: ThreadCore, author: string, decision: Decision, pointer: string): Control {
  const { named, entry } = requireOperation(core, decision.operationId, pointer);
  const binding = resolveBinding(core, entry);
  const toolOf = (toolName: string): Tool | undefined => binding?.tools.get(toolName);
  return {
    entry,
    command: {
      kind: "decide",
      author,
      decision,
      callId: named.callId,
      dispatch: named.dispatch,
      mayBeAsked: (toolName) => toolOf(toolName)?.mayNeedApproval === true,
      checkArguments: (toolName, args) => checkArguments(toolOf(toolName), args),
      maxResultBytes: binding?.agent.policy.toolResultBounds.maxBytes ?? DEFAULT_TOOL_RESULT_BYTES,
      annotated: new Map(
        core.annotations
          .of(entry.queueSequence)
          .map((note) => [note.operationId, note.decisionDigest]),
      ),
    },
  };
}

/** Edited arguments stand where the model's stood, so they are bounded and checked as those are. */
function checkArguments(tool: Tool | undefined, args: JsonValue): readonly SchemaFault[] {
  if (tool === undefined) {
    return [
      { pointer: "", message: "this deployment does not have the tool, so nothing can be checked" },
    ];
  }
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    return [{ pointer: "", message: "the arguments of a call are an object" }];
  }
  if (utf8Length(canonicalJson(args)) > MAX_EDITED_ARGUMENTS_BYTES) {
    return [{ pointer: "", message: `at most ${MAX_EDITED_ARGUMENTS_BYTES} bytes` }];
  }
  const decoded = tool.decode(args);
  return decoded.ok ? [] : decoded.faults;
}

function requireOperation(
  core: ThreadCore,
  operationId: string,
  pointer: string,
): { named: OperationName; entry: LedgerEntry } {
  const named = parseOperationId(operationId);
  const entry = named === null ? null : findSubmission(core, named.submissionId);
  if (named === null || entry === null) {
    throw new HoldfastError(
      "OperationNotFound",
      "This thread has no operation of that id. List its operations.",
      {
        errors: [{ pointer: `${pointer}/operationId`, message: "not an operation of this thread" }],
      },
    );
  }
  return { named, entry };
}

/** Throws what is said of a target that is not there. Every repair is logged with who did it; one of a run is on record, with why. */
export function repairThread(
  core: ThreadCore,
  author: string,
  request: RepairRequest,
): RepairResult {
  const result = repair(core, author, request);
  const { action, target = null } = request;
  logEvent("warn", "repaired", { threadId: core.threadId, action, target, author, ...result });
  return result;
}

function repair(
  core: ThreadCore,
  author: string,
  // What needs a target and names none is not there.
  { action, target = "", reason }: RepairRequest,
): RepairResult {
  const { database, lanes, dueQueue } = core;
  switch (action) {
    case "retry":
      return retrySubmission(core, author, target, reason);
    case "retry-lane":
      return {
        effect: database.transact(() => lanes.unpark(target)) ? "resumed" : "not-parked",
      };
    case "clear-fault":
      return { effect: retryFault(core) ? "resumed" : "not-parked" };
    case "rearm":
      database.transact(() => dueQueue.rearm());
      return { effect: "rearmed" };
  }
}

function retrySubmission(
  core: ThreadCore,
  author: string,
  target: string,
  reason: string,
): RepairResult {
  const entry = requireSubmission(core, target);
  const effect = applyControl(core, entry, { kind: "retry", author, reason });
  return { effect: effect === "resumed" ? "resumed" : "not-parked" };
}
