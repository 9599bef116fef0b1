// Runs the handlers of a batch with bounded concurrency. The result of a call that may have touched the outside is committed as soon as it
// is known, so that a slow sibling cannot turn a finished effect into an unknown outcome; results of reads ride along with the next commit.
import { findJsonFault, type JsonValue } from "../../../shared/canonical-json.ts";
import { utf8Length } from "../../../shared/bytes.ts";
import type { StepRunner, ToolContext, ToolLog } from "../../../shared/define/tool.ts";
import { MAX_PROGRESS_BYTES } from "../../../shared/limits.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { toolSpan } from "../../tracing/spans.ts";
import type { Attributes } from "../../tracing/tracer.ts";
import { logEvent, type LogLevel } from "../../platform/log.ts";
import { runTool, type ToolRun } from "../../tools/run-tool.ts";
import type { ThreadCore } from "../thread-core.ts";
import { identityOf } from "./attempt-identity.ts";
import { callFacts } from "./call-facts.ts";
import type { LiveRun } from "./live-run.ts";
import type { CandidateCall } from "./plan-batch.ts";
import { unknownDraft } from "./plan-settlement.ts";
import type { TurnState } from "./run-state.ts";
import { stepRunner } from "./record-steps.ts";
import { resultDraft } from "./tool-drafts.ts";

/** @param buffered results that are known already and wait for a commit to ride along with */
export async function runHandlers(
  core: ThreadCore,
  live: LiveRun,
  turn: TurnState,
  candidates: readonly CandidateCall[],
  buffered: RecordDraft[],
): Promise<void> {
  for (const group of groupExclusive(candidates)) {
    const queue = [...group];
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        if (live.signal.aborted) return;
        const run = await runOne(core, live, turn, next);
        const draft = draftOf(live, turn, next, run);
        if (draft === null) continue;
        buffered.push(draft);
        if (next.tool.effect !== "read") flush(core, live, buffered);
      }
    };
    const workers = Math.min(live.policy.toolConcurrency, queue.length);
    await Promise.all(Array.from({ length: workers }, worker));
  }
  // A run that was stopped is settled or abandoned next: what its reads returned is of no use.
  if (buffered.length > 0 && !live.signal.aborted) flush(core, live, buffered);
}

/** In declaration order: an exclusive call is a group of its own, so that nothing of its batch runs beside it (RUN-05). */
function groupExclusive(candidates: readonly CandidateCall[]): CandidateCall[][] {
  const groups: CandidateCall[][] = [];
  let mayShare = false;
  for (const candidate of candidates) {
    const { isExclusive } = candidate.tool;
    if (mayShare && !isExclusive) groups.at(-1)?.push(candidate);
    else groups.push([candidate]);
    mayShare = !isExclusive;
  }
  return groups;
}

function flush(core: ThreadCore, live: LiveRun, buffered: RecordDraft[]): void {
  const drafts = buffered.splice(0);
  const hasUnknown = drafts.some((draft) => draft.type === "ToolUnknown");
  core.commitAsAttempt(live, hasUnknown ? "unknown" : "results", drafts);
}

async function runOne(
  core: ThreadCore,
  live: LiveRun,
  turn: TurnState,
  candidate: CandidateCall,
): Promise<ToolRun> {
  const { call, tool, decoded } = candidate;
  const { operationId } = call;
  const flight = { toolName: tool.name, since: core.clock.now(), progress: undefined };
  live.inFlight.set(operationId, flight);
  try {
    core.failpoints.hit("tool:before-handler");
    const start = toolSpan(identityOf(core, live), turn.turn, call);
    const steps = stepRunner(core, live, turn.turn, candidate);
    const run = await core.tracer.inSpan(live.span, start, async (span) => {
      const ran = await runTool({
        tool,
        decoded,
        context: handlerContext(core, live, turn.turn, candidate, steps.step),
        signal: live.signal,
        maxResultBytes: live.policy.toolResultBounds.maxBytes,
      });
      steps.expectRecorded();
      span.note(attributesOf(ran));
      return ran;
    });
    core.failpoints.hit("tool:after-handler");
    return run;
  } finally {
    live.inFlight.delete(operationId);
  }
}

function attributesOf(run: ToolRun): Attributes {
  const outcome = run.kind === "settled" ? run.outcome : run.kind;
  return {
    "holdfast.outcome": outcome,
    ...(outcome === "success" ? {} : { "error.type": outcome }),
  };
}

function draftOf(
  live: LiveRun,
  turn: TurnState,
  { call, tool }: CandidateCall,
  run: ToolRun,
): RecordDraft | null {
  switch (run.kind) {
    case "settled": {
      const { outcome, output } = run;
      return resultDraft(live.state, turn.turn, call, { outcome, output, by: "handler" });
    }
    case "unknown":
      if (!tool.canReconcile) return unknownDraft(live.state, turn.turn, call, run.reason);
      // The tool is asked first: until it answers, the call is one that has no result.
      live.unanswered.set(call.operationId, run.reason);
      return null;
    case "stopped":
      return null;
  }
}

function handlerContext(
  core: ThreadCore,
  live: LiveRun,
  turn: number,
  candidate: CandidateCall,
  step: StepRunner,
): Omit<ToolContext, "signal"> {
  const { runId, submissionId } = live.state;
  const { operationId, toolCallId, toolName } = candidate.call;
  return {
    ...callFacts(core, live, turn, toolCallId),
    idempotencyKey: operationId,
    step,
    progress: (value) => showProgress(live, operationId, value),
    log: toolLog({ threadId: core.threadId, submissionId, runId, operationId, toolName }),
  };
}

/** Kept in memory only; a value that is no JSON or too large is not shown. */
function showProgress(live: LiveRun, operationId: string, value: JsonValue): void {
  const flight = live.inFlight.get(operationId);
  if (flight === undefined || findJsonFault(value) !== null) return;
  if (utf8Length(JSON.stringify(value)) <= MAX_PROGRESS_BYTES) flight.progress = value;
}

function toolLog(identities: Readonly<Record<string, string>>): ToolLog {
  const write =
    (level: LogLevel) =>
    (message: string, fields: Readonly<Record<string, JsonValue>> = {}): void =>
      logEvent(level, "tool-log", { ...identities, message, fields: { ...fields } });
  return { info: write("info"), warn: write("warn"), error: write("error") };
}
