// Each operation of the client as an HTTP request: as it is spelled, as the app's own OpenAPI document has it, and for ids of any text.
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { planRequest, type HttpRequest } from "../../../shared/client/http-request.ts";
import type { ClientOperation } from "../../../shared/client/transport.ts";
import { must } from "../../../shared/assert.ts";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import { RequestSchemas, type RequestOf } from "../../../shared/wire/requests.ts";
import { systemPorts } from "../../../durable-objects/platform/system-ports.ts";
import { opsAssistant } from "../../../worker/agents/ops-assistant.ts";
import { createApp } from "../../../worker/app.ts";
import { prepareDeployment } from "../../../worker/deployment-options.ts";

interface Example<Operation extends ClientOperation> {
  readonly request: RequestOf<Operation>;
  readonly sent: HttpRequest;
}

const T = "a-thread";
const S = "sub-1-aaaaaaaaaaaaaaaa";

/** Every operation, each with as much and as little as it takes. */
const EXAMPLES: {
  readonly [Operation in ClientOperation]: readonly Example<Operation>[];
} = {
  submit: [
    {
      request: {
        threadId: T,
        idempotencyKey: "k",
        request: { agent: "a", input: { x: [1, null] }, expectDefinitions: { agent: "d" } },
      },
      sent: {
        method: "POST",
        path: "/v1/threads/a-thread/submissions",
        headers: { "idempotency-key": "k" },
        body: { agent: "a", input: { x: [1, null] }, expectDefinitions: { agent: "d" } },
      },
    },
    {
      // Part of a second is a second: a wait is never shorter than it was asked for.
      request: {
        threadId: T,
        idempotencyKey: "k",
        request: { agent: "a", input: null },
        timeoutMillis: 19_001,
      },
      sent: {
        method: "POST",
        path: "/v1/threads/a-thread/submissions",
        headers: { "idempotency-key": "k", prefer: "wait=20" },
        body: { agent: "a", input: null },
      },
    },
  ],
  getThread: [{ request: { threadId: T }, sent: { method: "GET", path: "/v1/threads/a-thread" } }],
  getSubmission: [
    {
      request: { threadId: T, submissionId: S },
      sent: { method: "GET", path: `/v1/threads/a-thread/submissions/${S}`, headers: {} },
    },
    {
      request: { threadId: T, submissionId: S, timeoutMillis: 60_000 },
      sent: {
        method: "GET",
        path: `/v1/threads/a-thread/submissions/${S}`,
        headers: { prefer: "wait=60" },
      },
    },
  ],
  listSubmissions: [
    {
      request: { threadId: T },
      sent: { method: "GET", path: "/v1/threads/a-thread/submissions" },
    },
    {
      request: { threadId: T, page: { after: 0, limit: 2, state: "waiting" } },
      sent: {
        method: "GET",
        path: "/v1/threads/a-thread/submissions?after=0&limit=2&state=waiting",
      },
    },
  ],
  awaitSettlementRecord: [
    {
      request: { threadId: T, submissionId: S },
      sent: {
        method: "GET",
        path: `/v1/threads/a-thread/submissions/${S}/settlement`,
        headers: {},
      },
    },
    {
      request: { threadId: T, submissionId: S, timeoutMillis: 1 },
      sent: {
        method: "GET",
        path: `/v1/threads/a-thread/submissions/${S}/settlement`,
        headers: { prefer: "wait=1" },
      },
    },
  ],
  readPage: [
    { request: { threadId: T }, sent: { method: "GET", path: "/v1/threads/a-thread/records" } },
    {
      request: {
        threadId: T,
        page: { after: 7, limit: 256, types: ["ModelResponded", "ToolSettled"] },
      },
      sent: {
        method: "GET",
        path: "/v1/threads/a-thread/records?after=7&limit=256&types=ModelResponded%2CToolSettled",
      },
    },
  ],
  events: [
    {
      request: { threadId: T },
      sent: {
        method: "GET",
        path: "/v1/threads/a-thread/events",
        headers: { accept: "text/event-stream" },
      },
    },
    {
      request: { threadId: T, after: 0, submissionId: S, deltas: false },
      sent: {
        method: "GET",
        path: `/v1/threads/a-thread/events?after=0&submission=${S}&deltas=false`,
        headers: { accept: "text/event-stream" },
      },
    },
  ],
  abort: [
    {
      request: { threadId: T, submissionId: S },
      sent: { method: "POST", path: `/v1/threads/a-thread/submissions/${S}/abort`, body: {} },
    },
    {
      request: { threadId: T, submissionId: S, request: { reason: "not needed" } },
      sent: {
        method: "POST",
        path: `/v1/threads/a-thread/submissions/${S}/abort`,
        body: { reason: "not needed" },
      },
    },
  ],
  listOperations: [
    { request: { threadId: T }, sent: { method: "GET", path: "/v1/threads/a-thread/operations" } },
  ],
  decideOperations: [
    {
      request: {
        threadId: T,
        request: { decisions: [{ operationId: "run-1.t1.c0", decision: "deny", reason: "no" }] },
      },
      sent: {
        method: "POST",
        path: "/v1/threads/a-thread/operations/decide",
        body: { decisions: [{ operationId: "run-1.t1.c0", decision: "deny", reason: "no" }] },
      },
    },
  ],
  explain: [
    { request: { threadId: T }, sent: { method: "GET", path: "/v1/threads/a-thread/explain" } },
  ],
  verify: [
    { request: { threadId: T }, sent: { method: "GET", path: "/v1/threads/a-thread/verify" } },
  ],
  usage: [
    { request: { threadId: T }, sent: { method: "GET", path: "/v1/threads/a-thread/usage" } },
  ],
  repair: [
    {
      request: { threadId: T, request: { action: "retry", target: S, reason: "again" } },
      sent: {
        method: "POST",
        path: "/v1/threads/a-thread/repair",
        body: { action: "retry", target: S, reason: "again" },
      },
    },
  ],
  deleteThread: [
    { request: { threadId: T }, sent: { method: "DELETE", path: "/v1/threads/a-thread" } },
    {
      request: { threadId: T, request: { force: true } },
      sent: { method: "DELETE", path: "/v1/threads/a-thread?force=true" },
    },
  ],
};

const OPERATIONS = z
  .array(z.custom<ClientOperation>((name) => typeof name === "string" && name in RequestSchemas))
  .parse(Object.keys(EXAMPLES));

/** Plans of an operation's examples, each beside what it should be. */
function plansOf(operation: ClientOperation): { planned: HttpRequest; sent: HttpRequest }[] {
  const examples: readonly Example<typeof operation>[] = EXAMPLES[operation];
  return examples.map(({ request, sent }) => ({ planned: planRequest(operation, request), sent }));
}

describe("[UX-06] an operation over HTTP", () => {
  it.each(OPERATIONS)("is spelled as its route has it: %s", (operation) => {
    for (const { planned, sent } of plansOf(operation)) expect(planned).toEqual(sent);
  });

  it("is every operation but the three waits that HTTP spells otherwise", () => {
    expect(OPERATIONS.toSorted()).toEqual(
      Object.keys(RequestSchemas)
        .filter((name) => !["awaitSettlement", "awaitProgress", "cancelWait"].includes(name))
        .toSorted(),
    );
  });
});

const DocumentSchema = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        parameters: z.array(z.object({ name: z.string(), in: z.string() })).default([]),
        requestBody: z.unknown().optional(),
      }),
    ),
  ),
});

describe("[UX-06] a planned request", () => {
  let documented: z.infer<typeof DocumentSchema>;

  beforeAll(async () => {
    const app = createApp(prepareDeployment({ agents: [opsAssistant] }, systemPorts));
    const answer = await app.fetch(new Request("http://127.0.0.1/openapi.json"), {});
    documented = DocumentSchema.parse(await answer.json());
  });

  it.each(OPERATIONS)("has nothing that the OpenAPI document does not have: %s", (operation) => {
    const route = must(
      Object.entries(documented.paths)
        .flatMap(([path, item]) =>
          Object.entries(item).map(([method, facts]) => ({ path, method, ...facts })),
        )
        .find(({ operationId }) => operationId === operation),
      `the document has ${operation}`,
    );
    const declared = (where: string): string[] =>
      route.parameters.flatMap((each) => (each.in === where ? [each.name] : []));
    for (const { planned } of plansOf(operation)) {
      const url = new URL(planned.path, "http://127.0.0.1");
      expect(planned.method.toLowerCase()).toBe(route.method);
      expect(url.pathname).toBe(route.path.replace("{thread}", T).replace("{submission}", S));
      expect(declared("query")).toEqual(expect.arrayContaining([...url.searchParams.keys()]));
      expect(["accept", ...declared("header")]).toEqual(
        expect.arrayContaining(Object.keys(planned.headers ?? {})),
      );
      expect("body" in planned).toBe(route.requestBody !== undefined);
    }
  });
});

/** What has a meaning in a URL, in pieces, and any other text. */
const hostile = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(fc.constantFrom(".", "..", "/", "\\", "%", "%2e", "%2F", "?", "#", "\n", " ", "a", "é"))
    .map((parts) => parts.join("")),
);

/** What no path can hold as one segment: a URL loses it, or it is no text. */
function isLost(id: string): boolean {
  return id === "" || id === "." || id === ".." || !id.isWellFormed();
}

describe("[UX-06] an id of any text", () => {
  it("stays one segment of the path, and comes out of it as it was", () => {
    fc.assert(
      fc.property(hostile, hostile, (threadId, submissionId) => {
        fc.pre(!isLost(threadId) && !isLost(submissionId));
        const { path } = planRequest("abort", { threadId, submissionId });
        const { pathname, search, hash, origin } = new URL(path, "http://127.0.0.1");
        expect({ search, hash, origin }).toEqual({
          search: "",
          hash: "",
          origin: "http://127.0.0.1",
        });
        const [, v1, threads, thread, submissions, submission, abort, ...more] = pathname
          .split("/")
          .map(decodeURIComponent);
        expect([v1, threads, thread, submissions, submission, abort, ...more]).toEqual([
          "v1",
          "threads",
          threadId,
          "submissions",
          submissionId,
          "abort",
        ]);
      }),
    );
  });

  it("stays one field of the query", () => {
    fc.assert(
      fc.property(hostile, (submissionId) => {
        const { path } = planRequest("events", { threadId: T, submissionId });
        const { searchParams, hash } = new URL(path, "http://127.0.0.1");
        expect(hash).toBe("");
        expect([...searchParams]).toEqual([["submission", submissionId.toWellFormed()]]);
      }),
    );
  });

  it.each(["", ".", "..", "\ud800", "a\udc00"])(
    "is refused where a URL would lose it, so that no other route is asked: %j",
    (id) => {
      const plans = [
        () => planRequest("getThread", { threadId: id }),
        () => planRequest("readPage", { threadId: id }),
        () => planRequest("getSubmission", { threadId: T, submissionId: id }),
        () => planRequest("abort", { threadId: T, submissionId: id }),
      ];
      for (const plan of plans) {
        expect(plan).toThrow(HoldfastError);
        expect(plan).toThrow(expect.objectContaining({ code: "InvalidIdentifier" }));
      }
    },
  );
});
