// Ids of others (SEC-02, SEC-03): every operation, over HTTP and RPC, with every id of a busy thread that one may not see. Nothing may be
// read or changed, and no answer may tell that the thread is there. First from other tenants, then from other principals of the same one.
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { must } from "../../shared/assert.ts";
import type { Caller } from "../../shared/wire/access.ts";
import type { ThreadOperation } from "../../shared/wire/requests.ts";
import { SubmitResultSchema } from "../../shared/wire/submission.ts";
import type {
  AuthorizeOperation,
  OperationRequest,
} from "../../durable-objects/thread/authorize-operation.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { TESTER, ThreadDriver, type Dump } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";
import { KEY_TEXT, keyOf, sendTo } from "./deployments.ts";
import { command, expectEmptyFile, expectRefusal, type Answer, type Sent } from "./http-client.ts";
import { NO_SUBMISSION, rightRequest, ROUTES, type Route } from "./routes.ts";
import {
  callService,
  RefusalSchema,
  rightCall,
  SERVICE_OPERATIONS,
  serviceFor,
} from "./service-client.ts";

const OWNER = "olivia";
const VICTIMS_WORDS = "only for olivia";

/** A thread with work in every state, and all ids of it. */
interface Victim {
  readonly thread: ThreadDriver;
  readonly submissionIds: readonly string[];
  readonly operationIds: readonly string[];
  /** The random part of each id: what an answer must not hold. */
  readonly tokens: readonly string[];
  readonly before: Dump;
}

async function busyThread(): Promise<Victim> {
  const thread = new ThreadDriver("idor");
  const by = { principal: OWNER, note: VICTIMS_WORDS };
  const settled = await thread.submit([{ calls: [{ tool: "look" }] }, { text: VICTIMS_WORDS }], by);
  await thread.settlement(settled.receipt.submissionId);
  const gate = `${thread.threadId}-flight`;
  const flight = { tool: "act", input: { behave: "deaf-gate", gate, value: VICTIMS_WORDS } };
  const unknown = await thread.submit([{ calls: [flight] }, { text: "ok" }], by);
  await thread.arrival(gate);
  await thread.crash();
  await thread.runAlarms();
  await thread.waitingFor(unknown.receipt.submissionId, "unknown-outcome");
  const waiting = await thread.submit([{ calls: [{ tool: "guarded" }] }, { text: "ok" }], by);
  await thread.waitingFor(waiting.receipt.submissionId, "approval");
  const queued = await thread.submit([{ text: VICTIMS_WORDS }], by);
  await thread.quiet();
  const submissionIds = [settled, unknown, waiting, queued].map(
    ({ receipt }) => receipt.submissionId,
  );
  const states = await Promise.all(
    submissionIds.map(async (id) => (await thread.submission(id)).state),
  );
  expect(states).toEqual(["settled", "waiting", "waiting", "queued"]);
  const operations = await thread.operations();
  expect(operations.map(({ kind }) => kind).toSorted()).toEqual(["approval", "unknown"]);
  return {
    thread,
    submissionIds,
    operationIds: operations.map(({ operationId }) => operationId),
    tokens: submissionIds.map((id) => must(id.split("-").at(-1), "a token")),
    before: await thread.dump(),
  };
}

let requests = 0;

/** One request as a caller sends it: over a route, or to an RPC method. */
interface Attempt {
  readonly what: string;
  readonly operation: string;
  /** The refusal, or what was answered; as text the whole answer. */
  send(caller: Caller): Promise<{ code: string | null; status: number; text: string }>;
}

function overHttp(route: Route, threadId: string, submissionId: string, sent: Sent): Attempt {
  return {
    what: `${route.name} of ${threadId} with ${submissionId}`,
    operation: route.operation,
    async send(caller) {
      requests += 1;
      const answer = await sendAs(caller, route.path(threadId, submissionId), sent);
      const code = z.object({ code: z.string() }).safeParse(answer.json).data?.code ?? null;
      const text = `${answer.text}${JSON.stringify([...answer.headers])}`;
      return { code, status: answer.status, text };
    },
  };
}

function sendAs(caller: Caller, path: string, sent: Sent): Promise<Answer> {
  const keys = [keyOf(caller.permissions, { tenant: caller.tenant, principal: caller.principal })];
  const headers = { ...sent.headers, authorization: `Bearer ${KEY_TEXT}` };
  return sendTo({ keys }, path, { ...sent, headers });
}

function overRpc(
  operation: ThreadOperation,
  threadId: string,
  submissionId: string,
  operationId: string,
): Attempt {
  return {
    what: `${operation} of ${threadId} with ${submissionId}`,
    operation,
    async send(caller) {
      requests += 1;
      const request = rightCall(operation, { threadId, submissionId, operationId });
      const result = await callService(serviceFor(caller), operation, request);
      const refused = RefusalSchema.safeParse(result);
      const code = refused.success ? refused.data.error.code : null;
      const status = code === null ? 200 : code.endsWith("NotFound") ? 404 : 500;
      return { code, status, text: JSON.stringify(result) };
    },
  };
}

/** Every operation with these ids in the places that ids have, over both roads, each request once. Submitting is left out: it makes a
 * thread of one's own. */
function attempts(
  threadIds: readonly string[],
  submissionIds: readonly string[],
  operationIds: readonly string[],
): Attempt[] {
  const made = new Map<string, Attempt>();
  const add = (attempt: Attempt, ...sent: unknown[]): void => {
    made.set(JSON.stringify([attempt.operation, ...sent]), attempt);
  };
  for (const threadId of threadIds) {
    for (const [index, submissionId] of submissionIds.entries()) {
      for (const route of ROUTES.filter(({ operation }) => operation !== "submit")) {
        const sent = rightRequest(route, submissionId);
        const attempt = overHttp(route, threadId, submissionId, sent);
        add(attempt, route.path(threadId, submissionId), sent.body);
      }
      const operationId = operationIds[index % operationIds.length] ?? submissionId;
      for (const operation of SERVICE_OPERATIONS.filter((each) => each !== "submit")) {
        const attempt = overRpc(operation, threadId, submissionId, operationId);
        add(attempt, rightCall(operation, { threadId, submissionId, operationId }));
      }
    }
  }
  return [...made.values()];
}

/** The answer, or a part of it, holds nothing of the victim's. */
function expectNothingOf(victim: Victim, what: string, text: string): void {
  const told = [...victim.tokens, VICTIMS_WORDS].filter((each) => text.includes(each));
  expect([what, told]).toEqual([what, []]);
}

/** Ids as somebody might try them in the place of a submission's. */
function foreignIds({ thread, submissionIds, operationIds }: Victim): string[] {
  const runIds = submissionIds.map((id) => id.replace("sub-", "run-"));
  return [...submissionIds, ...operationIds, ...runIds.slice(0, 1), thread.threadId];
}

describe("another tenant", () => {
  let victim: Victim;
  beforeAll(async () => {
    victim = await busyThread();
  });

  const mallory: Caller = { tenant: "mallory", principal: OWNER, permissions: ["admin"] };

  it("[SEC-02, SEC-03] reaches nothing by any id, over HTTP or RPC", async () => {
    requests = 0;
    const ids = foreignIds(victim);
    for (const attempt of attempts(ids, ids, victim.operationIds)) {
      const { code, text } = await attempt.send(mallory);
      expect([attempt.what, code]).toEqual([attempt.what, "ThreadNotFound"]);
      expectNothingOf(victim, attempt.what, text);
    }
    expect(await victim.thread.dump()).toEqual(victim.before);
    console.info(`ids of another tenant's thread: ${requests} requests, 0 crossings`);
  });

  it("[SEC-02, SEC-03] reaches nothing by ids in a busy thread of its own, of the same id", async () => {
    requests = 0;
    const { threadId } = victim.thread;
    // The victim's very command, under the victim's key: work of its own, not a replay of the victim's.
    const { submissions } = victim.before;
    const first = await sendAs(mallory, `/v1/threads/${threadId}/submissions`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "key-1" },
      body: JSON.stringify(command([{ calls: [{ tool: "look" }] }, { text: "mine" }])),
    });
    expect(first.status).toBe(202);
    const { receipt, replayed } = SubmitResultSchema.parse(first.json);
    expect(replayed).toBe(false);
    expect(submissions.map(({ submissionId }) => submissionId)).not.toContain(receipt.submissionId);
    const service = serviceFor(mallory);
    await callService(service, "awaitSettlement", {
      threadId,
      submissionId: receipt.submissionId,
      timeoutMillis: 10_000,
    });
    const read = async () => {
      const page = await callService(service, "readPage", { threadId });
      const list = await callService(service, "listSubmissions", { threadId });
      return { page, list };
    };
    const mine = await read();
    for (const attempt of attempts([threadId], foreignIds(victim), victim.operationIds)) {
      // It would be mallory's own thread that goes.
      if (attempt.operation === "deleteThread") continue;
      const { code, status, text } = await attempt.send(mallory);
      const isAboutId = OF_AN_ID.includes(attempt.operation);
      expect([attempt.what, status]).toEqual([attempt.what, isAboutId ? 404 : 200]);
      if (isAboutId) expect(["SubmissionNotFound", "OperationNotFound"]).toContain(code);
      expectNothingOf(victim, attempt.what, text);
    }
    expect(await read()).toEqual(mine);
    expect(await victim.thread.dump()).toEqual(victim.before);
    console.info(`ids of another tenant's thread in one's own: ${requests} requests, 0 crossings`);
  });

  it("[SEC-02] of a name that is nearly the same reaches nothing either", async () => {
    const { threadId } = victim.thread;
    for (const tenant of [
      "Dev",
      "dev ",
      " dev",
      "dev\u0000",
      "dev\u200b",
      "\uff44\uff45\uff56",
      'dev"',
      'dev","',
      `dev","${threadId}`,
      '["dev"',
      "dev/",
      "*",
      "%64ev",
    ]) {
      const caller = { ...mallory, tenant };
      const [id = ""] = victim.submissionIds;
      for (const attempt of attempts([threadId], [id], victim.operationIds)) {
        const { code, text } = await attempt.send(caller);
        expect([tenant, attempt.what, code]).toEqual([tenant, attempt.what, "ThreadNotFound"]);
        expectNothingOf(victim, attempt.what, text);
      }
    }
    expect(await victim.thread.dump()).toEqual(victim.before);
  });

  it("[SEC-02] cannot end a wait of the same id", async () => {
    const { thread, submissionIds } = victim;
    const { threadId } = thread;
    const waitId = "a-wait";
    const waiting = serviceFor(TESTER).awaitSettlement({
      threadId,
      submissionId: submissionIds.at(-1) ?? "",
      waitId,
      timeoutMillis: 60_000,
    });
    for (const tenant of ["mallory", "nobody-else"]) {
      const service = serviceFor({ ...mallory, tenant });
      const result = await callService(service, "cancelWait", { threadId, waitId });
      expect(result).not.toMatchObject({ value: { cancelled: true } });
    }
    // It is still there to be ended by its own tenant.
    expect(await serviceFor(TESTER).cancelWait({ threadId, waitId })).toEqual({
      ok: true,
      value: { cancelled: true },
    });
    expect(await waiting).toEqual({ ok: true, value: null });
  });
});

/** Operations that name a submission or an operation. */
const OF_AN_ID: readonly string[] = [
  "getSubmission",
  "awaitSettlement",
  "awaitSettlementRecord",
  "events",
  "abort",
  "decideOperations",
  "repair",
];

/** Whoever created a thread has it to themselves. */
const creatorsOnly: AuthorizeOperation = ({ createdBy, principal }) =>
  createdBy === null || createdBy === principal;

/** Objects read the options when they are constructed. */
async function withHook(thread: ThreadDriver, hook: unknown, run: () => Promise<void>) {
  testOptions.authorizeOperation = z.custom<AuthorizeOperation>().parse(hook);
  await thread.evict();
  try {
    await run();
  } finally {
    resetOptions();
    await thread.evict();
  }
}

/** A problem without what differs between any two answers. */
function comparable({ status, headers, json }: Answer): unknown {
  const problem = z.looseObject({ requestId: z.uuid() }).parse(json);
  const { requestId: _id, ...body } = problem;
  return {
    status,
    body,
    headers: [...headers].filter(([name]) => name !== "x-request-id"),
  };
}

afterEach(resetOptions);

describe("another principal, where a host says that threads are their creator's", () => {
  let victim: Victim;
  beforeAll(async () => {
    victim = await busyThread();
  });

  const others: readonly Caller[] = [
    { tenant: "dev", principal: "mallory", permissions: ["admin"] },
    {
      tenant: "dev",
      principal: "Olivia",
      permissions: ["threads:read", "threads:write", "threads:approve", "threads:operate"],
    },
    { tenant: "dev", principal: "olivia ", permissions: ["admin"] },
    { tenant: "dev", principal: "null", permissions: ["admin"] },
  ];

  it("[SEC-02, SEC-03] reaches nothing by any id, and cannot tell the thread from one that is not there", async () => {
    requests = 0;
    const { thread, submissionIds, operationIds } = victim;
    await withHook(thread, creatorsOnly, async () => {
      const absent = new ThreadDriver("idor-absent");
      for (const caller of others) {
        for (const attempt of attempts([thread.threadId], submissionIds, operationIds)) {
          const { code, text } = await attempt.send(caller);
          expect([attempt.what, code]).toEqual([attempt.what, "ThreadNotFound"]);
          expectNothingOf(victim, attempt.what, text);
        }
        const there: unknown[] = [];
        const notThere: unknown[] = [];
        for (const route of ROUTES) {
          const [id = ""] = submissionIds;
          const sent = rightRequest(route, id);
          there.push(comparable(await sendAs(caller, route.path(thread.threadId, id), sent)));
          // A thread that is not there is made by submitting, so that another route tells what it answers.
          const asked = route.operation === "submit" ? must(ROUTES[0], "a route") : route;
          notThere.push(
            comparable(
              await sendAs(caller, asked.path(absent.threadId, id), rightRequest(asked, id)),
            ),
          );
        }
        expect(there).toEqual(notThere);
        for (const operation of SERVICE_OPERATIONS) {
          const call = async (threadId: string, asked: ThreadOperation) =>
            RefusalSchema.parse(
              await callService(
                serviceFor(caller),
                asked,
                rightCall(asked, { threadId, submissionId: submissionIds[0] ?? "" }),
              ),
            );
          const known = await call(absent.threadId, operation === "submit" ? "abort" : operation);
          expect(await call(thread.threadId, operation)).toEqual(known);
        }
      }
      await expectEmptyFile(absent);
    });
    expect(await thread.dump()).toEqual(victim.before);
    console.info(`ids of another principal's thread: ${requests} requests, 0 crossings`);
  });

  it("[SEC-02] is not its creator, who sees and does all of it", async () => {
    const { thread, submissionIds } = victim;
    await withHook(thread, creatorsOnly, async () => {
      const owner: Caller = { tenant: "dev", principal: OWNER, permissions: ["admin"] };
      const [settled = ""] = submissionIds;
      for (const route of ROUTES.filter(({ method }) => method === "GET")) {
        const path = route.path(thread.threadId, settled);
        expect((await sendAs(owner, path, rightRequest(route, settled))).status).toBe(200);
      }
    });
  });

  it("[SEC-02] may have threads of their own", async () => {
    const thread = new ThreadDriver("idor-own");
    testOptions.authorizeOperation = creatorsOnly;
    const [mallory = TESTER] = others;
    const path = `/v1/threads/${thread.threadId}/submissions`;
    const sent = {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "k" },
      body: JSON.stringify(command([{ text: "ok" }])),
    };
    expect((await sendAs(mallory, path, sent)).status).toBe(202);
    const owner = { ...mallory, principal: OWNER };
    expectRefusal(await sendAs(owner, path, sent), 404, "ThreadNotFound");
    expect((await thread.dump()).submissions).toHaveLength(1);
  });
});

describe("authorizeOperation", () => {
  it("[SEC-02, SEC-05] sees operation, tenant, principal, permissions, creator and target, over HTTP and RPC", async () => {
    const victim = await busyThread();
    const { threadId } = victim.thread;
    const [submissionId = ""] = victim.submissionIds;
    const [operationId = ""] = victim.operationIds;
    const seen: OperationRequest[] = [];
    const hook: AuthorizeOperation = (request) => {
      seen.push(request);
      return false;
    };
    const caller: Caller = {
      tenant: "dev",
      principal: "mallory",
      permissions: ["threads:read", "threads:write", "threads:approve", "threads:operate"],
    };
    const common = { ...caller, threadId, createdBy: OWNER };
    /** What each operation is about, beside its thread. */
    const targets: Readonly<Record<ThreadOperation, OperationRequest["target"]>> = {
      submit: { agentId: "plain" },
      getThread: {},
      getSubmission: { submissionId },
      listSubmissions: {},
      awaitSettlement: { submissionId },
      awaitSettlementRecord: { submissionId },
      readPage: {},
      awaitProgress: {},
      events: { submissionId },
      cancelWait: {},
      abort: { submissionId },
      listOperations: {},
      decideOperations: { operationIds: [operationId] },
      explain: {},
      usage: {},
      verify: {},
      repair: { submissionId },
      deleteThread: {},
    };
    await withHook(victim.thread, hook, async () => {
      for (const operation of SERVICE_OPERATIONS) {
        const request = rightCall(operation, { threadId, submissionId, operationId });
        await callService(serviceFor(caller), operation, request);
        expect(seen.splice(0)).toEqual([{ ...common, operation, target: targets[operation] }]);
      }
      for (const route of ROUTES) {
        const sent = rightRequest(route, submissionId);
        await sendAs(caller, route.path(threadId, submissionId), sent);
        // An export is the pages that it reads.
        const operation = route.operation === "export" ? "readPage" : route.operation;
        expect(seen.splice(0)).toMatchObject([{ ...common, operation }]);
      }
    });
    expect(await victim.thread.dump()).toEqual(victim.before);
  });

  it("[SEC-02] is told that a thread has no creator yet, and nothing is written where it says no", async () => {
    const thread = new ThreadDriver("idor-new");
    const seen: OperationRequest[] = [];
    testOptions.authorizeOperation = (request) => {
      seen.push(request);
      return false;
    };
    const path = `/v1/threads/${thread.threadId}/submissions`;
    const answer = await sendAs(TESTER, path, rightRequest(submitRoute(), NO_SUBMISSION));
    expectRefusal(answer, 404, "ThreadNotFound");
    expect(seen).toEqual([
      {
        ...TESTER,
        operation: "submit",
        threadId: thread.threadId,
        createdBy: null,
        target: { agentId: "plain" },
      },
    ]);
    await expectEmptyFile(thread);
  });

  const DENIALS: readonly (readonly [string, () => unknown])[] = [
    ["false", () => false],
    ["nothing", () => undefined],
    ["null", () => null],
    ["1", () => 1],
    ["a text", () => "true"],
    ["an object", () => ({ allowed: true })],
    ["a wrapped true", () => Object(true)],
    ["a promise of false", () => Promise.resolve(false)],
    ["a promise of a text", () => Promise.resolve("true")],
    ["a promise of nothing", async () => {}],
    ["a function", () => () => true],
  ];
  const FAILURES: readonly (readonly [string, () => unknown])[] = [
    ["throws", throwing(new Error("secret of the author's hook"))],
    ["throws a text", throwing("secret of the author's hook")],
    ["throws nothing", throwing(undefined)],
    [
      "throws what looks like an answer",
      throwing({ ok: true, code: "ThreadNotFound", status: 200 }),
    ],
    ["throws what cannot be looked at", throwing(unreadable())],
    ["rejects", () => Promise.reject(new Error("secret of the author's hook"))],
    ["answers what cannot be looked at", unreadable],
  ];

  function throwing(thrown: unknown): () => never {
    return () => {
      throw thrown;
    };
  }

  function unreadable(): object {
    const refuse = throwing(new Error("secret of the author's trap"));
    return new Proxy({}, { get: refuse, getPrototypeOf: refuse, ownKeys: refuse, has: refuse });
  }

  describe.each([
    [404, "ThreadNotFound", DENIALS],
    [503, "Unavailable", FAILURES],
  ] as const)("answers %d", (status, code, hooks) => {
    let victim: Victim;
    beforeAll(async () => {
      victim = await busyThread();
    });

    it.each(hooks)("[SEC-02, SEC-05] when the hook's answer is: %s", async (_what, hook) => {
      const { thread, submissionIds } = victim;
      const [id = ""] = submissionIds;
      await withHook(thread, hook, async () => {
        for (const route of ROUTES) {
          const path = route.path(thread.threadId, id);
          const answer = await sendAs(TESTER, path, rightRequest(route, id));
          const problem = expectRefusal(answer, status, code);
          expect(answer.text).not.toContain("secret");
          if (status === 503) {
            expect(problem).toMatchObject({ reason: "authorization", retryable: true });
            expect(answer.headers.get("retry-after")).toBe("1");
          }
        }
      });
      expect(await thread.dump()).toEqual(victim.before);
      // Nor is a thread made.
      const fresh = new ThreadDriver("idor-fresh");
      testOptions.authorizeOperation = z.custom<AuthorizeOperation>().parse(hook);
      const path = submitRoute().path(fresh.threadId, id);
      const answer = await sendAs(TESTER, path, rightRequest(submitRoute(), id));
      expectRefusal(answer, status, code);
      await expectEmptyFile(fresh);
    });
  });

  it("[SEC-02] is asked again when somebody else made the thread while it thought", async () => {
    const thread = new ThreadDriver("idor-race");
    const asked: [string, string | null][] = [];
    testOptions.authorizeOperation = async ({ principal, createdBy }) => {
      asked.push([principal, createdBy]);
      await world.passGate(`${thread.threadId}-${principal}`);
      return createdBy === null || createdBy === principal;
    };
    const submit = (principal: string) =>
      callService(serviceFor({ ...TESTER, principal }), "submit", {
        ...rightCall("submit", { threadId: thread.threadId, submissionId: NO_SUBMISSION }),
        idempotencyKey: principal,
      });
    const [first, second] = [submit("ann"), submit("bob")];
    for (const principal of ["ann", "bob"]) await thread.arrival(`${thread.threadId}-${principal}`);
    await thread.openGate(`${thread.threadId}-ann`);
    expect(await first).toMatchObject({ ok: true });
    await thread.openGate(`${thread.threadId}-bob`);
    expect(RefusalSchema.parse(await second).error.code).toBe("ThreadNotFound");
    expect(asked).toEqual([
      ["ann", null],
      ["bob", null],
      ["bob", "ann"],
    ]);
    const { submissions } = await thread.dump();
    expect(submissions.map(({ principal }) => principal)).toEqual(["ann"]);
  });
});

function submitRoute(): Route {
  return must(
    ROUTES.find(({ operation }) => operation === "submit"),
    "the route",
  );
}
