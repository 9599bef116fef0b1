// The only place where an error becomes HTTP: RFC 9457 problem documents with a stable code.
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { ERROR_CODES } from "../../shared/errors/codes.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { errorName, logEvent } from "../../durable-objects/platform/log.ts";
import type { AppEnv } from "../app-env.ts";

/** Codes of reads and of refused input leave nothing behind; a broken-off call says what it knows itself. */
export function renderProblem(error: unknown, context: Context<AppEnv>): Response {
  const requestId = context.get("requestId");
  const known = toHoldfastError(error, requestId);
  const { retryAfterSeconds, status: _status, retryable: _retryable, ...fields } = known.fields;
  const body = {
    type: new URL(`/errors/${known.code}`, context.req.url).href,
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
  if (typeof retryAfterSeconds === "number") headers.set("retry-after", `${retryAfterSeconds}`);
  if (known.status === 401) headers.set("www-authenticate", "Bearer");
  logRefusal(known, context);
  return new Response(JSON.stringify(body), { status: known.status, headers });
}

function toHoldfastError(error: unknown, requestId: string): HoldfastError {
  if (error instanceof HoldfastError) return error;
  // The router's own refusals of a body.
  if (error instanceof HTTPException) {
    return error.status === 415
      ? new HoldfastError("UnsupportedMediaType", "Send the body as application/json.")
      : new HoldfastError("MalformedRequest", "The body is not JSON. Send one JSON object.");
  }
  logEvent("error", "http-defect", { requestId, error: errorName(error) });
  return new HoldfastError(
    "Defect",
    "Something failed inside the Worker; its log has the request id.",
    { fields: { outcome: "unknown" } },
  );
}

/** Who was refused what, by the id of the credential: never the credential itself (SEC-01). */
function logRefusal({ code, status }: HoldfastError, context: Context<AppEnv>): void {
  if (status !== 401 && status !== 403 && status !== 429 && status < 500) return;
  logEvent("warn", "request-refused", {
    requestId: context.get("requestId"),
    code,
    method: context.req.method,
    credential: context.get("credential")?.id ?? null,
  });
}
