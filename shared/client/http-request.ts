// Each operation as an HTTP request: the same fields, spread over path, headers, query and body. Pure.
import type { JsonValue } from "../canonical-json.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { RequestOf } from "../wire/requests.ts";
import type { ClientOperation } from "./transport.ts";

export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

type Plans = {
  readonly [Operation in ClientOperation]: (request: RequestOf<Operation>) => HttpRequest;
};

const PLANS: Plans = {
  submit: ({ threadId, idempotencyKey, request, timeoutMillis }) => ({
    method: "POST",
    path: pathOf(threadId, "submissions"),
    headers: { "idempotency-key": idempotencyKey, ...prefer(timeoutMillis) },
    body: request,
  }),
  getThread: ({ threadId }) => ({ method: "GET", path: pathOf(threadId) }),
  getSubmission: ({ threadId, submissionId, timeoutMillis }) => ({
    method: "GET",
    path: pathOf(threadId, "submissions", submissionId),
    headers: prefer(timeoutMillis),
  }),
  listSubmissions: ({ threadId, page }) => ({
    method: "GET",
    path: pathOf(threadId, "submissions") + queryOf({ ...page }),
  }),
  awaitSettlementRecord: ({ threadId, submissionId, timeoutMillis }) => ({
    method: "GET",
    path: pathOf(threadId, "submissions", submissionId, "settlement"),
    headers: prefer(timeoutMillis),
  }),
  readPage: ({ threadId, page }) => ({
    method: "GET",
    path: pathOf(threadId, "records") + queryOf({ ...page, types: page?.types?.join(",") }),
  }),
  events: ({ threadId, after, submissionId, deltas }) => ({
    method: "GET",
    path: pathOf(threadId, "events") + queryOf({ after, submission: submissionId, deltas }),
    headers: { accept: "text/event-stream" },
  }),
  abort: ({ threadId, submissionId, request }) => ({
    method: "POST",
    path: pathOf(threadId, "submissions", submissionId, "abort"),
    body: request ?? {},
  }),
  listOperations: ({ threadId }) => ({ method: "GET", path: pathOf(threadId, "operations") }),
  decideOperations: ({ threadId, request }) => ({
    method: "POST",
    path: pathOf(threadId, "operations", "decide"),
    body: request,
  }),
  explain: ({ threadId }) => ({ method: "GET", path: pathOf(threadId, "explain") }),
  usage: ({ threadId }) => ({ method: "GET", path: pathOf(threadId, "usage") }),
  verify: ({ threadId }) => ({ method: "GET", path: pathOf(threadId, "verify") }),
  repair: ({ threadId, request }) => ({
    method: "POST",
    path: pathOf(threadId, "repair"),
    body: request,
  }),
  deleteThread: ({ threadId, request }) => ({
    method: "DELETE",
    path: pathOf(threadId) + queryOf({ force: request?.force }),
  }),
};

export function planRequest<Operation extends ClientOperation>(
  operation: Operation,
  request: RequestOf<Operation>,
): HttpRequest {
  return PLANS[operation](request);
}

function pathOf(...segments: readonly string[]): string {
  return `/v1/threads/${segments.map(encodeSegment).join("/")}`;
}

/** Throws `InvalidIdentifier` for what a URL would lose: the request would be another one. */
function encodeSegment(segment: string): string {
  if (/^\.{0,2}$/.test(segment) || !segment.isWellFormed()) {
    throw new HoldfastError(
      "InvalidIdentifier",
      "An id is empty, is . or .. alone, or holds half a character. No thread and no submission has such an id.",
    );
  }
  return encodeURIComponent(segment);
}

function queryOf(fields: Readonly<Record<string, Exclude<JsonValue, object> | undefined>>): string {
  const given = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}

function prefer(timeoutMillis = 0): Record<string, string> {
  return timeoutMillis === 0 ? {} : { prefer: `wait=${Math.ceil(timeoutMillis / 1_000)}` };
}
