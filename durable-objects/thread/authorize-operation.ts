// The host's finer say over an operation, inside the object, before anything is read or written: it knows who created the thread (SEC-02).
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import type { ApiOperation, Caller } from "../../shared/wire/access.ts";
import { errorName, logEvent } from "../platform/log.ts";

export interface OperationRequest extends Caller {
  readonly operation: ApiOperation;
  readonly threadId: string;
  /** Null for a thread that this operation would create. */
  readonly createdBy: string | null;
  /** What of the thread it is about, where it is about a part. */
  readonly target: {
    readonly submissionId?: string;
    readonly operationIds?: readonly string[];
    readonly agentId?: string;
  };
}

/** Contract: true allows. Anything else answers `ThreadNotFound`, as for a thread that is not there, so that nothing can be probed
 * (SEC-03). May be asked again for the same request. One that throws or rejects has not answered: the call fails, and nothing is done. */
export type AuthorizeOperation = (request: OperationRequest) => boolean | Promise<boolean>;

/** The one answer for what is not there and for what may not be seen. */
export function threadNotFound(): HoldfastError {
  return new HoldfastError("ThreadNotFound", "There is no such thread. Submit to create it.");
}

/** Throws `ThreadNotFound` for what the host does not allow, `Unavailable` when it could not say. */
export async function authorizeOperation(
  authorize: AuthorizeOperation,
  request: OperationRequest,
): Promise<void> {
  // Not trusted to be a boolean: a hook that forgot to answer does not allow.
  let answer: unknown;
  try {
    answer = await authorize(request);
  } catch (error) {
    logEvent("error", "authorize-operation-failed", {
      operation: request.operation,
      error: errorName(error),
    });
    throw new HoldfastError(
      "Unavailable",
      "The host's authorizeOperation could not answer. Nothing was done; repeat the request.",
      { cause: error, fields: { reason: "authorization", retryAfterSeconds: 1 } },
    );
  }
  if (answer !== true) throw threadNotFound();
}
