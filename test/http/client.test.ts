// The client against the Worker under test, the same over HTTP and over a service binding: everything that it offers, and that both ways
// answer and refuse alike.
import { createExecutionContext, env } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { must } from "../../shared/assert.ts";
import {
  HoldfastError,
  holdfastClient,
  type FollowedEvent,
  type HoldfastClient,
  type ServiceRpc,
  type ThreadHandle,
} from "../../shared/client/index.ts";
import { AgentListSchema } from "../../shared/wire/agent-view.ts";
import { ThreadEventSchema } from "../../shared/wire/events.ts";
import type { Permission } from "../../shared/wire/access.ts";
import { expectSound } from "../support/expect-sound.ts";
import type { plainAgent, structuredAgent } from "../support/test-agents.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { TESTER, ThreadDriver } from "../support/thread-driver.ts";
import { appWith, keyOf, KEY_TEXT } from "./deployments.ts";
import { AUTHORIZATION, BASE, send } from "./http-client.ts";
import { NO_OPERATION, NO_SUBMISSION } from "./routes.ts";
import { SERVICE_OPERATIONS, serviceFor } from "./service-client.ts";

afterEach(resetOptions);

const worker = z.custom<Pick<Fetcher, "fetch">>().parse(Reflect.get(exports, "default"));

type Retry = Partial<{ maxRetries: number }>;

function overHttp(retry: Retry = {}): HoldfastClient {
  return holdfastClient({
    retry,
    baseUrl: BASE,
    token: AUTHORIZATION.replace("Bearer ", ""),
    fetch: (request) => worker.fetch(request),
  });
}

function overBinding(retry: Retry = {}): HoldfastClient {
  return holdfastClient({ retry, binding: serviceFor(TESTER) });
}

/** The same, for a caller who may do only this. */
function restrictedOverHttp(permissions: readonly Permission[]): HoldfastClient {
  const bindings = { ...env, HOLDFAST_API_KEYS: JSON.stringify([keyOf(permissions)]) };
  return holdfastClient({
    baseUrl: "https://holdfast.example",
    token: KEY_TEXT,
    fetch: async (request) => appWith().fetch(request, bindings, createExecutionContext()),
  });
}

function restrictedOverBinding(permissions: readonly Permission[]): HoldfastClient {
  return holdfastClient({ binding: serviceFor({ ...TESTER, permissions }) });
}

const WAYS = [
  { way: "HTTP", open: overHttp },
  { way: "a binding", open: overBinding },
];

const ok = { plan: [{ text: "ok" }] };
const guarded = { plan: [{ calls: [{ tool: "guarded" }] }, { text: "done" }] };

/** What a promise was rejected with, whatever it is. */
async function rejectionOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error("not rejected");
}

async function refusalOf(call: Promise<unknown>): Promise<HoldfastError> {
  const error = await rejectionOf(call);
  if (error instanceof HoldfastError) return error;
  throw new Error("not refused with a HoldfastError", { cause: error });
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe.each(WAYS)("[UX-06, API-04] the client over $way", ({ open }) => {
  const client = open();

  /** A thread, as its caller and as its test sees it. */
  function newThread(label = "client") {
    const driver = new ThreadDriver(label);
    return { driver, thread: client.thread(driver.threadId) };
  }

  it("runs an agent in one call, to its typed output", async () => {
    const { driver, thread } = newThread();
    const answer = JSON.stringify({ answer: "é\u2028" });
    const { receipt, settlement } = await thread.run<typeof structuredAgent>("structured", {
      plan: [{ calls: [{ tool: "look" }] }, { text: answer }],
    });
    expect(receipt).toMatchObject({
      threadId: driver.threadId,
      queueSequence: 1,
      agentId: "structured",
    });
    expect(settlement.outcome).toBe("completed");
    expect(settlement.output?.answer).toBe("é\u2028");
    expect(settlement).toEqual(await driver.settlement(receipt.submissionId));
    await expectSound(driver);
  });

  it("submits, and waits for the settlement by itself", async () => {
    const { driver, thread } = newThread();
    const gate = `${driver.threadId}-model`;
    const { receipt, replayed, submission } = await thread.submit<typeof plainAgent>("plain", {
      plan: [{ text: "ok", gate }],
    });
    expect({ replayed, submission }).toEqual({ replayed: false, submission: undefined });
    const settlement = thread.settlement<typeof plainAgent>(receipt.submissionId);
    await driver.arrival(gate);
    expect(await thread.submission(receipt.submissionId)).toMatchObject({
      ...receipt,
      state: "running",
    });
    await driver.openGate(gate);
    expect(await settlement).toMatchObject({ outcome: "completed", output: "ok" });
    expect(await thread.submission(receipt.submissionId)).toEqual(
      await driver.submission(receipt.submissionId),
    );
  });

  it("[THR-03] submits once, however often it sends one key", async () => {
    const { driver, thread } = newThread();
    const options = { idempotencyKey: "order-17" };
    const first = await thread.submit("plain", ok, options);
    const { receipt } = await thread.run("plain", ok, options);
    const again = await thread.submit("plain", ok, options);
    expect(first.replayed).toBe(false);
    expect([receipt, again.receipt]).toEqual([first.receipt, first.receipt]);
    expect(again.replayed).toBe(true);
    await expectSound(driver);
    expect((await driver.dump()).submissions).toHaveLength(1);
  });

  it("reads all records over several pages, from any cursor", async () => {
    const { driver, thread } = newThread();
    const calls = Array.from({ length: 120 }, () => ({ tool: "look" }));
    for (const key of ["one", "two", "three"]) {
      await thread.run("plain", { plan: [{ calls }, { text: key }] }, { idempotencyKey: key });
    }
    const all = await driver.records();
    expect(all.length).toBeGreaterThan(256);
    expect(await collect(thread.records())).toEqual(all);
    expect(await collect(thread.records({ after: 100 }))).toEqual(all.slice(100));
    expect(await collect(thread.records({ after: all.length }))).toEqual([]);
    const page = await thread.page({ after: 1, limit: 200, types: ["RunStarted", "ToolSettled"] });
    expect(page.records).toEqual(
      all.slice(1, 201).filter(({ type }) => type === "RunStarted" || type === "ToolSettled"),
    );
    expect([page.next, page.tail]).toEqual([201, all.length]);
  });

  it("follows a run with an approval to its settlement", async () => {
    const { driver, thread } = newThread();
    const { receipt } = await thread.submit("plain", guarded);
    const { submissionId } = receipt;
    const seen: FollowedEvent[] = [];
    for await (const event of thread.events({ submissionId })) {
      seen.push(event);
      if (event.event !== "state" || event.data.state !== "waiting") continue;
      const [operation] = await thread.operations();
      expect(operation).toMatchObject({ kind: "approval", submissionId, toolName: "guarded" });
      const { operationId } = must(operation, "an operation waits");
      expect(await thread.decide([{ operationId, decision: "approve", reason: "fine" }])).toEqual([
        { operationId, status: "applied" },
      ]);
    }
    for (const event of seen) expect(ThreadEventSchema.parse(event)).toEqual(event);
    const records = await driver.records();
    expect(seen.flatMap((event) => (event.event === "record" ? [event.data] : []))).toEqual(
      records.filter((record) => "submissionId" in record && record.submissionId === submissionId),
    );
    expect(seen.at(-1)).toEqual({
      event: "settled",
      data: { submissionId, settlement: await driver.settlement(submissionId) },
    });
    await expectSound(driver);
    // One who comes later, with a cursor, is told the rest and the end.
    const rest = await collect(thread.events({ submissionId, after: records.length - 1 }));
    expect(rest.map(({ event }) => event)).toEqual(["state", "record", "settled"]);
  });

  it("shows the text of the open turn as it grows, and not where it is not wanted", async () => {
    const { driver, thread } = newThread();
    const gate = `${driver.threadId}-piece`;
    const plan = [{ pieces: ["one ", "two"], pieceGate: gate }];
    const { receipt } = await thread.submit("plain", { plan });
    const { submissionId } = receipt;
    const silent = collect(thread.events({ submissionId, deltas: false }));
    let text = "";
    for await (const { event, data } of thread.events({ submissionId })) {
      if (event !== "delta" && event !== "resync") continue;
      text = text.slice(0, data.offset) + data.text;
      const next = text === "one " ? 1 : 2;
      await driver.arrival(`${gate}-${next}`);
      await driver.openGate(`${gate}-${next}`);
    }
    expect(text).toBe("one two");
    expect((await silent).map(({ event }) => event)).not.toContain("delta");
  });

  it("tells of a cursor past the end, and ends", async () => {
    const { driver, thread } = newThread();
    await driver.run([{ text: "ok" }]);
    const [gap, ...more] = await collect(thread.events({ after: 1_000 }));
    expect(gap).toMatchObject({ event: "gap", data: { after: 1_000, reason: "past-the-end" } });
    expect(more).toEqual([]);
  });

  it("[TOOL-10] decides a batch together or not at all", async () => {
    const { driver, thread } = newThread();
    const { receipt } = await thread.submit("plain", {
      plan: [{ calls: [{ tool: "guarded" }, { tool: "guarded" }] }, { text: "done" }],
    });
    await driver.waitingFor(receipt.submissionId, "approval");
    const waiting = await thread.operations();
    expect(waiting).toEqual(await driver.operations());
    const [first, second] = waiting.map(({ operationId }) => operationId);
    const approve = {
      operationId: must(first, "one waits"),
      decision: "approve",
      reason: "a",
    } as const;
    const deny = {
      operationId: must(second, "another waits"),
      decision: "deny",
      reason: "b",
    } as const;
    const refusal = await refusalOf(
      thread.decide([approve, { ...deny, operationId: NO_OPERATION }]),
    );
    expect(refusal.code).toBe("OperationNotFound");
    expect(await thread.operations()).toEqual(waiting);
    const edit = { ...approve, decision: "edit", arguments: { value: "edited" } } as const;
    expect(await thread.decide([edit, deny])).toEqual([
      { operationId: edit.operationId, status: "applied" },
      { operationId: deny.operationId, status: "applied" },
    ]);
    expect((await thread.decide([edit])).map(({ status }) => status)).toEqual(["replayed"]);
    expect((await refusalOf(thread.decide([approve]))).code).toBe("DecisionConflict");
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "done" });
    await expectSound(driver);
  });

  it("aborts what waits and what runs, once", async () => {
    const { driver, thread } = newThread();
    const { receipt: running } = await thread.submit("plain", guarded);
    const { receipt: queued } = await thread.submit("plain", ok);
    await driver.waitingFor(running.submissionId, "approval");
    expect(await thread.abort(queued.submissionId)).toMatchObject({ effect: "dequeued" });
    await thread.abort(running.submissionId, { reason: "not needed" });
    for (const { submissionId } of [queued, running]) {
      expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "aborted" });
      expect(await thread.abort(submissionId)).toMatchObject({
        effect: "already-settled",
        settlement: { outcome: "aborted" },
      });
    }
    expect(JSON.stringify(await driver.records())).toContain("not needed");
    await expectSound(driver);
  });

  it("reads the thread, its submissions, its usage and its explanation", async () => {
    const { driver, thread } = newThread();
    for (const _ of [1, 2, 3]) await driver.run([{ text: "ok" }]);
    const { receipt } = await driver.submit([{ calls: [{ tool: "guarded" }] }]);
    await driver.waitingFor(receipt.submissionId, "approval");
    await driver.quiet();
    expect(await thread.get()).toEqual(await driver.view());
    expect(await thread.usage()).toEqual(await driver.usage());
    expect(await thread.explain()).toEqual(await driver.explain());
    expect(await thread.submissions()).toEqual(await driver.list());
    const first = await thread.submissions({ limit: 2 });
    expect(first.submissions.map(({ queueSequence }) => queueSequence)).toEqual([1, 2]);
    const next = await thread.submissions({ after: must(first.next, "there are more") });
    expect(next.submissions.map(({ queueSequence }) => queueSequence)).toEqual([3, 4]);
    expect(next.next).toBeNull();
    const { submissions } = await thread.submissions({ state: "waiting" });
    expect(submissions.map(({ submissionId }) => submissionId)).toEqual([receipt.submissionId]);
  });

  it("[REC-10] lets parked work run again", async () => {
    const { driver, thread } = newThread();
    testOptions.authorize = () => {
      throw new Error("down");
    };
    const { receipt } = await thread.submit("plain", {
      plan: [{ calls: [{ tool: "look" }] }, { text: "done" }],
    });
    await driver.quiet();
    await driver.runAlarms(30, 60_000);
    await driver.waitingFor(receipt.submissionId, "attempts-exhausted");
    testOptions.authorize = () => true;
    const retry = { action: "retry", target: receipt.submissionId, reason: "up again" } as const;
    expect(await thread.repair(retry)).toEqual({ effect: "resumed" });
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "done" });
    expect(await thread.repair(retry)).toEqual({ effect: "not-parked" });
    await expectSound(driver);
  });

  it("lists the agents as the deployment does", async () => {
    const listed = AgentListSchema.parse((await send("/v1/agents")).json).agents;
    expect(listed.length).toBeGreaterThan(5);
    expect(await client.agents()).toEqual(listed);
  });

  it("touches nothing before the first submission", async () => {
    const { driver, thread } = newThread();
    expect((await refusalOf(thread.get())).code).toBe("ThreadNotFound");
    expect((await driver.dump()).batches).toEqual([]);
  });

  it("tells a caller who gives up its reason at once, and the work goes on", async () => {
    const { driver, thread } = newThread();
    const gate = `${driver.threadId}-model`;
    const controller = new AbortController();
    const run = rejectionOf(
      thread.run(
        "plain",
        { plan: [{ text: "ok", gate }] },
        { signal: controller.signal, idempotencyKey: "k" },
      ),
    );
    await driver.arrival(gate);
    controller.abort("enough");
    expect(await run).toBe("enough");
    await driver.openGate(gate);
    const { receipt, settlement } = await thread.run(
      "plain",
      { plan: [{ text: "ok", gate }] },
      { idempotencyKey: "k" },
    );
    expect([receipt.queueSequence, settlement.outcome]).toEqual([1, "completed"]);
    await expectSound(driver);
  });

  it("ends a stream of events for a caller who gives up", async () => {
    const { driver, thread } = newThread();
    const { receipt } = await thread.submit("plain", guarded);
    await driver.waitingFor(receipt.submissionId, "approval");
    const controller = new AbortController();
    const events = thread.events({}, { signal: controller.signal });
    const seen: string[] = [];
    const reading = rejectionOf(
      (async () => {
        for await (const event of events) {
          seen.push(event.event);
          if (event.event === "record" && event.data.type === "ApprovalRequested") {
            queueMicrotask(() => controller.abort("enough"));
          }
        }
      })(),
    );
    expect(await reading).toBe("enough");
    expect(seen).toContain("record");
  });
});

/** What both ways have to say alike: everything but what HTTP adds of its own, and says again of what the code says. */
function sayingOf({ code, detail, status, retryable, errors, fields }: HoldfastError) {
  const own = Object.entries(fields).filter(
    ([name]) => !["status", "requestId", "retryable", "outcome"].includes(name),
  );
  return { code, detail, status, retryable, errors, own: Object.fromEntries(own) };
}

type Refused = (client: HoldfastClient, driver: ThreadDriver) => Promise<unknown>;

/** A run of the thread that waits for a person, and its operation. */
async function waitingOperation(driver: ThreadDriver): Promise<string> {
  const { receipt } = await driver.submit([{ calls: [{ tool: "guarded" }] }, { text: "ok" }]);
  await driver.waitingFor(receipt.submissionId, "approval");
  const [operation] = await driver.operations();
  return must(operation, "an operation waits").operationId;
}

const REFUSALS: readonly (readonly [code: string, what: string, refused: Refused])[] = [
  ["ThreadNotFound", "a thread that is not there", (client) => client.thread("none").get()],
  [
    "SubmissionNotFound",
    "a submission that is not there",
    async (client, driver) => {
      await driver.run([{ text: "ok" }]);
      return client.thread(driver.threadId).submission(NO_SUBMISSION);
    },
  ],
  [
    "SubmissionNotFound",
    "events of a submission that is not there",
    async (client, driver) => {
      await driver.run([{ text: "ok" }]);
      return client.thread(driver.threadId).events({ submissionId: NO_SUBMISSION }).next();
    },
  ],
  [
    "AgentNotFound",
    "an agent that is not there",
    (client, { threadId }) => client.thread(threadId).run("nobody", ok),
  ],
  [
    "InvalidInput",
    "input that its schema refuses",
    (client, { threadId }) =>
      client.thread(threadId).submit("plain", { plan: [{ text: 1 }, { calls: 2 }], note: [] }),
  ],
  [
    "IdempotencyConflict",
    "a key of another command",
    async (client, driver) => {
      await driver.submit([{ text: "ok" }], { key: "same" });
      const thread = client.thread(driver.threadId);
      return thread.submit("plain", { plan: [] }, { idempotencyKey: "same" });
    },
  ],
  [
    "DefinitionMismatch",
    "digests of another definition",
    (client, { threadId }) =>
      client.thread(threadId).submit("plain", ok, { expectDefinitions: { tools: "0".repeat(64) } }),
  ],
  [
    "OperationNotFound",
    "a decision about nothing",
    async (client, driver) => {
      await driver.run([{ text: "ok" }]);
      const decision = { operationId: NO_OPERATION, decision: "approve", reason: "r" } as const;
      return client.thread(driver.threadId).decide([decision]);
    },
  ],
  [
    "DecisionConflict",
    "a second decision",
    async (client, driver) => {
      const operationId = await waitingOperation(driver);
      await driver.decide(operationId, "deny");
      const decision = { operationId, decision: "approve", reason: "r" } as const;
      return client.thread(driver.threadId).decide([decision]);
    },
  ],
  [
    "InvalidInput",
    "edited arguments that the tool's schema refuses",
    async (client, driver) => {
      const operationId = await waitingOperation(driver);
      const edit = { operationId, decision: "edit", reason: "r" } as const;
      return client.thread(driver.threadId).decide([{ ...edit, arguments: { behave: "badly" } }]);
    },
  ],
  [
    "AdmissionLimitExceeded",
    "too large an input",
    (client, { threadId }) => {
      testOptions.limits = { maxInputBytes: 10 };
      return client.thread(threadId).submit("plain", ok);
    },
  ],
  [
    "AdmissionLimitExceeded",
    "a full queue",
    async (client, driver) => {
      testOptions.limits = { maxQueueDepth: 1 };
      await waitingOperation(driver);
      return client.thread(driver.threadId).submit("plain", ok);
    },
  ],
  [
    "Unavailable",
    "a host that cannot answer",
    (client, { threadId }) => {
      testOptions.authorizeOperation = () => {
        throw new Error("down");
      };
      return client.thread(threadId).submit("plain", ok);
    },
  ],
];

describe("[UX-06, API-04] both ways", () => {
  it.each(REFUSALS)("refuse alike, with %s: %s", async (code, _what, refused) => {
    const sayings = [];
    for (const { open } of WAYS) {
      const driver = new ThreadDriver("client-refused");
      const error = await refusalOf(refused(open({ maxRetries: 0 }), driver));
      expect(error.code).toBe(code);
      sayings.push(JSON.stringify(sayingOf(error)).replaceAll(driver.threadId, "it"));
    }
    // Ids of what was refused are the threads' own.
    const [overHttp, overBinding] = sayings.map((text) =>
      text.replaceAll(/(?<=(run|sub)-\d+-)[a-z2-7]{16}/g, "token"),
    );
    expect(overHttp).toBe(overBinding);
  });

  it("say of a malformed request where it is wrong, each as it is sent", async () => {
    for (const [{ open }, pointer] of [
      [must(WAYS[0], "HTTP"), "/decisions"],
      [must(WAYS[1], "a binding"), "/request/decisions"],
    ] as const) {
      const error = await refusalOf(open().thread("client-malformed").decide([]));
      expect([error.code, error.errors]).toEqual([
        "MalformedRequest",
        [{ pointer, message: "Too small: expected array to have >=1 items" }],
      ]);
    }
  });

  it("name the permission that is missing, and the same", async () => {
    const driver = new ThreadDriver("client-permission");
    await driver.run([{ text: "ok" }]);
    const decision = { operationId: NO_OPERATION, decision: "failed", reason: "r" } as const;
    for (const open of [restrictedOverHttp, restrictedOverBinding]) {
      const mayRead = open(["threads:read"]).thread(driver.threadId);
      expect(await mayRead.get()).toEqual(await driver.view());
      const calls: [Permission, () => Promise<unknown>][] = [
        ["threads:write", () => mayRead.submit("plain", ok)],
        ["threads:write", () => mayRead.abort(NO_SUBMISSION)],
        ["threads:operate", () => mayRead.decide([decision])],
        ["threads:approve", () => mayRead.decide([{ ...decision, decision: "deny" }])],
        ["threads:read", () => open(["threads:write"]).thread(driver.threadId).events().next()],
      ];
      for (const [permission, call] of calls) {
        const error = await refusalOf(call());
        expect([error.code, error.status, error.fields["permission"]]).toEqual([
          "PermissionMissing",
          403,
          permission,
        ]);
      }
    }
  });

  it("see the same work of the same caller", async () => {
    const driver = new ThreadDriver("client-both");
    const [byHttp, byBinding] = [overHttp(), overBinding()].map((client) =>
      client.thread(driver.threadId),
    );
    const options = { idempotencyKey: "one" };
    const first = await must(byHttp, "HTTP").run("plain", ok, options);
    const second = await must(byBinding, "binding").run("plain", ok, options);
    expect(second).toEqual(first);
    expect((await driver.dump()).submissions).toHaveLength(1);
  });
});

interface Watched {
  readonly method: string;
  readonly request: unknown;
  readonly result: Promise<unknown>;
}

/** The binding, with every call of it on record. */
function watchedBinding(): { binding: ServiceRpc; calls: Watched[] } {
  const service = serviceFor(TESTER);
  const calls: Watched[] = [];
  const methods = [...SERVICE_OPERATIONS, "agents"].map((method) => [
    method,
    (request: unknown): Promise<unknown> => {
      const call = z
        .custom<(request: unknown) => Promise<unknown>>()
        .parse(Reflect.get(service, method));
      const result = Reflect.apply(call, service, [request]);
      calls.push({ method, request, result });
      return result;
    },
  ]);
  return { binding: z.custom<ServiceRpc>().parse(Object.fromEntries(methods)), calls };
}

describe("[API-04, OBS-07] a caller over a binding who gives up", () => {
  type Wait = (thread: ThreadHandle, submissionId: string, signal: AbortSignal) => Promise<unknown>;

  it.each<[string, string, Wait]>([
    [
      "a settlement",
      "awaitSettlementRecord",
      (thread, submissionId, signal) => thread.settlement(submissionId, { signal }),
    ],
    [
      "what it submitted",
      "submit",
      (thread, _submissionId, signal) =>
        thread.run("plain", guarded, { signal, idempotencyKey: "one" }),
    ],
  ])("waiting for %s frees its wait in the object at once", async (_what, method, wait) => {
    const asked: string[] = [];
    testOptions.authorizeOperation = ({ operation }) => {
      asked.push(operation);
      return true;
    };
    const driver = new ThreadDriver("client-cancel");
    const { receipt } = await driver.submit(guarded.plan, { key: "one" });
    await driver.waitingFor(receipt.submissionId, "approval");
    const { binding, calls } = watchedBinding();
    const thread = holdfastClient({ binding }).thread(driver.threadId);
    const controller = new AbortController();
    asked.length = 0;
    const gaveUp = rejectionOf(wait(thread, receipt.submissionId, controller.signal));
    await vi.waitUntil(() => asked.includes(method), { timeout: 10_000, interval: 2 });
    // By the next answer of the object the wait has its place.
    await driver.view();
    const before = performance.now();
    controller.abort("enough");
    expect(await gaveUp).toBe("enough");
    const [waited, cancelled, ...more] = calls;
    expect(more).toEqual([]);
    expect(await cancelled?.result).toEqual({ ok: true, value: { cancelled: true } });
    expect(await waited?.result).toMatchObject({ ok: true });
    expect(performance.now() - before).toBeLessThan(1_000);
    const { waitId } = z.looseObject({ waitId: z.string() }).parse(waited?.request);
    const { threadId } = driver;
    expect(await driver.stub.cancelWait({ threadId, caller: TESTER, waitId })).toEqual({
      ok: true,
      value: { cancelled: false },
    });
    // The work itself goes on.
    expect(await driver.view()).toMatchObject({ state: "waiting", queueDepth: 1 });
  });

  it("before its wait came leaves none behind", async () => {
    const driver = new ThreadDriver("client-cancel");
    const { receipt } = await driver.submit(guarded.plan);
    await driver.waitingFor(receipt.submissionId, "approval");
    const { binding, calls } = watchedBinding();
    const thread = holdfastClient({ binding }).thread(driver.threadId);
    const controller = new AbortController();
    const gaveUp = rejectionOf(
      thread.settlement(receipt.submissionId, { signal: controller.signal }),
    );
    controller.abort("enough");
    expect(await gaveUp).toBe("enough");
    // Whichever of the two came first.
    expect(calls.map(({ method }) => method)).toEqual(["awaitSettlementRecord", "cancelWait"]);
    expect(await calls[0]?.result).toEqual({ ok: true, value: null });
    expect(await calls[1]?.result).toMatchObject({ ok: true });
  });
});
