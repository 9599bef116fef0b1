// The closed table of errors that callers see: HTTP status, whether the identical call may be repeated, and a title that is safe to
// show. Code and status pairs are fixed by the surface; texts never contain payload.

export interface ErrorCodeFacts {
  readonly status: number;
  readonly retryable: boolean;
  readonly title: string;
}

export const ERROR_CODES = {
  MalformedRequest: { status: 400, retryable: false, title: "The request is malformed." },
  IdempotencyKeyMissing: {
    status: 400,
    retryable: false,
    title: "The Idempotency-Key header is missing.",
  },
  InvalidIdentifier: { status: 400, retryable: false, title: "An identifier is malformed." },
  InvalidCursor: { status: 400, retryable: false, title: "The cursor is not valid." },
  Unauthenticated: { status: 401, retryable: false, title: "No valid credential was sent." },
  PermissionMissing: {
    status: 403,
    retryable: false,
    title: "The credential lacks the permission.",
  },
  ThreadNotFound: { status: 404, retryable: false, title: "There is no such thread." },
  SubmissionNotFound: { status: 404, retryable: false, title: "There is no such submission." },
  OperationNotFound: { status: 404, retryable: false, title: "There is no such operation." },
  AgentNotFound: { status: 404, retryable: false, title: "There is no such agent." },
  RouteNotFound: { status: 404, retryable: false, title: "There is no such route." },
  DefinitionMismatch: {
    status: 409,
    retryable: false,
    title: "The deployment runs another definition of this agent.",
  },
  DecisionConflict: {
    status: 409,
    retryable: false,
    title: "The operation was already decided otherwise.",
  },
  InvalidState: {
    status: 409,
    retryable: false,
    title: "The state does not allow this.",
  },
  AdmissionLimitExceeded: {
    status: 429,
    retryable: true,
    title: "An admission limit was reached.",
  },
  BodyTooLarge: { status: 413, retryable: false, title: "The request body is too large." },
  UnsupportedMediaType: {
    status: 415,
    retryable: false,
    title: "The request body must be application/json.",
  },
  InvalidInput: { status: 422, retryable: false, title: "The input does not fit its schema." },
  IdempotencyConflict: {
    status: 422,
    retryable: false,
    title: "The idempotency key was used for another command.",
  },
  Defect: { status: 500, retryable: false, title: "Something failed inside the runtime." },
  OwnershipLost: {
    status: 500,
    retryable: false,
    title: "A newer attempt owns the thread.",
  },
  InvalidDefinition: { status: 500, retryable: false, title: "A definition is not valid." },
  Overloaded: { status: 503, retryable: true, title: "Too many callers wait on this thread." },
  Unavailable: { status: 503, retryable: true, title: "The thread cannot be served right now." },
} as const satisfies Record<string, ErrorCodeFacts>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Narrows a text from the wire to a known code. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERROR_CODES, text);
}
