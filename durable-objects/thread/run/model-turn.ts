// One model call and the commit of what came of it. Nothing is canonical before the call returned; a call that is lost is repeated.
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { must } from "../../../shared/assert.ts";
import { planBackoff } from "../../../shared/backoff.ts";
import { durationMillis } from "../../../shared/define/duration.ts";
import { MODEL_RETRY_BACKOFF } from "../../../shared/limits.ts";
import { toIsoInstant } from "../../../shared/time.ts";
import type { Exhausted } from "../../../shared/wire/policy.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import type { TokenUsage } from "../../../shared/wire/usage.ts";
import { NO_TOKENS } from "../../../shared/wire/usage.ts";
import type { ChainPoint } from "../../../shared/wire/verification.ts";
import { callModel, type ModelCallOutcome } from "../../model/call-model.ts";
import { classifyModelError, type ModelFault } from "../../model/classify-failure.ts";
import { renderModelFault } from "../../model/render-fault.ts";
import { costMicrousd } from "../../model/prices.ts";
import type { ModelResponse, StreamReduction } from "../../model/reduce-stream.ts";
import { chatSpan, usageAttributes } from "../../tracing/spans.ts";
import type { Attributes } from "../../tracing/tracer.ts";
import { stampRecord } from "../journal/record-codec.ts";
import type { ThreadCore } from "../thread-core.ts";
import { readAnswer } from "./decide-output.ts";
import { decideStep, type StepFacts } from "./decide-step.ts";
import { foldRecord } from "./fold-run.ts";
import { identityOf } from "./attempt-identity.ts";
import type { LiveRun } from "./live-run.ts";
import { buildModelRequest } from "./model-request.ts";
import { planSettlement } from "./plan-settlement.ts";
import { lastTurn, type RunState } from "./run-state.ts";
import { settleRun } from "./settle.ts";

type ResponseDraft = Extract<RecordDraft, { type: "ModelResponded" }>;

export interface ModelTurn {
  readonly turn: number;
  readonly graceFor: Exhausted | null;
}

/** Calls the model and commits its response, its failure, or, when the run was stopped meanwhile, nothing. */
export async function runModelTurn(
  core: ThreadCore,
  live: LiveRun,
  { turn, graceFor }: ModelTurn,
  facts: () => StepFacts,
): Promise<void> {
  const saw = core.journal.tail();
  core.failpoints.hit("model:before-call");
  const start = chatSpan(identityOf(core, live), turn, live.binding.modelIdentity);
  const outcome = await core.tracer.inSpan(live.span, start, async (span) => {
    const ended = await callOrFail(live, graceFor, showProgress(core, live, turn));
    span.note(attributesOf(ended, live));
    return ended;
  });
  live.openTurn = null;
  core.failpoints.hit("model:after-call");
  switch (outcome.kind) {
    case "stopped":
      return;
    case "failed":
      return commitFailure(core, live, turn, outcome.fault, outcome.usage);
    case "responded":
      return commitResponse(
        core,
        live,
        responseDraft(live, turn, graceFor, outcome.response, saw),
        facts(),
      );
  }
}

function attributesOf(outcome: ModelCallOutcome, { binding }: LiveRun): Attributes {
  if (outcome.kind === "stopped") return { "error.type": "stopped" };
  const { usage } = outcome.kind === "responded" ? outcome.response : outcome;
  const cost = costMicrousd(usage, binding.price);
  return {
    ...usageAttributes(usage),
    ...(cost === null ? {} : { "holdfast.cost_microusd": cost }),
    ...(outcome.kind === "responded"
      ? { "gen_ai.response.finish_reasons": outcome.response.finishReason }
      : {
          "error.type": outcome.fault.reason,
          ...(outcome.fault.httpStatus === null
            ? {}
            : { "http.response.status_code": outcome.fault.httpStatus }),
        }),
  };
}

/** Shows watchers what streams in. Provisional: nothing of it is stored, and a call that is lost takes it along. */
function showProgress(
  core: ThreadCore,
  live: LiveRun,
  turn: number,
): (soFar: StreamReduction) => void {
  return ({ blocks }) => {
    core.changes.raise();
    const { submissionId } = live.state;
    live.openTurn ??= {
      submissionId,
      turn,
      attempt: live.epoch,
      since: core.changes.version,
      blocks,
    };
  };
}

async function callOrFail(
  live: LiveRun,
  graceFor: Exhausted | null,
  observe: (soFar: StreamReduction) => void,
): Promise<ModelCallOutcome> {
  const { binding, signal } = live;
  let model: LanguageModelV4;
  try {
    model = binding.model();
  } catch (error) {
    // A model that cannot be made is found at the first call, and the settlement says what to set (GW-03).
    return { kind: "failed", fault: classifyModelError(error), usage: NO_TOKENS };
  }
  const idleTimeoutMillis = durationMillis(live.policy.modelIdleTimeout);
  const options = buildModelRequest(live, live.state, graceFor);
  return callModel({ model, options, signal, idleTimeoutMillis, observe });
}

function responseDraft(
  live: LiveRun,
  turn: number,
  graceFor: Exhausted | null,
  response: ModelResponse,
  saw: ChainPoint,
): ResponseDraft {
  const { content, finishReason, usage, callFaults, sources } = response;
  const { submissionId, runId } = live.state;
  return {
    type: "ModelResponded",
    submissionId,
    runId,
    turn,
    payload: {
      content,
      finishReason,
      usage,
      costMicrousd: costMicrousd(usage, live.binding.price),
      model: live.binding.modelIdentity,
      revision: live.binding.agent.revision,
      saw: { through: saw.sequence, digest: saw.digest },
      ...(callFaults.length === 0 ? {} : { callFaults }),
      ...(sources.length === 0 ? {} : { sources: [...sources] }),
      ...(graceFor === null ? {} : { graceFor }),
    },
  };
}

/** A response that ends the run shares its batch with the settlement (RUN-02); any other is committed before anything acts on it. */
function commitResponse(
  core: ThreadCore,
  live: LiveRun,
  draft: ResponseDraft,
  facts: StepFacts,
): void {
  const next = foldProvisionally(core, live.state, draft, live.epoch);
  const step = decideStep(next, facts);
  const judged = withOutputFaults(draft, next, facts);
  if (step.kind === "settle") settleRun(core, live, [judged, ...planSettlement(next, step.ending)]);
  else core.commitAsAttempt(live, "turn", [judged]);
}

/** What is wrong with a text answer is part of its record: the model is told the same after a crash, whatever the schema is then. */
function withOutputFaults(draft: ResponseDraft, next: RunState, facts: StepFacts): ResponseDraft {
  const turn = must(lastTurn(next), "the response is a turn");
  if (turn.calls.length > 0) return draft;
  const answer = readAnswer(turn, facts);
  if (answer.kind !== "undecodable") return draft;
  return { ...draft, payload: { ...draft.payload, outputFaults: answer.faults } };
}

/** The failure is canonical, so that a crash keeps the count (RUN-15); the last one shares its batch with the settlement. */
function commitFailure(
  core: ThreadCore,
  live: LiveRun,
  turn: number,
  fault: ModelFault,
  usage: TokenUsage,
): void {
  const { submissionId, runId, modelFailures } = live.state;
  const failure = modelFailures + 1;
  const mayRetry = fault.isTransient && failure <= live.policy.modelRetries;
  const retryAt = mayRetry
    ? core.clock.now() +
      Math.max(
        planBackoff(MODEL_RETRY_BACKOFF, failure, core.ids.random()),
        fault.retryAfterMillis ?? 0,
      )
    : null;
  const draft: RecordDraft = {
    type: "ModelCallFailed",
    submissionId,
    runId,
    turn,
    payload: {
      failure,
      reason: fault.reason,
      ...(fault.httpStatus === null ? {} : { httpStatus: fault.httpStatus }),
      retryAt: retryAt === null ? null : toIsoInstant(retryAt),
      usage,
      costMicrousd: costMicrousd(usage, live.binding.price),
    },
  };
  if (mayRetry) return core.commitAsAttempt(live, "model-failure", [draft]);
  const next = foldProvisionally(core, live.state, draft, live.epoch);
  const tag = fault.reason === "context-overflow" ? "ContextOverflowError" : "ModelFailed";
  const told = { tag, message: renderModelFault(fault) } as const;
  const ending = { outcome: "failed", failure: told, limit: null } as const;
  settleRun(core, live, [draft, ...planSettlement(next, ending)]);
}

/** The state as it would be with this record: what the decision about the same commit needs. */
function foldProvisionally(
  core: ThreadCore,
  state: RunState,
  draft: RecordDraft,
  epoch: number,
): RunState {
  const record = stampRecord(draft, core.journal.tail().sequence + 1, {
    now: core.clock.now(),
    deploymentId: "",
  });
  return foldRecord(state, { record, epoch });
}
