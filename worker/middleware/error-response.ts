// The only place where an error becomes HTTP: RFC 9457 problem documents with a stable code.
import type { Context } from "hono";
import { ERROR_CODES } from "../../shared/errors/codes.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { errorName, logEvent } from "../../durable-objects/platform/log.ts";
import type { AppEnv } from "../app-env.ts";

/** Codes of reads and of refused input leave nothing behind; a broken-off call says what it knows itself. */
export function renderProblem(error: unknown, context: Context<AppEnv>): Response {
  const requestId = context.get("requestId");
  const known = error instanceof HoldfastError ? error : defect(error, requestId);
  const { retryAfterSeconds, status: _status, retryable: _retryable, ...fields } = known.fields;
  const body = {
    type: `about:blank#${known.code}`,
    title: ERROR_CODES[known.code].title,
    status: known.status,
    detail: known.detail,
    code: known.code,
    requestId,
    retryable: known.retryable,
    outcome: "not-applied",
    ...fields,
    ...(known.errors.length === 0 ? {} : { errors: known.errors }),
  };
  const headers = new Headers({ "content-type": "application/problem+json" });
  headers.set("x-request-id", requestId);
  if (typeof retryAfterSeconds === "number") headers.set("retry-after", `${retryAfterSeconds}`);
  if (known.status === 401) headers.set("www-authenticate", "Bearer");
  return new Response(JSON.stringify(body), { status: known.status, headers });
}

function defect(error: unknown, requestId: string): HoldfastError {
  logEvent("error", "http-defect", { requestId, error: errorName(error) });
  return new HoldfastError(
    "Defect",
    "Something failed inside the Worker; its log has the request id.",
    {
      fields: { outcome: "unknown" },
    },
  );
}
