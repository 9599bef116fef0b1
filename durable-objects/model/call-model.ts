// One model call: opens the stream, reads it under an idle timeout and the run's signal, and says how it ended. Never throws; commits
// nothing. A call may be repeated until its response is canonical, so whatever broke off here is simply called again.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { z } from "zod";
import { utf8Length } from "../../shared/bytes.ts";
import { MAX_CALLS_PER_TURN, MAX_CONTENT_BYTES } from "../../shared/limits.ts";
import {
  AssistantPartSchema,
  isOwnCall,
  SourceSchema,
  type AssistantPart,
} from "../../shared/wire/messages.ts";
import { TokenUsageSchema, NO_TOKENS, type TokenUsage } from "../../shared/wire/usage.ts";
import { raceSignal, type Raced } from "../platform/deadline.ts";
import { classifyModelError, classifyStreamError, type ModelFault } from "./classify-failure.ts";
import {
  beginReduction,
  endReduction,
  reducePart,
  type ModelResponse,
  type StreamReduction,
} from "./reduce-stream.ts";

export type ModelCallOutcome =
  | { readonly kind: "responded"; readonly response: ModelResponse }
  | { readonly kind: "failed"; readonly fault: ModelFault; readonly usage: TokenUsage }
  /** The run's signal ended the call; its reason says why. */
  | { readonly kind: "stopped" };

export interface ModelCall {
  readonly model: LanguageModelV4;
  readonly options: Omit<LanguageModelV4CallOptions, "abortSignal">;
  /** Ends with the run's abort, deadline or event. */
  readonly signal: AbortSignal;
  /** A model that sends nothing for this long has failed (RUN-15). */
  readonly idleTimeoutMillis: number;
  /** Told of what came so far, when the call opens and with every part. Contract: synchronous, must not throw. */
  readonly observe?: (soFar: StreamReduction) => void;
}

export async function callModel(call: ModelCall): Promise<ModelCallOutcome> {
  const stop = new AbortController();
  const onRunEnd = (): void => stop.abort(call.signal.reason);
  call.signal.addEventListener("abort", onRunEnd, { once: true });
  if (call.signal.aborted) onRunEnd();
  const reduction = beginReduction();
  call.observe?.(reduction);
  try {
    const outcome = await readCall(call, stop, reduction);
    return call.signal.aborted ? { kind: "stopped" } : outcome;
  } finally {
    call.signal.removeEventListener("abort", onRunEnd);
    // Whatever ended the call, the provider's connection is let go.
    stop.abort("call over");
  }
}

async function readCall(
  call: ModelCall,
  stop: AbortController,
  reduction: StreamReduction,
): Promise<ModelCallOutcome> {
  const options = { ...call.options, abortSignal: stop.signal };
  const idle = startIdleTimer(stop, call.idleTimeoutMillis);
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | null = null;
  try {
    const opened = await raceSignal(() => call.model.doStream(options), stop.signal);
    if (opened.kind !== "done") return failedOf(opened, reduction);
    reader = opened.value.stream.getReader();
    const stream = reader;
    for (;;) {
      idle.heard();
      const read = await raceSignal(() => stream.read(), stop.signal);
      if (read.kind !== "done") return failedOf(read, reduction);
      if (read.value.done) return endOf(reduction);
      const error = partError(read.value.value);
      if (error !== null) return failed(classifyStreamError(error.error), reduction);
      reducePart(reduction, read.value.value);
      call.observe?.(reduction);
    }
  } catch (error) {
    // A part that is not what the interface promises.
    return failed(classifyModelError(error), reduction);
  } finally {
    idle.clear();
    // The stream may be broken already; letting go of it cannot fail the call.
    void reader?.cancel().catch(() => undefined);
  }
}

const IDLE = Symbol("idle");

/** One timer for the whole call: a part that comes only notes its time, as a timer per part would cost more than the part. */
function startIdleTimer(
  stop: AbortController,
  idleMillis: number,
): { heard: () => void; clear: () => void } {
  let heardAt = performance.now();
  const check = (): void => {
    const left = heardAt + idleMillis - performance.now();
    if (left <= 0) stop.abort(IDLE);
    else timer = setTimeout(check, left);
  };
  let timer = setTimeout(check, idleMillis);
  return {
    heard: () => {
      heardAt = performance.now();
    },
    clear: () => clearTimeout(timer),
  };
}

function partError(part: LanguageModelV4StreamPart): { error: unknown } | null {
  return part.type === "error" ? { error: part.error } : null;
}

function failedOf(
  raced: Exclude<Raced<unknown>, { kind: "done" }>,
  reduction: StreamReduction,
): ModelCallOutcome {
  if (raced.kind === "threw") return failed(classifyModelError(raced.error), reduction);
  return raced.reason === IDLE
    ? failed({ reason: "stalled", isTransient: true, httpStatus: null }, reduction)
    : { kind: "stopped" };
}

/** What a stream that ended amounts to: an answer, or one of the endings that are failures of the call (platform facts, AI SDK). */
function endOf(reduction: StreamReduction): ModelCallOutcome {
  const response = endReduction(reduction);
  if (response === null) return transient("broke-off", reduction);
  switch (response.finishReason) {
    case "stop":
    case "length":
    case "tool-calls":
    case "paused":
      return checkResponse(response, reduction);
    case "content-filter":
      return failed({ reason: "content-filter", isTransient: false, httpStatus: null }, reduction);
    case "error":
    case "interrupted":
    case "other":
      return transient("broke-off", reduction);
  }
}

/** What a client hands on may be anything: a part that no record can hold must not get into one. Text and calls are made here, of checked JSON. */
function canBeStored({ content, sources }: ModelResponse): boolean {
  const isPlain = sources.length === 0 && content.every(isPlainPart);
  return isPlain || StoredPartsSchema.safeParse({ content, sources }).success;
}

function isPlainPart(part: AssistantPart): boolean {
  switch (part.type) {
    case "text":
    case "reasoning":
      return true;
    case "tool-call":
      return typeof part.toolCallId === "string" && typeof part.toolName === "string";
    default:
      return false;
  }
}

const StoredPartsSchema = z.object({
  content: z.array(AssistantPartSchema),
  sources: z.array(SourceSchema),
});

/** A response must fit a row, and its counts must be counts (CTX-16). */
function checkResponse(response: ModelResponse, reduction: StreamReduction): ModelCallOutcome {
  const calls = response.content.filter(isOwnCall).length;
  const bytes = utf8Length(JSON.stringify([response.content, response.sources]));
  if (calls > MAX_CALLS_PER_TURN || bytes > MAX_CONTENT_BYTES) {
    return failed({ reason: "too-large", isTransient: false, httpStatus: null }, reduction);
  }
  if (!TokenUsageSchema.safeParse(response.usage).success) {
    return failed({ reason: "invalid-usage", isTransient: false, httpStatus: null }, reduction);
  }
  if (!canBeStored(response)) {
    return failed({ reason: "malformed", isTransient: false, httpStatus: null }, reduction);
  }
  return { kind: "responded", response };
}

function transient(reason: ModelFault["reason"], reduction: StreamReduction): ModelCallOutcome {
  return failed({ reason, isTransient: true, httpStatus: null }, reduction);
}

function failed(fault: ModelFault, reduction: StreamReduction): ModelCallOutcome {
  const usage = TokenUsageSchema.safeParse(reduction.finish?.usage);
  return { kind: "failed", fault, usage: usage.success ? usage.data : NO_TOKENS };
}
