// The closed table of errors that callers see: HTTP status, whether the identical call may be repeated, and a title that is safe to
// show. Code and status pairs are fixed by the surface; texts never contain payload.

export interface ErrorCodeFacts {
  readonly status: number;
  readonly retryable: boolean;
  readonly title: string;
  /** What a caller does about it: the text of the code's page in the catalogue. */
  readonly remedy: string;
}

export const ERROR_CODES = {
  MalformedRequest: {
    status: 400,
    retryable: false,
    title: "The request is malformed.",
    remedy:
      "Look at `errors`: each entry points into the body (or names the query field) and says what is expected there. Send a corrected request.",
  },
  IdempotencyKeyMissing: {
    status: 400,
    retryable: false,
    title: "The Idempotency-Key header is missing.",
    remedy:
      "Send a header `Idempotency-Key` with 1 to 256 printable characters: a new value for new work, the same value to repeat a request whose answer was lost.",
  },
  InvalidIdentifier: {
    status: 400,
    retryable: false,
    title: "An identifier is malformed.",
    remedy:
      "A thread id is 1 to 128 characters of A-Z a-z 0-9 . _ ~ : - and not . or .. alone. Submission ids come from receipts, agent ids from `GET /v1/agents`.",
  },
  InvalidCursor: {
    status: 400,
    retryable: false,
    title: "The cursor is not valid.",
    remedy: "Send the `next` of an earlier page, the `id` of an earlier event, or 0 to begin.",
  },
  Unauthenticated: {
    status: 401,
    retryable: false,
    title: "No valid credential was sent.",
    remedy:
      "Send `Authorization: Bearer <key or token>`. Mint a key with `npm run keys -- create`. The development key works on a loopback host only.",
  },
  PermissionMissing: {
    status: 403,
    retryable: false,
    title: "The credential lacks the permission.",
    remedy: "Use a credential that has the permission in `permission`. `admin` implies all.",
  },
  ThreadNotFound: {
    status: 404,
    retryable: false,
    title: "There is no such thread.",
    remedy:
      "A thread comes into being with its first submission. A thread that the credential may not see answers the same.",
  },
  SubmissionNotFound: {
    status: 404,
    retryable: false,
    title: "There is no such submission.",
    remedy: "Take the id from the receipt, or list the thread's submissions.",
  },
  OperationNotFound: {
    status: 404,
    retryable: false,
    title: "There is no such operation.",
    remedy: "List what waits for a decision with `GET /v1/threads/{thread}/operations`.",
  },
  AgentNotFound: {
    status: 404,
    retryable: false,
    title: "There is no such agent.",
    remedy: "List the deployment's agents with `GET /v1/agents`.",
  },
  RouteNotFound: {
    status: 404,
    retryable: false,
    title: "There is no such route.",
    remedy: "Look at `/docs` for every method and path.",
  },
  ThreadBusy: {
    status: 409,
    retryable: false,
    title: "The thread has work that is not done.",
    remedy:
      "Nothing was admitted, as `onBusy` is `reject`. `submissionId` and `runId` name the work: wait for its settlement, or send `onBusy` as `enqueue`, `join` or `interrupt`.",
  },
  WorkOwed: {
    status: 409,
    retryable: false,
    title: "The thread has work that is owed.",
    remedy:
      "Nothing was deleted. Wait for the submissions to settle, or abort them; an operator may force it, and they end without an outcome.",
  },
  ThreadDeleted: {
    status: 410,
    retryable: false,
    title: "The thread was deleted.",
    remedy:
      "Its id stays used: nothing can be read from it or submitted to it. Use another thread id.",
  },
  DefinitionMismatch: {
    status: 409,
    retryable: false,
    title: "The deployment runs another definition of this agent.",
    remedy:
      "Nothing was admitted. Look at the agent as it is now, and send its digests, or leave `expectDefinitions` out.",
  },
  DecisionConflict: {
    status: 409,
    retryable: false,
    title: "The operation was already decided otherwise.",
    remedy:
      "Nothing of the batch was applied. List the operations again; the records show who decided what.",
  },
  InvalidState: {
    status: 409,
    retryable: false,
    title: "The state does not allow this.",
    remedy:
      "`detail` says what the state allows. `GET /v1/threads/{thread}/explain` shows the state.",
  },
  AdmissionLimitExceeded: {
    status: 429,
    retryable: true,
    title: "An admission limit was reached.",
    remedy:
      "`limit`, `current` and `maximum` name it. A full queue drains: wait for `Retry-After`. Too large an input (413) has to shrink. A full database (507) needs another thread.",
  },
  RateLimited: {
    status: 429,
    retryable: true,
    title: "Too many requests.",
    remedy: "Wait for `Retry-After` seconds, then repeat the identical request.",
  },
  BodyTooLarge: {
    status: 413,
    retryable: false,
    title: "The request body is too large.",
    remedy: "`detail` names the bound. Send less, or a reference to it.",
  },
  UnsupportedMediaType: {
    status: 415,
    retryable: false,
    title: "The request body must be application/json.",
    remedy: "Send `Content-Type: application/json`.",
  },
  InvalidInput: {
    status: 422,
    retryable: false,
    title: "The input does not fit its schema.",
    remedy:
      "`errors` points at each fault. The schema is in `GET /v1/agents/{agent}`; that of edited arguments is its tool's.",
  },
  IdempotencyConflict: {
    status: 422,
    retryable: false,
    title: "The idempotency key was used for another command.",
    remedy: "Send a new key for new work. The same key repeats only the identical command.",
  },
  Defect: {
    status: 500,
    retryable: false,
    title: "Something failed inside the runtime.",
    remedy:
      "The log has `requestId`. A repeated submission with the same key is safe: it is admitted once.",
  },
  OwnershipLost: {
    status: 500,
    retryable: false,
    title: "A newer attempt owns the thread.",
    remedy: "Internal: an attempt that was superseded. It is never an answer to a request.",
  },
  InvalidDefinition: {
    status: 500,
    retryable: false,
    title: "A definition is not valid.",
    remedy: "The message names the agent or tool and the field. Correct it and deploy again.",
  },
  Overloaded: {
    status: 503,
    retryable: true,
    title: "Too many callers wait on this thread.",
    remedy: "Wait for `Retry-After` seconds, then repeat the identical request.",
  },
  Unavailable: {
    status: 503,
    retryable: true,
    title: "The thread cannot be served right now.",
    remedy:
      "Wait for `Retry-After` seconds, then repeat the identical request. `reason` says more where it is known.",
  },
  DeadlineExceeded: {
    status: 504,
    retryable: true,
    title: "The answer did not come in time.",
    remedy:
      "Where `outcome` is `unknown` the change may have been made: repeat the identical request, with the same key.",
  },
} as const satisfies Record<string, ErrorCodeFacts>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Narrows a text from the wire to a known code. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERROR_CODES, text);
}
