// What a failed model call means: whether calling again may help, and what may be said about it. Pure. Never repeats a provider's body: it is
// read for what kind of refusal it is, and no more.
import {
  APICallError,
  InvalidResponseDataError,
  JSONParseError,
  TypeValidationError,
} from "@ai-sdk/provider";
import { z } from "zod";
import { GatewayRefusal } from "../../shared/gateway/index.ts";
import { readWorkersAiCode } from "./workers-ai-codes.ts";
import { readRefusal, type Refusal } from "./read-refusal.ts";
import { readRetryAfter } from "./retry-after.ts";

export interface ModelFault {
  readonly reason:
    | "http"
    | "provider"
    | "connection"
    | "stalled"
    | "broke-off"
    | Refusal
    | "too-large"
    | "invalid-usage"
    | "malformed"
    | "not-configured"
    | "error";
  /** True where the identical call may succeed: HTTP 408, 429 and 5xx, a lost connection, a stream that stalled or broke off (RUN-15). */
  readonly isTransient: boolean;
  readonly httpStatus: number | null;
  /** How long the provider asked to be left alone, where it did. */
  readonly retryAfterMillis?: number;
  /** Set only for what the deployment's owner has to fix; it names what to set. */
  readonly advice?: string;
}

/** A model that this deployment cannot make: raised by our own resolution, recognised by its class. */
export class ModelNotConfigured extends Error {
  override readonly name = "ModelNotConfigured";
}

/** An error that a call threw, or that its stream broke with. */
export function classifyModelError(error: unknown): ModelFault {
  if (error instanceof ModelNotConfigured) {
    const advice = error.message;
    return { reason: "not-configured", isTransient: false, httpStatus: null, advice };
  }
  if (APICallError.isInstance(error)) return classifyApiError(error);
  const refused = findRefusal(error);
  if (refused !== null) return refusedByGateway(refused);
  return isConnectionLoss(error) ? CONNECTION : ERROR;
}

const CONNECTION: ModelFault = { reason: "connection", isTransient: true, httpStatus: null };
const ERROR: ModelFault = { reason: "error", isTransient: false, httpStatus: null };

function classifyApiError(error: APICallError): ModelFault {
  const status = error.statusCode ?? null;
  // A client that lost the body of an answer that had begun well says so with the same class.
  if (status !== null && status < 400) return CONNECTION;
  const refusal = readRefusal([error.message, error.responseBody, error.data], status);
  if (refusal !== null) return { reason: refusal, isTransient: false, httpStatus: status };
  if (status === null) return classifyWithoutStatus(error);
  return {
    reason: "http",
    isTransient: isTransientStatus(status),
    httpStatus: status,
    retryAfterMillis: readRetryAfter(error.responseHeaders, error.responseBody),
  };
}

/** There was no answer: none came, the gateway refused it, or the client, or the binding of Workers AI, failed by itself. */
function classifyWithoutStatus(error: APICallError): ModelFault {
  const refused = findRefusal(error);
  if (refused !== null) return refusedByGateway(refused);
  const meaning = readWorkersAiCode(error.message);
  switch (meaning) {
    case null:
      return error.isRetryable || isConnectionLoss(error) ? CONNECTION : ERROR;
    case "transient":
      return { reason: "provider", isTransient: true, httpStatus: null };
    case "credential":
      return { reason: "http", isTransient: false, httpStatus: 401 };
    default:
      return { reason: meaning, isTransient: false, httpStatus: null };
  }
}

/** A request that left its endpoint, or a redirect: the deployment's owner has to know. */
function refusedByGateway({ message: advice }: GatewayRefusal): ModelFault {
  return { reason: "not-configured", isTransient: false, httpStatus: null, advice };
}

function findRefusal(error: unknown, depth = 0): GatewayRefusal | null {
  if (error instanceof GatewayRefusal) return error;
  if (!(error instanceof Error) || depth > MAX_CAUSES) return null;
  return findRefusal(error.cause, depth + 1);
}

/** What clients tell of an error that the provider sent inside its stream, each with some of these fields. */
const StreamErrorSchema = z.object({
  statusCode: z.int().optional(),
  code: z.union([z.string(), z.number()]).nullish(),
  type: z.string().nullish(),
  isRetryable: z.boolean().optional(),
});

/** Words of a code or type by which a provider blames the request. */
const BLAMES_REQUEST = /^(?:invalid|authentication|permission|not_found|billing|unsupported)/i;
/** Words by which it blames itself. */
const BLAMES_ITSELF = /^(?:server|api|internal|overloaded|timeout|unavailable|rate_limit)/i;

/**
 * The error of a stream's error part. Unlike a thrown object, which may be anybody's, it is the provider's word. The request was taken by then, so
 * it is a passing one unless it says otherwise.
 */
export function classifyStreamError(error: unknown): ModelFault {
  // Chat completions that end without saying why, and what a client could not read.
  const isUnread =
    (InvalidResponseDataError.isInstance(error) && error.data === undefined) ||
    JSONParseError.isInstance(error) ||
    TypeValidationError.isInstance(error);
  if (isUnread) return { reason: "broke-off", isTransient: true, httpStatus: null };
  if (error instanceof Error) return classifyModelError(error);
  const read = StreamErrorSchema.safeParse(error);
  const { statusCode, code, type, isRetryable }: z.infer<typeof StreamErrorSchema> = read.success
    ? read.data
    : {};
  const status = [statusCode, Number(code)].find(isErrorStatus) ?? null;
  const refusal = readRefusal([error], status);
  if (refusal !== null) return { reason: refusal, isTransient: false, httpStatus: status };
  const words = [type, code].filter((word) => typeof word === "string");
  const isTransient =
    status === null
      ? words.some((word) => BLAMES_ITSELF.test(word)) ||
        (isRetryable !== false && !words.some((word) => BLAMES_REQUEST.test(word)))
      : (isRetryable ?? isTransientStatus(status));
  return { reason: "provider", isTransient, httpStatus: status };
}

function isErrorStatus(status: number | undefined): status is number {
  return status !== undefined && Number.isInteger(status) && status >= 400 && status < 600;
}

function isTransientStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** How far down the causes of an error a lost connection is looked for. */
const MAX_CAUSES = 4;

/** workerd reports a lost connection as an Error with one of these texts, Node a fetch that failed as a TypeError; what a client timed out or
 * aborted by itself is a DOMException. Other errors are bugs of whoever threw them. */
function isConnectionLoss(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > MAX_CAUSES) return false;
  return (
    error.name === "TimeoutError" ||
    error.name === "AbortError" ||
    /network connection lost|connection (?:reset|refused|closed)|econnre(?:set|fused)|fetch failed|failed to fetch|terminated|internal error/i.test(
      error.message,
    ) ||
    isConnectionLoss(error.cause, depth + 1)
  );
}
