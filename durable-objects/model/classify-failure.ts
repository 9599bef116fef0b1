// What a failed model call means: whether calling again may help, and what may be said about it. Pure. Never repeats a provider's body.
import { APICallError } from "@ai-sdk/provider";
import { readRetryAfter } from "./retry-after.ts";

export interface ModelFault {
  readonly reason:
    | "http"
    | "connection"
    | "stalled"
    | "broke-off"
    | "content-filter"
    | "too-large"
    | "invalid-usage"
    | "not-configured"
    | "error";
  /** True where the identical call may succeed: HTTP 408, 429 and 5xx, a lost connection, a stream that stalled or broke off. */
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

export function classifyModelError(error: unknown): ModelFault {
  if (error instanceof ModelNotConfigured) {
    return {
      reason: "not-configured",
      isTransient: false,
      httpStatus: null,
      advice: error.message,
    };
  }
  if (APICallError.isInstance(error)) {
    const status = error.statusCode ?? null;
    return status === null
      ? { reason: "connection", isTransient: true, httpStatus: null }
      : {
          reason: "http",
          isTransient: isTransientStatus(status),
          httpStatus: status,
          retryAfterMillis: readRetryAfter(error.responseHeaders),
        };
  }
  if (isConnectionLoss(error)) {
    return { reason: "connection", isTransient: true, httpStatus: null };
  }
  return { reason: "error", isTransient: false, httpStatus: null };
}

/** One sentence for the settlement (RUN-12). */
export function renderModelFault(fault: ModelFault): string {
  switch (fault.reason) {
    case "http":
      return `The model call failed with HTTP status ${fault.httpStatus}.`;
    case "connection":
      return "The connection to the model was lost.";
    case "stalled":
      return "The model sent nothing for the length of modelIdleTimeout.";
    case "broke-off":
      return "The model stopped before it finished its answer.";
    case "content-filter":
      return "The provider's content filter stopped the answer.";
    case "too-large":
      return "The model's answer is larger than a record can be.";
    case "invalid-usage":
      return "The provider reported token counts that are not counts.";
    case "not-configured":
      return fault.advice ?? "The model is not configured.";
    case "error":
      return "The model call failed with an error of the provider's code.";
  }
}

function isTransientStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** workerd reports a lost connection as an Error with one of these texts; fetch failures of other kinds are TypeErrors. */
function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    error instanceof TypeError ||
    /network connection lost|connection reset|econnreset|internal error/i.test(error.message)
  );
}
