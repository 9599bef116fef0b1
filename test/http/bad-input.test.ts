// Bad input on every route: refused with a problem that says what is wrong, before anything is written. A thread that was never written
// stays an empty file; one that was stays as it is.
import { beforeAll, describe, expect, it } from "vitest";
import type { JsonValue } from "../../shared/canonical-json.ts";
import { must } from "../../shared/assert.ts";
import { TESTER, ThreadDriver, type Dump } from "../support/thread-driver.ts";
import {
  AUTHORIZATION,
  command,
  expectEmptyFile,
  expectProblem,
  expectRefusal,
  post,
  send,
  sendBare,
  submit,
  type Sent,
} from "./http-client.ts";
import { NO_OPERATION, NO_SUBMISSION, rightRequest, ROUTES, WRITES, type Route } from "./routes.ts";

/** A thread with a settled submission and one that waits for approval, and what it held before the bad input came. */
interface Busy {
  readonly thread: ThreadDriver;
  readonly settledId: string;
  readonly waitingId: string;
  readonly operationId: string;
  readonly before: Dump;
}

async function busyThread(): Promise<Busy> {
  const thread = new ThreadDriver("bad-busy");
  const settled = await thread.submit([{ calls: [{ tool: "look" }] }, { text: "ok" }]);
  await thread.settlement(settled.receipt.submissionId);
  const waiting = await thread.submit([{ calls: [{ tool: "guarded" }] }, { text: "ok" }]);
  await thread.waitingFor(waiting.receipt.submissionId, "approval");
  await thread.quiet();
  const [operation] = await thread.operations();
  return {
    thread,
    settledId: settled.receipt.submissionId,
    waitingId: waiting.receipt.submissionId,
    operationId: must(operation, "an approval waits").operationId,
    before: await thread.dump(),
  };
}

let busy: Busy;
beforeAll(async () => {
  busy = await busyThread();
});

/** Expects the refusal from a thread that was never written, and from one that has work; neither changes. */
async function expectRefusedEverywhere(
  route: Route,
  sent: (submissionId: string) => Sent,
  status: number,
  code: string,
  query = "",
): Promise<void> {
  const fresh = new ThreadDriver("bad-fresh");
  for (const [threadId, submissionId] of [
    [fresh.threadId, NO_SUBMISSION],
    [busy.thread.threadId, busy.waitingId],
  ] as const) {
    const answer = await sendBare(route.path(threadId, submissionId) + query, sent(submissionId));
    expectRefusal(answer, status, code);
  }
  await expectEmptyFile(fresh);
  expect(await busy.thread.dump()).toEqual(busy.before);
}

const JSON_HEADERS = {
  authorization: AUTHORIZATION,
  "content-type": "application/json",
  "idempotency-key": "bad",
} as const;

function deep(open: string, close: string): string {
  return `${open.repeat(10_000)}1${close.repeat(10_000)}`;
}

function bytes(...values: number[]): Uint8Array {
  return new Uint8Array([...new TextEncoder().encode('{"reason":"'), ...values, 0x22, 0x7d]);
}

/** A body of which only its end would tell that it is too long. */
function endless(): ReadableStream<Uint8Array> {
  const chunk = new Uint8Array(64 * 1024).fill(0x20);
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      sent += chunk.byteLength;
      if (sent > 4 * 1024 * 1024) controller.close();
      else controller.enqueue(chunk);
    },
  });
}

const MIB = 1024 * 1024;

/** Bodies that no route takes, whatever its shape. */
const BAD_BODIES: readonly (readonly [string, () => Sent, number, string])[] = [
  ["no body", () => ({}), 400, "MalformedRequest"],
  ["an empty body", () => ({ body: "" }), 400, "MalformedRequest"],
  ["blanks", () => ({ body: " \n\t" }), 400, "MalformedRequest"],
  ["text that is not JSON", () => ({ body: "{agent: plain}" }), 400, "MalformedRequest"],
  ["JSON that is cut off", () => ({ body: '{"agent":"pla' }), 400, "MalformedRequest"],
  ["JSON and more behind it", () => ({ body: "{}{}" }), 400, "MalformedRequest"],
  ["an array", () => ({ body: "[]" }), 400, "MalformedRequest"],
  ["null", () => ({ body: "null" }), 400, "MalformedRequest"],
  ["a string", () => ({ body: '"plain"' }), 400, "MalformedRequest"],
  ["a number", () => ({ body: "42" }), 400, "MalformedRequest"],
  ["a number past every bound", () => ({ body: "1e999" }), 400, "MalformedRequest"],
  ["NaN", () => ({ body: '{"reason":NaN}' }), 400, "MalformedRequest"],
  ["10,000 nested arrays", () => ({ body: deep("[", "]") }), 400, "MalformedRequest"],
  ["10,000 nested objects", () => ({ body: deep('{"a":', "}") }), 400, "MalformedRequest"],
  [
    "an array of 4,097 entries",
    () => ({ body: `[${"1,".repeat(4_096)}1]` }),
    400,
    "MalformedRequest",
  ],
  [
    "an object of 4,097 keys",
    () => ({
      body: JSON.stringify(
        Object.fromEntries(Array.from({ length: 4_097 }, (_, index) => [`k${index}`, 1])),
      ),
    }),
    400,
    "MalformedRequest",
  ],
  [
    "65,537 nodes",
    () => ({ body: `[${`[${"1,".repeat(4_095)}1],`.repeat(16)}1]` }),
    400,
    "MalformedRequest",
  ],
  ["a broken UTF-8 sequence", () => ({ body: bytes(0xc3, 0x28) }), 400, "MalformedRequest"],
  ["a cut UTF-8 sequence", () => ({ body: bytes(0xe2, 0x82) }), 400, "MalformedRequest"],
  ["an encoded surrogate", () => ({ body: bytes(0xed, 0xa0, 0x80) }), 400, "MalformedRequest"],
  [
    "UTF-16",
    () => ({ body: new Uint8Array([0xff, 0xfe, 0x7b, 0, 0x7d, 0]) }),
    400,
    "MalformedRequest",
  ],
  ["2 MiB and a byte", () => ({ body: " ".repeat(2 * MIB + 1) }), 413, "BodyTooLarge"],
  ["a stream without an end in sight", () => ({ body: endless() }), 413, "BodyTooLarge"],
  [
    "a declared length past the bound",
    () => ({ body: "{}", headers: { "content-length": `${100 * MIB}` } }),
    413,
    "BodyTooLarge",
  ],
  [
    "a form",
    () => ({ body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } }),
    415,
    "UnsupportedMediaType",
  ],
  [
    "text",
    () => ({ body: "{}", headers: { "content-type": "text/plain" } }),
    415,
    "UnsupportedMediaType",
  ],
  [
    "a media type that only begins like JSON's",
    () => ({ body: "{}", headers: { "content-type": "application/jsonp" } }),
    415,
    "UnsupportedMediaType",
  ],
  [
    "an empty media type",
    () => ({ body: "{}", headers: { "content-type": "" } }),
    415,
    "UnsupportedMediaType",
  ],
];

describe.each(WRITES)("bodies of $name", (route) => {
  // An abort needs no body: all in it may be left out, and an empty one is none.
  const mayBeLeftOut = route.name === "POST abort";
  it.each(BAD_BODIES.filter(([what]) => !mayBeLeftOut || !/^(?:no|an empty) body$/.test(what)))(
    "[UX-05, QUA-01] refuses %s and writes nothing",
    async (_what, make, status, code) => {
      const bad = () => {
        const sent = make();
        return { method: "POST", ...sent, headers: { ...JSON_HEADERS, ...sent.headers } };
      };
      await expectRefusedEverywhere(route, bad, status, code);
    },
  );

  it("[UX-05, UX-04] refuses a body without a media type, and names the right one", async () => {
    // A body of bytes gets no media type from the client.
    const { "content-type": _type, ...headers } = JSON_HEADERS;
    const sent = { method: "POST", headers, body: new TextEncoder().encode("{}") };
    await expectRefusedEverywhere(route, () => sent, 415, "UnsupportedMediaType");
    const answer = await sendBare(route.path(busy.thread.threadId, busy.waitingId), sent);
    expect(expectProblem(answer).detail).toContain("application/json");
  });

  it.each(["extra", "constructor", "toString", "__proto__"])(
    "[UX-05] refuses the unknown field %s beside right ones, and names it",
    async (field) => {
      const bad = (id: string) => ({
        method: "POST",
        headers: JSON_HEADERS,
        body: JSON.stringify(route.body(id)).replace("{", `{${JSON.stringify(field)}:{"a":1},`),
      });
      await expectRefusedEverywhere(route, bad, 400, "MalformedRequest");
      const answer = await sendBare(
        route.path(busy.thread.threadId, busy.waitingId),
        bad(busy.waitingId),
      );
      const { detail, errors = [] } = expectProblem(answer);
      const said = errors.map(({ pointer, message }) => `${pointer} ${message}`).join();
      expect(`${detail} ${said}`).toContain(field);
    },
  );

  it("[UX-05, UX-04] answers a long or many unknown fields with a short problem", async () => {
    const right = route.body(busy.waitingId);
    const many = Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`k${index}`, 1]));
    for (const wrong of [{ ["k".repeat(MIB)]: 1 }, many]) {
      const answer = await sendBare(route.path(busy.thread.threadId, busy.waitingId), {
        method: "POST",
        headers: JSON_HEADERS,
        body: JSON.stringify({ ...right, ...wrong }),
      });
      expectRefusal(answer, 400, "MalformedRequest");
      expect(answer.text.length).toBeLessThan(16 * 1024);
    }
  });

  it("[UX-05, UX-04] refuses each field of a wrong type, and points at it", async () => {
    const right = route.body(busy.waitingId);
    for (const field of Object.keys(right).filter((name) => name !== "input")) {
      for (const wrong of [7, true, null, {}, ["x"], ""]) {
        if (field === "reason" && wrong === "" && route.name === "POST abort") continue;
        const sent = {
          method: "POST",
          headers: JSON_HEADERS,
          body: JSON.stringify({ ...right, [field]: wrong }),
        };
        const answer = await sendBare(route.path(busy.thread.threadId, busy.waitingId), sent);
        const { errors = [] } = expectRefusal(answer, 400, "MalformedRequest");
        expect(errors.some(({ pointer }) => pointer.startsWith(`/${field}`))).toBe(true);
      }
    }
    expect(await busy.thread.dump()).toEqual(busy.before);
  });
});

describe("bodies of POST submissions", () => {
  it.each([
    ["no agent", { input: {} }, "/agent"],
    ["no input", { agent: "plain" }, "/input"],
    ["an agent id with spaces", { agent: "a b", input: {} }, "/agent"],
    ["an agent id of 257 characters", { agent: "a".repeat(257), input: {} }, "/agent"],
    ["an agent id that is not ASCII", { agent: "plàin", input: {} }, "/agent"],
    [
      "expected digests that are none",
      { agent: "plain", input: {}, expectDefinitions: { agent: 1 } },
      "/expectDefinitions/agent",
    ],
    [
      "expected digests of something else",
      { agent: "plain", input: {}, expectDefinitions: { memory: "a" } },
      "/expectDefinitions",
    ],
  ])("[UX-05, UX-04] refuses %s, and points at it", async (_what, body, pointer) => {
    const thread = new ThreadDriver("bad-submit");
    const { errors } = expectRefusal(
      await submit(thread.threadId, "k", body),
      400,
      "MalformedRequest",
    );
    expect(errors?.[0]?.pointer).toBe(pointer);
    await expectEmptyFile(thread);
  });

  it.each([
    ["a number", 1],
    ["null", null],
    ["an array", []],
    ["a plan that is none", { plan: "ok" }],
    ["a turn of another shape", { plan: [{ calls: [{ tool: 1 }] }] }],
  ])(
    "[UX-05, THR-04] refuses %s as the input of an agent that wants an object",
    async (_what, input) => {
      const thread = new ThreadDriver("bad-input");
      const problem = expectRefusal(
        await submit(thread.threadId, "k", { agent: "plain", input }),
        422,
        "InvalidInput",
      );
      expect(problem.errors?.[0]?.pointer).toMatch(/^\/input/);
      await expectEmptyFile(thread);
    },
  );

  it.each([
    ["65 levels deep", `${"[".repeat(65)}1${"]".repeat(65)}`, "too deep"],
    ["10,000 levels deep", deep('{"a":', "}"), "too deep"],
    ["4,097 entries wide", `[${"1,".repeat(4_096)}1]`, "at most 4096 entries"],
    ["of 65,537 nodes", `[${`[${"1,".repeat(4_095)}1],`.repeat(16)}1]`, "at most 65536"],
    ["with a number past every bound", "-1e400", "that JSON cannot"],
  ])("[UX-05, UX-04] refuses input %s, and says which bound it is", async (_what, json, bound) => {
    const thread = new ThreadDriver("bad-bounds");
    const answer = await sendBare(`/v1/threads/${thread.threadId}/submissions`, {
      method: "POST",
      headers: JSON_HEADERS,
      body: `{"agent":"plain","input":{"plan":[{"text":"ok"}],"more":${json}}}`,
    });
    const { detail, errors } = expectRefusal(answer, 400, "MalformedRequest");
    expect(`${detail} ${errors?.[0]?.message}`).toContain(bound);
    await expectEmptyFile(thread);
  });

  it("[UX-05, THR-03] never takes a command with a __proto__ key for the one without it", async () => {
    const thread = new ThreadDriver("bad-proto");
    const send = (input: string) =>
      sendBare(`/v1/threads/${thread.threadId}/submissions`, {
        method: "POST",
        headers: JSON_HEADERS,
        body: `{"agent":"plain","input":${input}}`,
      });
    expect((await send('{"plan":[{"text":"ok"}]}')).status).toBe(202);
    const answer = await send('{"plan":[{"text":"ok"}],"__proto__":{"note":"x"}}');
    expect([400, 422]).toContain(answer.status);
    expectProblem(answer);
    expect((await thread.dump()).submissions).toHaveLength(1);
  });

  it("[UX-05] keeps text that is odd and right: half a surrogate pair, NUL, keys like those of every object", async () => {
    const thread = new ThreadDriver("odd");
    const note = "\ud800 \u0000 \u2028 𝄞";
    const input = { plan: [{ calls: [{ tool: "act", input: { value: note } }] }, { text: note }] };
    const answer = await submit(
      thread.threadId,
      "k",
      { agent: "plain", input: { ...input, constructor: 1, toString: 2 } },
      { prefer: "wait=20" },
    );
    expect(answer.status).toBe(202);
    expect(answer.json).toMatchObject({
      submission: { settlement: { outcome: "completed", output: note } },
    });
  });
});

describe("RPC of the object", () => {
  it.each([65, 1_000, 2_000])(
    "[UX-05] refuses input %d levels deep with data, not with a throw, and writes nothing",
    async (levels) => {
      const thread = new ThreadDriver("bad-rpc");
      const more: JsonValue = JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);
      const result = await thread.stub.submit({
        threadId: thread.threadId,
        caller: TESTER,
        idempotencyKey: "k",
        request: { agent: "plain", input: { plan: [{ text: "ok" }], more } },
      });
      expect(result).toMatchObject({ ok: false, error: { code: "MalformedRequest" } });
      await expectEmptyFile(thread);
    },
  );
});

describe("bodies of the controls", () => {
  it("[UX-05] refuses decisions of a wrong shape, and points at them", async () => {
    const { operationId } = busy;
    const right = { operationId, decision: "approve", reason: "ok" };
    const cases: [unknown[], string][] = [
      [[], "/decisions"],
      [[right, right], "/decisions"],
      [["approve"], "/decisions/0"],
      [[{ ...right, decision: "maybe" }], "/decisions/0/decision"],
      [[{ ...right, reason: "" }], "/decisions/0/reason"],
      [[{ ...right, reason: "x".repeat(2_049) }], "/decisions/0/reason"],
      [[{ ...right, operationId: "x".repeat(513) }], "/decisions/0/operationId"],
      [[{ ...right, argumentsDigest: "ABC" }], "/decisions/0/argumentsDigest"],
      [[{ ...right, result: 1 }], "/decisions/0/result"],
      [[{ ...right, decision: "completed" }], "/decisions/0/result"],
      [[{ ...right, author: "someone else" }], "/decisions/0"],
    ];
    for (const [decisions, pointer] of cases) {
      const path = `/v1/threads/${busy.thread.threadId}/operations/decide`;
      const { errors } = expectRefusal(await post(path, { decisions }), 400, "MalformedRequest");
      expect(errors?.[0]?.pointer).toBe(pointer);
    }
    expect(await busy.thread.dump()).toEqual(busy.before);
  });

  it("[UX-05] refuses reasons past their bound, and repairs that there are not", async () => {
    const { threadId } = busy.thread;
    const long = "x".repeat(2_049);
    const abort = `/v1/threads/${threadId}/submissions/${busy.waitingId}/abort`;
    expectRefusal(await post(abort, { reason: long }), 400, "MalformedRequest");
    const right = { action: "retry", target: busy.waitingId, reason: "ok" };
    for (const wrong of [{ reason: long }, { action: "erase" }, { target: "x".repeat(257) }]) {
      const answer = await post(`/v1/threads/${threadId}/repair`, { ...right, ...wrong });
      expectRefusal(answer, 400, "MalformedRequest");
    }
    expect(await busy.thread.dump()).toEqual(busy.before);
  });
});

describe.each([...ROUTES])("$name", (route) => {
  it.each([
    ["129 characters", "a".repeat(129)],
    ["a space", "a%20b"],
    ["a letter that is not ASCII", "%C3%A9"],
    ["an emoji", "%F0%9F%98%80"],
    ["an encoded slash", "a%2Fb"],
    ["two encoded slashes and dots", "..%2F..%2Fother"],
    ["an encoded NUL", "a%00"],
    ["an encoded line break", "a%0D%0Ab"],
    ["an encoded percent sign", "a%25b"],
    ["a broken encoding", "%E0%A4%A"],
    ["a quote", "a'b"],
    ["a plus", "a+b"],
    ["a comma and brackets", '["dev","a"]'],
  ])("[UX-05, THR-12] refuses a thread id with %s", async (_what, threadId) => {
    const sent = rightRequest(route, NO_SUBMISSION);
    const answer = await sendBare(route.path(threadId, NO_SUBMISSION), sent);
    expect(expectRefusal(answer, 400, "InvalidIdentifier").detail).toContain("thread id");
  });

  it.each([
    ["no credential", undefined],
    ["an empty one", ""],
    ["another scheme", "Basic aG9sZGZhc3QtZGV2"],
    ["the scheme alone", "Bearer"],
    ["a wrong key", "Bearer holdfast-de"],
    ["two keys", "Bearer holdfast-dev holdfast-dev"],
    ["a key without a scheme", "holdfast-dev"],
    ["a key of 513 characters", `Bearer ${"k".repeat(513)}`],
  ])("[UX-05, UX-04] refuses %s with 401, and writes nothing", async (_what, authorization) => {
    const bad = (id: string) => {
      const right = rightRequest(route, id);
      const { authorization: _right, ...headers } = { authorization: "", ...right.headers };
      return {
        ...right,
        headers: authorization === undefined ? headers : { ...headers, authorization },
      };
    };
    await expectRefusedEverywhere(route, bad, 401, "Unauthenticated");
  });

  it("[UX-05] has no other method, and says so", async () => {
    const path = route.path("thread", NO_SUBMISSION);
    const known = ROUTES.filter((each) => each.path("thread", NO_SUBMISSION) === path);
    for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS"]) {
      if (known.some((each) => each.method === method)) continue;
      const sent = { method, headers: { authorization: AUTHORIZATION } };
      await expectRefusedEverywhere(route, () => sent, 404, "RouteNotFound");
    }
  });

  it("[THR-13, UX-05] answers 404 for a thread that was never written, and creates nothing", async () => {
    const thread = new ThreadDriver("bad-absent");
    const sent = rightRequest(route, NO_SUBMISSION);
    const withBadAgent = { ...sent, body: JSON.stringify(command([], "nobody")) };
    const isSubmit = route.name === "POST submissions";
    const answer = await sendBare(
      route.path(thread.threadId, NO_SUBMISSION),
      isSubmit ? withBadAgent : sent,
    );
    expectRefusal(answer, 404, isSubmit ? "AgentNotFound" : "ThreadNotFound");
    await expectEmptyFile(thread);
  });
});

describe("identifiers", () => {
  const OF_SUBMISSION = ROUTES.filter((route) => route.path("t", "s").includes("/submissions/s"));

  it("[UX-05] covers every route that names a submission", () => {
    expect(OF_SUBMISSION.map(({ name }) => name)).toEqual([
      "GET submission",
      "GET settlement",
      "POST abort",
    ]);
  });

  it.each(OF_SUBMISSION)(
    "[UX-05, THR-12] $name refuses ids that are malformed, and does not find those that are foreign",
    async (route) => {
      const foreign = await new ThreadDriver("bad-foreign").submit([{ text: "ok" }]);
      const cases: [string, number, string][] = [
        ["x".repeat(257), 400, "InvalidIdentifier"],
        ["a%20b", 400, "InvalidIdentifier"],
        ["%C3%BC", 400, "InvalidIdentifier"],
        ["%00", 400, "InvalidIdentifier"],
        ["nothing", 404, "SubmissionNotFound"],
        ["*", 404, "SubmissionNotFound"],
        ["a%2Fb", 404, "SubmissionNotFound"],
        ["'%3BDROP%09TABLE", 400, "InvalidIdentifier"],
        ["';--", 404, "SubmissionNotFound"],
        ["sub-1", 404, "SubmissionNotFound"],
        ["sub-0-aaaaaaaaaaaaaaaa", 404, "SubmissionNotFound"],
        ["sub--1-aaaaaaaaaaaaaaaa", 404, "SubmissionNotFound"],
        ["sub-99999999999-aaaaaaaaaaaaaaaa", 404, "SubmissionNotFound"],
        ["sub-9999999999-aaaaaaaaaaaaaaaa", 404, "SubmissionNotFound"],
        [busy.waitingId.toUpperCase(), 404, "SubmissionNotFound"],
        [`${busy.waitingId}a`, 404, "SubmissionNotFound"],
        [NO_SUBMISSION, 404, "SubmissionNotFound"],
        [foreign.receipt.submissionId, 404, "SubmissionNotFound"],
      ];
      for (const [id, status, code] of cases) {
        const sent = rightRequest(route, busy.waitingId);
        const answer = await sendBare(route.path(busy.thread.threadId, id), sent);
        expectRefusal(answer, status, code);
      }
      expect(await busy.thread.dump()).toEqual(busy.before);
    },
  );

  it("[UX-05] does not decide operations of another thread, nor ones that there are not", async () => {
    const other = await busyThread();
    for (const operationId of [
      other.operationId,
      NO_OPERATION,
      "nothing",
      busy.waitingId,
      `${busy.operationId}0`,
      `${busy.operationId}.d2`,
      busy.operationId.replace(".t1.", ".t2."),
      busy.operationId.replace(".t1.", ".t01."),
      busy.operationId.replace(".c0", ".c-1"),
    ]) {
      const path = `/v1/threads/${busy.thread.threadId}/operations/decide`;
      const answer = await post(path, {
        decisions: [{ operationId, decision: "completed", result: {}, reason: "guess" }],
      });
      const { code } = expectProblem(answer);
      expect([404, 409]).toContain(answer.status);
      expect(["OperationNotFound", "SubmissionNotFound", "InvalidState"]).toContain(code);
    }
    expect(await busy.thread.dump()).toEqual(busy.before);
    expect(await other.thread.dump()).toEqual(other.before);
  });

  it("[UX-05] does not repair submissions of another thread, nor ones that there are not", async () => {
    const other = await busyThread();
    for (const target of [other.waitingId, NO_SUBMISSION, "nothing", "ü", " "]) {
      const answer = await post(`/v1/threads/${busy.thread.threadId}/repair`, {
        action: "retry",
        target,
        reason: "guess",
      });
      expectRefusal(answer, 404, "SubmissionNotFound");
    }
    expect(await busy.thread.dump()).toEqual(busy.before);
    expect(await other.thread.dump()).toEqual(other.before);
  });

  it.each([
    ["an empty one", "", "IdempotencyKeyMissing"],
    ["one of 257 characters", "k".repeat(257), "InvalidIdentifier"],
    ["one with a space", "a key", "InvalidIdentifier"],
    ["one with a tab", "a\tkey", "InvalidIdentifier"],
    ["two of them", "one, two", "InvalidIdentifier"],
    ["one that is not ASCII", "schl\u00fcssel", "InvalidIdentifier"],
  ])("[UX-05, THR-12, THR-02] refuses as Idempotency-Key %s", async (_what, key, code) => {
    const thread = new ThreadDriver("bad-key");
    const answer = await submit(thread.threadId, key, command([{ text: "ok" }]));
    expect(expectRefusal(answer, 400, code).detail).toContain("Idempotency-Key");
    await expectEmptyFile(thread);
  });

  it("[THR-12] takes the longest ids that the rules allow", async () => {
    const threadId = `${"a".repeat(100)}.-_~:${"Z9".repeat(11)}x`;
    expect(threadId).toHaveLength(128);
    const answer = await submit(threadId, "!".repeat(256), command([{ text: "ok" }]));
    expect(answer.status).toBe(202);
  });
});

describe("queries of GET records", () => {
  it.each([
    "abc",
    "",
    "-1",
    "+1",
    "1.5",
    "1e3",
    "0x10",
    "1 ",
    "null",
    "٣",
    "1".repeat(16),
    "9".repeat(400),
  ])("[UX-05, UX-04] refuses the cursor %j", async (after) => {
    const route = must(
      ROUTES.find(({ name }) => name === "GET records"),
      "the route",
    );
    const query = `?after=${encodeURIComponent(after)}`;
    const sent = rightRequest(route, NO_SUBMISSION);
    await expectRefusedEverywhere(route, () => sent, 400, "InvalidCursor", query);
    const answer = await send(`/v1/threads/${busy.thread.threadId}/records${query}`);
    expect(expectProblem(answer).detail).toContain("`next`");
  });

  it.each([
    ["limit", "0"],
    ["limit", "-1"],
    ["limit", "-999999999"],
    ["limit", "257"],
    ["limit", "1.5"],
    ["limit", "1e2"],
    ["limit", "Infinity"],
    ["limit", "999999999999999999999"],
    ["limit", ""],
    ["limit", "ten"],
    ["types", ""],
    ["types", "Nothing"],
    ["types", "toolsettled"],
    ["types", "ToolSettled,"],
    ["types", "ToolSettled,Nothing"],
    ["types", "__proto__"],
    ["types", "constructor"],
    ["types", Array.from({ length: 33 }, () => "ToolSettled").join(",")],
  ])("[UX-05, UX-04] refuses %s=%j, and points at it", async (name, value) => {
    const route = must(
      ROUTES.find((candidate) => candidate.name === "GET records"),
      "the route",
    );
    const query = `?${name}=${encodeURIComponent(value)}`;
    const sent = rightRequest(route, NO_SUBMISSION);
    await expectRefusedEverywhere(route, () => sent, 400, "MalformedRequest", query);
    const answer = await send(`/v1/threads/${busy.thread.threadId}/records${query}`);
    expect(expectProblem(answer).errors?.[0]?.pointer).toMatch(new RegExp(`^/${name}`));
  });

  it("[UX-05] takes a cursor far past the tail for the tail", async () => {
    const answer = await send(`/v1/threads/${busy.thread.threadId}/records?after=999999999999999`);
    const tail = busy.before.records.length;
    expect(answer.json).toEqual({ records: [], next: tail, tail });
  });
});

describe("the Prefer header", () => {
  it.each([
    "wait",
    "wait=",
    "wait=-1",
    "wait=abc",
    "wait=1.5",
    "wait=1e9",
    "wait=99999",
    "await=20",
    ";;,",
    "return=minimal",
  ])(
    "[UX-05] is ignored where it is %j, as RFC 7240 says: the answer comes at once",
    async (prefer) => {
      const url = `/v1/threads/${busy.thread.threadId}/submissions/${busy.waitingId}/settlement`;
      const answer = await send(url, { headers: { prefer } });
      expect([answer.status, answer.json]).toMatchObject([202, { state: "waiting" }]);
      expect(await busy.thread.dump()).toEqual(busy.before);
    },
  );
});

describe("routes that there are not", () => {
  it.each([
    "/",
    "/v1",
    "/v1/",
    "/v1/threads",
    "/v1/threads/",
    "/v1/threads//explain",
    "/v1/threads/../explain",
    "/v1/threads/x/explain/",
    "/v1/threads/x/explain/more",
    "/v1/threads/x/nothing",
    "/V1/threads/x/explain",
    "/v2/threads/x/explain",
    "//v1/threads/x/explain",
    "/v1/threads/x/submissions/s/settlement/more",
    "/healthz/more",
    "/index.html",
  ])("[UX-05] answers RouteNotFound for %s", async (path) => {
    for (const method of ["GET", "POST"]) {
      const answer = await send(path, { method, ...(method === "POST" ? { body: "{}" } : {}) });
      expectRefusal(answer, 404, "RouteNotFound");
    }
  });

  it("[UX-05] tells a caller without a credential nothing about which routes there are", async () => {
    for (const path of ["/v1/threads/x/nothing", "/v1/threads/x/explain"]) {
      expectRefusal(await sendBare(path), 401, "Unauthenticated");
    }
  });

  it("[UX-05] answers HEAD like GET, without a body", async () => {
    const answer = await send(`/v1/threads/${busy.thread.threadId}/explain`, { method: "HEAD" });
    expect([answer.status, answer.text]).toEqual([200, ""]);
    expect(await busy.thread.dump()).toEqual(busy.before);
  });
});
