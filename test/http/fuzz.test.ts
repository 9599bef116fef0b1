// Requests at random over every route: whatever comes, the answer is JSON or a problem, and never a failure of the server. The seed is
// in the name of the test: put it in SEED to run the same requests again.
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { must } from "../../shared/assert.ts";
import { RECORD_TYPES } from "../../shared/wire/records.ts";
import { expectSound } from "../support/expect-sound.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { AUTHORIZATION, expectProblem, sendBare, type Answer, type Sent } from "./http-client.ts";
import { NO_OPERATION, NO_SUBMISSION, ROUTES } from "./routes.ts";

const SEED = Date.now() % 2 ** 31;
const RUNS = 300;

let known: { threadId: string; submissionIds: string[]; operationId: string };
const thread = new ThreadDriver("fuzz");
beforeAll(async () => {
  const settled = await thread.submit([{ calls: [{ tool: "look" }] }, { text: "ok" }]);
  await thread.settlement(settled.receipt.submissionId);
  const waiting = await thread.submit([{ calls: [{ tool: "guarded" }] }, { text: "ok" }]);
  await thread.waitingFor(waiting.receipt.submissionId, "approval");
  const queued = await thread.submit([{ text: "behind" }]);
  const [operation] = await thread.operations();
  known = {
    threadId: thread.threadId,
    submissionIds: [settled, waiting, queued].map(({ receipt }) => receipt.submissionId),
    operationId: must(operation, "an approval waits").operationId,
  };
});

/** Ids are picked by number, as the real ones are made when the tests run. */
function pick(values: readonly string[], index: number): string {
  return values[index % values.length] ?? "";
}

const segment = fc.oneof(
  fc.string({ maxLength: 40 }).map(encodeURIComponent),
  fc
    .string({ unit: "binary", maxLength: 20 })
    .map((text) => encodeURIComponent(text.toWellFormed())),
  fc.constantFrom("%", "%2F", "%00", "..", ".", "%E0%A4%A", "*", ":thread", "a".repeat(300)),
);

/** A path: mostly one of the routes, with ids that exist, could exist, or are garbage. */
const path = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .record({
        route: fc.constantFrom(...ROUTES),
        thread: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, segment),
        submission: fc.oneof({ weight: 4, arbitrary: fc.nat(3) }, segment),
      })
      .map(({ route, thread: other, submission }) => {
        return () =>
          route.path(
            other ?? known.threadId,
            typeof submission === "number"
              ? pick([...known.submissionIds, NO_SUBMISSION], submission)
              : submission,
          );
      }),
  },
  {
    weight: 1,
    arbitrary: fc.array(segment, { maxLength: 6 }).map((parts) => () => `/${parts.join("/")}`),
  },
  { weight: 1, arbitrary: segment.map((part) => () => `/v1/threads/${part}`) },
);

const query = fc.oneof(
  { weight: 3, arbitrary: fc.constant("") },
  fc
    .record(
      {
        after: fc.oneof(fc.nat(20).map(String), fc.double().map(String), fc.string()),
        limit: fc.oneof(fc.integer({ min: -2, max: 300 }).map(String), fc.string()),
        types: fc.oneof(
          fc.subarray([...RECORD_TYPES, "Nothing"]).map((types) => types.join(",")),
          fc.string(),
        ),
      },
      { requiredKeys: [] },
    )
    .map((fields) => {
      const search = new URLSearchParams();
      for (const [name, value] of Object.entries(fields)) search.set(name, value.toWellFormed());
      return `?${search.toString()}`;
    }),
  fc.webQueryParameters().map((text) => `?${text}`),
);

const headerText = fc.string({ unit: "grapheme-ascii", maxLength: 300 });
const headers = fc.record(
  {
    authorization: fc.oneof(
      { weight: 9, arbitrary: fc.constant(AUTHORIZATION) },
      headerText,
      headerText.map((text) => `Bearer ${text}`),
    ),
    "content-type": fc.oneof(
      { weight: 8, arbitrary: fc.constant("application/json") },
      fc.constantFrom("application/json; charset=utf-8", "text/plain", "application/jsonx"),
      headerText,
    ),
    "idempotency-key": fc.oneof(
      { weight: 4, arbitrary: fc.nat(5).map((key) => `fuzz-${key}`) },
      headerText,
    ),
    // No wait of more than a moment: what is owed here stays owed.
    prefer: fc.oneof(fc.constantFrom("wait=0", "wait=", "respond-async"), fc.constant("wait=-1")),
    accept: headerText,
    "content-length": fc.constantFrom("0", "abc", "-1", "99999999"),
  },
  { requiredKeys: ["authorization", "content-type", "idempotency-key"] },
);

const text = fc.oneof(fc.string({ maxLength: 40 }), fc.string({ unit: "binary", maxLength: 40 }));

/** A body: one of the right shape with wrong or right parts, any JSON, or any bytes. */
const body = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record(
        {
          agent: fc.oneof(fc.constantFrom("plain", "structured", "nobody"), text),
          input: fc.oneof(
            fc.record({ plan: fc.array(fc.record({ text }), { maxLength: 2 }) }),
            fc.jsonValue(),
          ),
          expectDefinitions: fc.jsonValue(),
          extra: fc.jsonValue(),
        },
        { requiredKeys: ["agent", "input"] },
      )
      .map((value) => () => JSON.stringify(value)),
  },
  {
    weight: 3,
    arbitrary: fc
      .record(
        {
          operation: fc.oneof(fc.constant(null), fc.constant(NO_OPERATION), text),
          decision: fc.constantFrom(
            "completed",
            "failed",
            "never-started",
            "safe-to-retry",
            "nope",
          ),
          reason: text,
          result: fc.jsonValue(),
          argumentsDigest: text,
        },
        { requiredKeys: ["operation", "decision", "reason"] },
      )
      .map(({ operation, ...decision }) => () => {
        const operationId = operation ?? known.operationId;
        return JSON.stringify({ decisions: [{ operationId, ...decision }] });
      }),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ action: fc.constantFrom("retry", "erase"), target: fc.nat(3), reason: text })
      .map(({ target, ...repair }) => () => {
        const of = pick([...known.submissionIds, NO_SUBMISSION], target);
        return JSON.stringify({ ...repair, target: of });
      }),
  },
  { weight: 3, arbitrary: fc.json().map((json) => () => json) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => () => bytes) },
  { weight: 1, arbitrary: text.map((json) => () => json) },
);

const request = fc.record({
  method: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom("GET", "POST") },
    fc.constantFrom("PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"),
  ),
  path,
  query,
  headers,
  body,
});

/** Expects JSON with a good status, or a problem of the caller's making. */
function expectWellAnswered(answer: Answer, method: string): void {
  expect(answer.status).toBeLessThan(500);
  expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  if (method === "HEAD") {
    expect(answer.text).toBe("");
  } else if (answer.status < 300) {
    expect(answer.headers.get("content-type")).toContain("application/json");
    expect(answer.json).toBeTypeOf("object");
  } else {
    const { status } = expectProblem(answer);
    expect(status).toBeGreaterThanOrEqual(400);
  }
}

describe("requests at random", () => {
  it(`[QUA-01, UX-05] are answered with JSON or a problem, never with a failure (seed ${SEED})`, async () => {
    const statuses = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(request, async (made) => {
        const hasBody = made.method !== "GET" && made.method !== "HEAD";
        const sent: Sent = {
          method: made.method,
          headers: made.headers,
          ...(hasBody ? { body: made.body() } : {}),
        };
        const answer = await sendBare(made.path() + made.query, sent);
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        expectWellAnswered(answer, made.method);
      }),
      { seed: SEED, numRuns: RUNS },
    );
    // The grammar reaches past the front door: some requests are good, some badly formed, some about what there is not.
    for (const status of [200, 400, 401, 404]) expect([...statuses.keys()]).toContain(status);
    await expectSound(thread);
  });
});
