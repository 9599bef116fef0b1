// A person's decision about one operation: an approval, or an unknown outcome. One compare-and-set per operation: the same decision again
// is a replay, another one is a conflict (TOOL-04, TOOL-05). Pure.
import type { JsonValue } from "../../../shared/canonical-json.ts";
import type { SchemaFault } from "../../../shared/errors/holdfast-error.ts";
import { unknownOperationIdOf } from "../../../shared/ids.ts";
import type { Decision, DecisionKind } from "../../../shared/wire/operations.ts";
import type { ToolOutput } from "../../../shared/wire/messages.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { boundToolOutput, boundValue } from "../../context/tool-result-bounds.ts";
import { digestJson } from "../../platform/digest.ts";
import { findCall, lastTurn, type CallState, type RunState } from "../run/run-state.ts";
import { decisionDraft, resultDraft } from "../run/tool-drafts.ts";
import { abortDrafts } from "./abort-drafts.ts";
import type { ControlDecision, ControlFacts, Refusal } from "./control-decision.ts";

export interface OperationCommand {
  readonly author: string;
  readonly decision: Decision;
  /** What the operation id names. */
  readonly callId: string;
  readonly dispatch: number;
  /** True when a call that was not asked about yet may be: its tool asks for approval, so a decision may come first. */
  readonly mayBeAsked: (toolName: string) => boolean;
  /** The faults of edited arguments against the tool's schema; empty when the tool takes them. */
  readonly checkArguments: (toolName: string, args: JsonValue) => readonly SchemaFault[];
  /** The bound of an operator's result, as of any tool result (CTX-18). */
  readonly maxResultBytes: number;
  /** Notes that were left on this settled run, by operation. */
  readonly annotated: ReadonlyMap<string, string>;
}

const APPROVAL_DECISIONS: readonly DecisionKind[] = ["approve", "deny", "edit", "abort"];
const UNKNOWN_DECISIONS: readonly DecisionKind[] = [
  "completed",
  "failed",
  "never-started",
  "safe-to-retry",
  "abort",
];

export function decideOperation(facts: ControlFacts, command: OperationCommand): ControlDecision {
  const { run } = facts;
  const { decision } = command;
  const found = findCall(run, command.callId);
  if (found === null) {
    return refused(
      "OperationNotFound",
      "No call has that operation id. List the thread's operations.",
    );
  }
  const { call, turn } = found;
  const decisionDigest = digestDecision(decision);
  // The questions about one call are its approval, and each loss of its outcome.
  const slot = slotOf(call, command);
  if (slot === 0 && command.dispatch !== 1) {
    // Only a lost call has further ids: an answer under one would leave the wait for the operation's own id.
    return refused("OperationNotFound", "An approval has the id of its call alone.");
  }
  const earlier = call.decisions.find((made) => made.dispatch === slot);
  // An edit replaced the arguments that its own repeat was shown.
  const shownDigest = earlier?.argumentsDigest ?? call.argumentsDigest;
  if (decision.argumentsDigest !== undefined && decision.argumentsDigest !== shownDigest) {
    return refused(
      "DecisionConflict",
      "argumentsDigest is not that of the operation's arguments. List the operations and look again.",
    );
  }
  if (earlier !== undefined) {
    return earlier.decisionDigest === decisionDigest
      ? { kind: "unchanged", effect: "replayed" }
      : refused("DecisionConflict", `The operation was already decided: ${earlier.decision}.`);
  }
  if (run.settlement !== null) return decideAnnotation(run, command, decisionDigest);
  const allowed = allowedDecisions(facts, call, command, slot);
  if (!allowed.includes(decision.decision)) {
    return refused(
      "InvalidState",
      allowed.length === 0
        ? "The operation does not wait for a decision."
        : `The operation takes one of: ${allowed.join(", ")}.`,
    );
  }
  const faults =
    decision.arguments === undefined
      ? []
      : command.checkArguments(call.toolName, decision.arguments);
  if (faults.length > 0) {
    return {
      kind: "refused",
      code: "InvalidInput",
      detail: `The arguments do not fit the schema of tool ${call.toolName}.`,
      errors: faults.map(({ pointer, message }) => ({ pointer: `/arguments${pointer}`, message })),
    };
  }
  const decided = decisionDraft(run, turn, call, {
    decision: decision.decision,
    dispatch: slot,
    decisionDigest,
    argumentsDigest: call.argumentsDigest,
    ...(decision.arguments === undefined ? {} : { arguments: decision.arguments }),
    author: command.author,
    reason: decision.reason,
  });
  return {
    kind: "commit",
    drafts: [decided, ...consequences(facts, command, call, turn)],
    effect: "applied",
    answered: [decision.operationId],
  };
}

/** Same decision, same operation: who says it and why do not make it another one. */
function digestDecision(decision: Decision): string {
  const { decision: made, result, arguments: args } = decision;
  return digestJson({
    decision: made,
    result: result ?? null,
    ...(args === undefined ? {} : { arguments: args }),
  });
}

function slotOf(call: CallState, command: OperationCommand): number {
  const { decision } = command.decision;
  if (decision === "approve" || decision === "deny" || decision === "edit") return 0;
  if (decision === "abort" && call.dispatch === 0) return 0;
  return command.dispatch;
}

function allowedDecisions(
  facts: ControlFacts,
  call: CallState,
  command: OperationCommand,
  slot: number,
): readonly DecisionKind[] {
  // An approval's decision (slot 0) is told what an unknown outcome takes instead.
  if (call.phase === "unknown") {
    return slot === call.dispatch || slot === 0 ? UNKNOWN_DECISIONS : [];
  }
  // Nothing of a run that is being aborted is honoured any more.
  if (facts.run.abort !== null) return [];
  if (call.phase === "awaiting-approval") return APPROVAL_DECISIONS;
  // A decision that arrives before the wait began counts (TOOL-05).
  return mayStillRun(facts, call) && command.mayBeAsked(call.toolName) ? APPROVAL_DECISIONS : [];
}

/** A call that was not asked about, and that neither runs already nor is one that never runs. */
function mayStillRun({ run, isDispatched }: ControlFacts, call: CallState): boolean {
  const turn = lastTurn(run);
  const isOpen = turn?.calls.includes(call) === true && call.phase === "declared";
  const neverRuns = call.fault !== null || turn?.finishReason === "length";
  return isOpen && !neverRuns && !isDispatched(call.operationId);
}

/** What follows at once: a result that a person knows, or the end of the run. */
function consequences(
  facts: ControlFacts,
  command: OperationCommand,
  call: CallState,
  turn: number,
): RecordDraft[] {
  const { decision, author, maxResultBytes } = command;
  switch (decision.decision) {
    case "completed": {
      const output = boundToolOutput(renderResult(decision.result), maxResultBytes);
      return [resultDraft(facts.run, turn, call, { outcome: "success", output, by: "decision" })];
    }
    case "failed": {
      const output = boundToolOutput(
        { type: "error-text", value: decision.reason },
        maxResultBytes,
      );
      return [resultDraft(facts.run, turn, call, { outcome: "failure", output, by: "decision" })];
    }
    case "abort":
      return abortDrafts(facts, author, decision.reason);
    case "approve":
    case "deny":
    case "edit":
    case "never-started":
    case "safe-to-retry":
      return [];
  }
}

function renderResult(result: JsonValue | undefined): ToolOutput {
  return typeof result === "string"
    ? { type: "text", value: result }
    : { type: "json", value: result ?? null };
}

/** The unknown outcome of a settled run changes nothing any more, but what became known of it may still be noted (RUN-10). */
function decideAnnotation(
  run: RunState,
  command: OperationCommand,
  decisionDigest: string,
): ControlDecision {
  const { decision, author, callId, dispatch, maxResultBytes } = command;
  const operationId = unknownOperationIdOf(callId, dispatch);
  const isEvidence = run.settlement?.payload.unknowns?.includes(operationId) === true;
  const isNote = decision.decision !== "abort" && UNKNOWN_DECISIONS.includes(decision.decision);
  if (!isEvidence || !isNote) {
    return refused("InvalidState", "The submission is settled; its operations are closed.");
  }
  const noted = command.annotated.get(operationId);
  if (noted !== undefined) {
    return noted === decisionDigest
      ? { kind: "unchanged", effect: "replayed" }
      : refused(
          "DecisionConflict",
          "Another note was already left on this operation; the records show it.",
        );
  }
  return {
    kind: "commit",
    drafts: [
      {
        type: "RepairAnnotated",
        submissionId: run.submissionId,
        payload: {
          action: "annotate",
          operationId,
          decision: decision.decision,
          ...(decision.result === undefined
            ? {}
            : { result: boundValue(decision.result, maxResultBytes) }),
          author,
          reason: decision.reason,
        },
      },
    ],
    effect: "applied",
    answered: [],
    annotation: { operationId, decisionDigest },
  };
}

function refused(code: Refusal["code"], detail: string): Refusal {
  return { kind: "refused", code, detail };
}
