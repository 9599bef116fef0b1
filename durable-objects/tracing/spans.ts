// The spans of a run, by the OpenTelemetry conventions for generative AI, as Cloudflare's dashboard groups them: an attempt is
// `invoke_agent`, its model calls are `chat`, its handlers `execute_tool`. Attempts of one run share `holdfast.run.id`. Pure.
import { utf8Length } from "../../shared/bytes.ts";
import type { ModelIdentity } from "../../shared/wire/agent.ts";
import type { TokenUsage } from "../../shared/wire/usage.ts";
import type { Attributes, SpanStart } from "./tracer.ts";

/** What every span of an attempt carries, so that each can be found by itself. */
export interface AttemptIdentity {
  readonly threadId: string;
  readonly submissionId: string;
  readonly runId: string;
  readonly agentId: string;
  /** The thread's epoch: attempts of one run count up, with gaps where other runs were in between. */
  readonly attempt: number;
}

/** What a span's name may be long: the platform cuts longer ones. */
const MAX_NAME_BYTES = 64;

export function agentSpan(
  identity: AttemptIdentity,
  revision: number,
  model: ModelIdentity,
): SpanStart {
  return span("invoke_agent", identity.agentId, {
    ...commonOf(identity),
    ...modelOf(model),
    "gen_ai.agent.version": String(revision),
  });
}

export function chatSpan(identity: AttemptIdentity, turn: number, model: ModelIdentity): SpanStart {
  return span("chat", model.name, {
    ...commonOf(identity),
    ...modelOf(model),
    "holdfast.turn": turn,
  });
}

export function toolSpan(
  identity: AttemptIdentity,
  turn: number,
  call: {
    readonly operationId: string;
    readonly toolCallId: string;
    readonly toolName: string;
    readonly dispatch: number;
  },
): SpanStart {
  return span("execute_tool", call.toolName, {
    ...commonOf(identity),
    "gen_ai.tool.name": call.toolName,
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": call.toolCallId,
    "holdfast.turn": turn,
    "holdfast.operation.id": call.operationId,
    "holdfast.dispatch": call.dispatch,
  });
}

export function usageAttributes(usage: TokenUsage): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheReadInputTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteInputTokens,
  };
}

function span(operation: string, subject: string, attributes: Attributes): SpanStart {
  const full = `${operation} ${subject}`;
  return {
    name: utf8Length(full) > MAX_NAME_BYTES ? operation : full,
    attributes: { "gen_ai.operation.name": operation, ...attributes },
  };
}

function commonOf(identity: AttemptIdentity): Attributes {
  return {
    "gen_ai.agent.id": identity.agentId,
    "gen_ai.agent.name": identity.agentId,
    "gen_ai.conversation.id": identity.threadId,
    "holdfast.submission.id": identity.submissionId,
    "holdfast.run.id": identity.runId,
    "holdfast.attempt": identity.attempt,
  };
}

function modelOf({ provider, name }: ModelIdentity): Attributes {
  return { "gen_ai.provider.name": provider, "gen_ai.request.model": name };
}
