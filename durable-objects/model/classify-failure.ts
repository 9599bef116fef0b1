// What a failed model call means: whether calling again may help, and what may be said about it. Pure. Never repeats a provider's body: it is
// read for what kind of refusal it is, and no more.
import { APICallError, InvalidResponseDataError } from "@ai-sdk/provider";
import { z } from "zod";
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
  return isConnectionLoss(error) ? CONNECTION : ERROR;
}

const CONNECTION: ModelFault = { reason: "connection", isTransient: true, httpStatus: null };
const ERROR: ModelFault = { reason: "error", isTransient: false, httpStatus: null };

function classifyApiError(error: APICallError): ModelFault {
  const status = error.statusCode ?? null;
  // A client that lost the body of an answer that had begun well says so with the same class.
  if (status !== null && status < 400) return CONNECTION;
  const refusal = readRefusal([error.message, error.responseBody, error.data]);
  if (refusal !== null) return { reason: refusal, isTransient: false, httpStatus: status };
  // Without a status there was no answer: none came, or the client, or the binding of Workers AI, failed by itself.
  if (status === null) return error.isRetryable || isConnectionLoss(error) ? CONNECTION : ERROR;
  return {
    reason: "http",
    isTransient: isTransientStatus(status),
    httpStatus: status,
    retryAfterMillis: readRetryAfter(error.responseHeaders),
  };
}

/** What clients tell of an error that the provider sent inside its stream, each with some of these fields. */
const StreamErrorSchema = z.object({
  statusCode: z.int().optional(),
  code: z.union([z.string(), z.number()]).nullish(),
  isRetryable: z.boolean().optional(),
});

/**
 * The error of a stream's error part. Unlike a thrown object, which may be anybody's, it is the provider's word.
 */
export function classifyStreamError(error: unknown): ModelFault {
  // Chat completions that end without saying why.
  if (InvalidResponseDataError.isInstance(error) && error.data === undefined) {
    return { reason: "broke-off", isTransient: true, httpStatus: null };
  }
  if (error instanceof Error) return classifyModelError(error);
  const refusal = readRefusal([error]);
  if (refusal !== null) return { reason: refusal, isTransient: false, httpStatus: null };
  const read = StreamErrorSchema.safeParse(error);
  if (!read.success) return { reason: "provider", isTransient: false, httpStatus: null };
  const { statusCode, code, isRetryable } = read.data;
  const status = [statusCode, Number(code)].find(isErrorStatus) ?? null;
  return {
    reason: "provider",
    isTransient: isRetryable ?? (status !== null && isTransientStatus(status)),
    httpStatus: status,
  };
}

function isErrorStatus(status: number | undefined): status is number {
  return status !== undefined && Number.isInteger(status) && status >= 400 && status < 600;
}

function isTransientStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** How far down the causes of an error a lost connection is looked for. */
const MAX_CAUSES = 4;

/** workerd reports a lost connection as an Error with one of these texts; fetch failures of other kinds are TypeErrors, and what a client
 * timed out or aborted by itself is a DOMException. */
function isConnectionLoss(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > MAX_CAUSES) return false;
  return (
    error instanceof TypeError ||
    error.name === "TimeoutError" ||
    error.name === "AbortError" ||
    /network connection lost|connection reset|econnreset|internal error/i.test(error.message) ||
    isConnectionLoss(error.cause, depth + 1)
  );
}
