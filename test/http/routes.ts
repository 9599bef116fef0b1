// Every route of a thread, with a request that is right: what the tests of bad input and of access bend. A test holds it against the
// OpenAPI document, so that no route is forgotten.
import type { ApiOperation } from "../../shared/wire/access.ts";
import { AUTHORIZATION, type Sent } from "./http-client.ts";

export interface Route {
  readonly name: string;
  readonly operation: ApiOperation;
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: (threadId: string, submissionId: string) => string;
  /** A right body, where the route takes one; `submissionId` is one of the thread. */
  readonly body?: (submissionId: string) => Readonly<Record<string, unknown>>;
}

/** An id of the right form that no thread has. */
export const NO_SUBMISSION = "sub-1-zzzzzzzzzzzzzzzz";
export const NO_OPERATION = "run-1-zzzzzzzzzzzzzzzz.t1.c0";

export const ROUTES: readonly Route[] = [
  {
    name: "GET thread",
    operation: "getThread",
    method: "GET",
    path: (thread) => `/v1/threads/${thread}`,
  },
  {
    name: "POST submissions",
    operation: "submit",
    method: "POST",
    path: (thread) => `/v1/threads/${thread}/submissions`,
    body: () => ({ agent: "plain", input: { plan: [{ text: "ok" }] } }),
  },
  {
    name: "GET submissions",
    operation: "listSubmissions",
    method: "GET",
    path: (thread) => `/v1/threads/${thread}/submissions`,
  },
  {
    name: "GET submission",
    operation: "getSubmission",
    method: "GET",
    path: (thread, id) => `/v1/threads/${thread}/submissions/${id}`,
  },
  {
    name: "GET settlement",
    operation: "awaitSettlementRecord",
    method: "GET",
    path: (thread, id) => `/v1/threads/${thread}/submissions/${id}/settlement`,
  },
  {
    name: "POST abort",
    operation: "abort",
    method: "POST",
    path: (thread, id) => `/v1/threads/${thread}/submissions/${id}/abort`,
    body: () => ({ reason: "not needed" }),
  },
  {
    name: "GET records",
    operation: "readPage",
    method: "GET",
    path: (thread) => `/v1/threads/${thread}/records`,
  },
  {
    name: "GET export",
    operation: "export",
    method: "GET",
    path: (thread) => `/v1/threads/${thread}/export`,
  },
  {
    // Of one submission: of a whole thread that is idle, or waits, it would be a minute long.
    name: "GET events",
    operation: "events",
    method: "GET",
    path: (thread, id) => `/v1/threads/${thread}/events?submission=${id}`,
  },
  {
    name: "GET operations",
    operation: "listOperations",
    method: "GET",
    path: (thread) => `/v1/threads/${thread}/operations`,
  },
  {
    name: "POST decide",
    operation: "decideOperations",
    method: "POST",
    path: (thread) => `/v1/threads/${thread}/operations/decide`,
    body: (id) => ({
      decisions: [
        { operationId: `${id.replace("sub-", "run-")}.t1.c0`, decision: "deny", reason: "no" },
      ],
    }),
  },
  {
    name: "GET explain",
    operation: "explain",
    method: "GET",
    path: (thread) => `/v1/threads/${thread}/explain`,
  },
  {
    name: "GET usage",
    operation: "usage",
    method: "GET",
    path: (thread) => `/v1/threads/${thread}/usage`,
  },
  {
    name: "GET verify",
    operation: "verify",
    method: "GET",
    path: (thread) => `/v1/threads/${thread}/verify`,
  },
  {
    name: "POST repair",
    operation: "repair",
    method: "POST",
    path: (thread) => `/v1/threads/${thread}/repair`,
    body: (id) => ({ action: "retry", target: id, reason: "try again" }),
  },
  {
    // The last: nothing is left of the thread after it, where nothing is owed.
    name: "DELETE thread",
    operation: "deleteThread",
    method: "DELETE",
    path: (thread) => `/v1/threads/${thread}`,
  },
];

/** Routes with a body. */
export const WRITES = ROUTES.flatMap((route) =>
  route.body === undefined ? [] : [{ ...route, body: route.body }],
);

/** A request that the route accepts. */
export function rightRequest(route: Route, submissionId: string): Sent {
  const headers = { authorization: AUTHORIZATION };
  if (route.body === undefined) return { method: route.method, headers };
  return {
    method: route.method,
    headers: { ...headers, "content-type": "application/json", "idempotency-key": "right-key" },
    body: JSON.stringify(route.body(submissionId)),
  };
}
