// One turn's tool calls: preflight of all of them, then intents in one commit, then the handlers. No handler starts before every call of
// the batch passed names, arguments, budgets, authorization and approval (RUN-03). It returns when there is something new to decide.
import { must } from "../../../shared/assert.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { decideBatchExhaustion } from "../../context/exhaustion.ts";
import { raceSignal } from "../../platform/deadline.ts";
import type { ThreadCore } from "../thread-core.ts";
import { callFacts } from "./call-facts.ts";
import type { LiveRun } from "./live-run.ts";
import { planBatch, type BatchPlan, type CandidateCall } from "./plan-batch.ts";
import { reconcileCalls } from "./reconcile-calls.ts";
import { runHandlers } from "./run-handlers.ts";
import { findCall, openCalls, type TurnState } from "./run-state.ts";
import { settleWith } from "./settle.ts";
import { approvalDraft, budgetRejectionDraft, intentsDraft, resultDraft } from "./tool-drafts.ts";

export async function runToolBatch(
  core: ThreadCore,
  live: LiveRun,
  turn: TurnState,
): Promise<void> {
  const plan = planBatch(turn, {
    tools: live.binding.tools,
    toolsChanged: live.binding.digests.tools !== live.state.start?.payload.digests.tools,
    contract: live.binding.output,
    unanswered: live.unanswered,
  });
  if (plan.lost.length > 0) return reconcileCalls(core, live, turn.turn, plan.lost);
  if (rejectOverBudget(core, live, turn, plan)) return;
  if (!(await authorize(core, live, turn, plan))) return;
  if (!(await askApproval(core, live, turn, plan))) return;
  await dispatch(core, live, turn, plan);
}

/** True when a limit took the batch: every call is rejected, or the run failed. */
function rejectOverBudget(
  core: ThreadCore,
  live: LiveRun,
  turn: TurnState,
  plan: BatchPlan,
): boolean {
  const { policy } = live;
  // Calls with an intent were counted by it.
  const uncounted = plan.candidates.filter(({ call }) => call.dispatch === 0).length;
  // The grace turn was to answer without tools: what it still asks for does not run.
  const exhausted = turn.graceFor ?? decideBatchExhaustion(policy, live.state.usage, uncounted);
  if (exhausted === null) return false;
  if (policy.onExhaustion === "fail") {
    settleWith(core, live, {
      outcome: "failed",
      failure: {
        tag: "PolicyLimitError",
        message: `A batch of ${turn.calls.length} tool calls went past the run's ${exhausted} limit.`,
      },
      limit: exhausted,
    });
    return true;
  }
  // What was dispatched before the limit was met goes on.
  const drafts = openCalls(live.state)
    .filter((call) => call.phase !== "prepared")
    .map((call) => budgetRejectionDraft(live.state, turn.turn, call, exhausted));
  if (drafts.length === 0) return false;
  core.commitAsAttempt(live, "results", drafts);
  return true;
}

/** False when a call was denied, which failed the run, or when the run was stopped meanwhile. */
async function authorize(
  core: ThreadCore,
  live: LiveRun,
  turn: TurnState,
  plan: BatchPlan,
): Promise<boolean> {
  for (const { call } of plan.candidates) {
    const request = {
      ...callFacts(core, live, turn.turn, call.toolCallId),
      agentId: live.binding.agent.id,
      toolName: call.toolName,
      arguments: call.args,
      input: live.state.input,
    };
    const asked = await raceSignal(() => core.toolAuthorization(request), live.signal);
    if (asked.kind === "aborted") return false;
    // An authorizer that failed has not answered: the attempt ends, and the next one asks again.
    if (asked.kind === "threw") throw asked.error;
    if (asked.value) continue;
    settleWith(core, live, {
      outcome: "failed",
      failure: { tag: "ToolDenied", message: `The host denied a call of tool ${call.toolName}.` },
      limit: null,
    });
    return false;
  }
  return true;
}

/** False when the batch has to wait for a person, or the run was stopped meanwhile. All questions of the turn are one commit. */
async function askApproval(
  core: ThreadCore,
  live: LiveRun,
  turn: TurnState,
  plan: BatchPlan,
): Promise<boolean> {
  const asking: string[] = [];
  for (const { call, tool, decoded } of plan.candidates) {
    if (call.phase !== "declared" || !tool.mayNeedApproval) continue;
    const facts = callFacts(core, live, turn.turn, call.toolCallId);
    const needs = await raceSignal(() => decoded.needsApproval(facts), live.signal);
    if (needs.kind === "aborted") return false;
    // A predicate that fails must not let a call through.
    if (needs.kind === "threw" || needs.value) asking.push(call.operationId);
  }
  // A decision may have come while the predicates ran: then the question is answered already.
  const drafts = asking.flatMap((operationId) => {
    const call = must(findCall(live.state, operationId), "the call was declared").call;
    return call.phase === "declared" ? [approvalDraft(live.state, turn.turn, call)] : [];
  });
  if (drafts.length > 0) core.commitAsAttempt(live, "approval-request", drafts);
  return asking.length === 0 && isAsPlanned(live, plan);
}

/** A decision that came while preflight asked around changes what may run: then the batch is planned anew. */
function isAsPlanned(live: LiveRun, { candidates, rejected }: BatchPlan): boolean {
  return [...candidates, ...rejected].every(
    ({ call }) => findCall(live.state, call.operationId)?.call.phase === call.phase,
  );
}

/** Commits the intents and runs the handlers; where no handler runs, commits the results that need none. */
async function dispatch(
  core: ThreadCore,
  live: LiveRun,
  turn: TurnState,
  plan: BatchPlan,
): Promise<void> {
  // From here on no decision can change what becomes of these calls.
  for (const { call } of [...plan.candidates, ...plan.rejected]) {
    live.dispatched.add(call.operationId);
  }
  const rejections: RecordDraft[] = plan.rejected.map(({ call, outcome, output }) =>
    resultDraft(live.state, turn.turn, call, { outcome, output, by: "runtime" }),
  );
  const intents = intentsDraft(live.state, turn.turn, plan.candidates);
  if (intents !== null) {
    core.commitAsAttempt(live, "intents", [...rejections, intents]);
    rejections.length = 0;
  }
  if (plan.candidates.length === 0) {
    if (rejections.length > 0) core.commitAsAttempt(live, "results", rejections);
    return;
  }
  const candidates = plan.candidates.map((candidate) => refresh(live, candidate));
  await runHandlers(core, live, turn, candidates, rejections);
}

/** The call as it is after its intent. */
function refresh(live: LiveRun, candidate: CandidateCall): CandidateCall {
  const found = findCall(live.state, candidate.call.operationId);
  return { ...candidate, call: must(found, "the call was declared").call };
}
