// Every route that takes a credential, with a request that is right: what the tests of bad input bend.
import { AUTHORIZATION, type Sent } from "./http-client.ts";

export interface Route {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path: (threadId: string, submissionId: string) => string;
  /** A right body, where the route takes one; `submissionId` is one of the thread. */
  readonly body?: (submissionId: string) => Readonly<Record<string, unknown>>;
}

/** An id of the right form that no thread has. */
export const NO_SUBMISSION = "sub-1-zzzzzzzzzzzzzzzz";
export const NO_OPERATION = "run-1-zzzzzzzzzzzzzzzz.t1.c0";

export const ROUTES: readonly Route[] = [
  {
    name: "POST submissions",
    method: "POST",
    path: (thread) => `/v1/threads/${thread}/submissions`,
    body: () => ({ agent: "plain", input: { plan: [{ text: "ok" }] } }),
  },
  {
    name: "GET submission",
    method: "GET",
    path: (thread, id) => `/v1/threads/${thread}/submissions/${id}`,
  },
  {
    name: "GET settlement",
    method: "GET",
    path: (thread, id) => `/v1/threads/${thread}/submissions/${id}/settlement`,
  },
  {
    name: "POST abort",
    method: "POST",
    path: (thread, id) => `/v1/threads/${thread}/submissions/${id}/abort`,
    body: () => ({ reason: "not needed" }),
  },
  { name: "GET records", method: "GET", path: (thread) => `/v1/threads/${thread}/records` },
  { name: "GET operations", method: "GET", path: (thread) => `/v1/threads/${thread}/operations` },
  {
    name: "POST decide",
    method: "POST",
    path: (thread) => `/v1/threads/${thread}/operations/decide`,
    body: (id) => ({
      decisions: [
        { operationId: `${id.replace("sub-", "run-")}.t1.c0`, decision: "deny", reason: "no" },
      ],
    }),
  },
  { name: "GET explain", method: "GET", path: (thread) => `/v1/threads/${thread}/explain` },
  {
    name: "POST repair",
    method: "POST",
    path: (thread) => `/v1/threads/${thread}/repair`,
    body: (id) => ({ action: "retry", target: id, reason: "try again" }),
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
