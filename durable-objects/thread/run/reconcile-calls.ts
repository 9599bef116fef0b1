// External calls that were dispatched and have no result: a tool that can find out what became of them is asked before a person is (TOOL-02).
import {
  ReconcileAnswerSchema,
  type ReconcileAnswer,
  type Tool,
} from "../../../shared/define/tool.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { raceTimeout, TIMEOUT } from "../../platform/deadline.ts";
import { digestJson } from "../../platform/digest.ts";
import { encodeReturned } from "../../tools/tool-output.ts";
import type { ThreadCore } from "../thread-core.ts";
import { callFacts } from "./call-facts.ts";
import type { LiveRun } from "./live-run.ts";
import { unknownDraft } from "./plan-settlement.ts";
import type { CallState } from "./run-state.ts";
import { decisionDraft, resultDraft } from "./tool-drafts.ts";

/**
 * Commits what becomes of the calls, all in one batch: known now, cleared to run, or unknown. A tool that fails to answer has not answered:
 * the attempt ends with its error, and a later one asks again. Nothing is committed when the run was stopped meanwhile.
 */
export async function reconcileCalls(
  core: ThreadCore,
  live: LiveRun,
  turn: number,
  calls: readonly CallState[],
): Promise<void> {
  const drafts: RecordDraft[] = [];
  for (const call of calls) {
    const answer = await askTool(core, live, turn, call);
    if (answer === "stopped") return;
    drafts.push(...draftsOf(live, turn, call, answer));
  }
  core.commitAsAttempt(live, "unknown", drafts);
}

const UNKNOWN: ReconcileAnswer = { outcome: "unknown" };

async function askTool(
  core: ThreadCore,
  live: LiveRun,
  turn: number,
  call: CallState,
): Promise<ReconcileAnswer | "stopped"> {
  const tool = live.binding.tools.get(call.toolName);
  if (tool === undefined || !tool.canReconcile) return UNKNOWN;
  const decoded = tool.decode(call.args);
  // Another deployment's schema: what the call was is not what this tool could look for.
  if (!decoded.ok) return UNKNOWN;
  const facts = callFacts(core, live, turn, call.toolCallId);
  const asked = await raceTimeout(tool.timeoutMillis, live.signal, (signal) =>
    decoded.value.reconcile({ ...facts, signal, idempotencyKey: call.operationId }),
  );
  if (asked.kind === "threw") throw asked.error;
  if (asked.kind === "aborted") {
    if (asked.reason !== TIMEOUT) return "stopped";
    throw new Error(`reconcile of tool ${tool.name} did not answer in time`);
  }
  return ReconcileAnswerSchema.parse(asked.value);
}

/** Every loss is on record, whatever was found out; an answer stands beside it as the decision that it is. */
function draftsOf(
  live: LiveRun,
  turn: number,
  call: CallState,
  answer: ReconcileAnswer,
): RecordDraft[] {
  const { state, binding, policy } = live;
  const reason = live.unanswered.get(call.operationId) ?? "attempt-lost";
  const lost = unknownDraft(state, turn, call, reason);
  switch (answer.outcome) {
    case "unknown":
      return [lost];
    case "never-started":
      return [lost, decided(live, turn, call, answer)];
    case "completed": {
      const tool: Tool | undefined = binding.tools.get(call.toolName);
      // The tool that answered is there; without it nothing was asked.
      if (tool === undefined) return [lost];
      const encoded = encodeReturned(tool, answer.result, policy.toolResultBounds.maxBytes);
      const result = { ...encoded, by: "reconcile" } as const;
      return [lost, decided(live, turn, call, answer), resultDraft(state, turn, call, result)];
    }
  }
}

function decided(
  live: LiveRun,
  turn: number,
  call: CallState,
  { outcome }: ReconcileAnswer & { readonly outcome: "never-started" | "completed" },
): RecordDraft {
  return decisionDraft(live.state, turn, call, {
    decision: outcome,
    dispatch: call.dispatch,
    decisionDigest: digestJson(["reconcile", outcome, call.dispatch]),
    argumentsDigest: call.argumentsDigest,
    author: "reconcile",
    by: "reconcile",
    reason: `The tool's own reconcile answered ${outcome}.`,
  });
}
