// An attempt as a span: which run it worked on, how it ended, and what it spent by itself, so that the attempts of a run add up.
import { agentSpan, usageAttributes } from "../../tracing/spans.ts";
import type { Attributes } from "../../tracing/tracer.ts";
import type { RunUsage } from "../../../shared/wire/usage.ts";
import type { ThreadCore } from "../thread-core.ts";
import type { AttemptEnd } from "./attempt.ts";
import { identityOf } from "./attempt-identity.ts";
import { mayHaveLostCall } from "./decide-step.ts";
import type { LiveRun } from "./live-run.ts";
import { openCalls } from "./run-state.ts";

/** @param run the attempt, until it ends or its event does */
export function traceAttempt(
  core: ThreadCore,
  live: LiveRun,
  run: () => Promise<AttemptEnd>,
): Promise<AttemptEnd> {
  const { agent, modelIdentity } = live.binding;
  const start = agentSpan(identityOf(core, live), agent.revision, modelIdentity);
  const before = live.state.usage;
  return core.tracer.inSpan(null, start, async (span) => {
    live.span = span;
    const lost = lostAttempt(live);
    if (lost !== null) span.note({ "holdfast.attempt.superseded": lost });
    const end = await run();
    span.note({
      "holdfast.attempt.end": end,
      ...endOf(core, live, end),
      ...spentSince(before, live),
    });
    return end;
  });
}

/** The attempt before this one, where it left something open: a span of its own may never have been told. */
function lostAttempt({ state, supersededEpoch }: LiveRun): number | null {
  const hasOpenCall = openCalls(state).some((call) => call.phase === "prepared");
  return hasOpenCall || mayHaveLostCall(state, supersededEpoch) ? supersededEpoch : null;
}

function endOf(core: ThreadCore, live: LiveRun, end: AttemptEnd): Attributes {
  const settled = live.state.settlement?.payload;
  if (settled !== undefined) {
    const { outcome, failure, limit, exhausted } = settled;
    return {
      "holdfast.outcome": outcome,
      ...(failure === undefined ? {} : { "error.type": failure.tag }),
      ...(limit === undefined ? {} : { "holdfast.limit": limit }),
      ...(exhausted === undefined ? {} : { "holdfast.exhausted": exhausted }),
    };
  }
  if (end !== "waiting") return {};
  const wait = core.ledger.find(live.queueSequence, live.state.submissionId)?.wait;
  return wait === null || wait === undefined ? {} : { "holdfast.wait.reason": wait.reason };
}

function spentSince(before: RunUsage, { state }: LiveRun): Attributes {
  const { usage } = state;
  return {
    ...usageAttributes({
      inputTokens: usage.inputTokens - before.inputTokens,
      outputTokens: usage.outputTokens - before.outputTokens,
      cacheReadInputTokens: usage.cacheReadInputTokens - before.cacheReadInputTokens,
      cacheWriteInputTokens: usage.cacheWriteInputTokens - before.cacheWriteInputTokens,
    }),
    "holdfast.cost_microusd": usage.costMicrousd - before.costMicrousd,
  };
}
