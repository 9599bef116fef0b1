// The client over a service binding that is played by a script: what it asks, what it makes of data and of a binding that breaks off, and
// that a caller who gives up ends its wait on the other side and never waits for it.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { holdfastClient, type ThreadHandle } from "../../../shared/client/index.ts";
import type { RetryPolicy } from "../../../shared/client/retry.ts";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import {
  Connection,
  never,
  ok,
  outcomeOf,
  refused,
  scriptedBinding,
  type BindingCall,
  type Outcome,
} from "./fakes.ts";

const S = "sub-1-aaaaaaaaaaaaaaaa";
const RECEIPT = { threadId: "t", submissionId: S };
const SETTLEMENT = { outcome: "completed", output: "done", sequence: 6 };

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A thread of a deployment whose binding answers by one function. */
function threadOver(
  answer: (call: BindingCall) => Promise<unknown>,
  retry: Partial<RetryPolicy> = {},
) {
  const { binding, calls } = scriptedBinding(answer);
  const client = holdfastClient({ binding, retry });
  return { client, thread: client.thread("t"), calls };
}

/** Answers with these, one after the other. */
function inTurn(...answers: readonly unknown[]): (call: BindingCall) => Promise<unknown> {
  const left = [...answers];
  return async () => {
    const next = left.shift();
    if (next instanceof Error) throw next;
    return next ?? Promise.reject(new Error("asked once too often"));
  };
}

async function finished<T>(call: Promise<T>): Promise<Outcome<T>> {
  const outcome = outcomeOf(call);
  await vi.runAllTimersAsync();
  return outcome;
}

describe("[UX-06, API-04] a call over a binding", () => {
  const decision = { operationId: "run-1.t1.c0", decision: "deny", reason: "no" } as const;
  const repair = { action: "retry", target: S, reason: "again" } as const;

  it.each<[string, (thread: ThreadHandle) => Promise<unknown>, unknown, unknown, unknown]>([
    ["getThread", (thread) => thread.get(), {}, { tail: 1 }, { tail: 1 }],
    ["getSubmission", (thread) => thread.submission(S), { submissionId: S }, 1, 1],
    ["listSubmissions", (thread) => thread.submissions(), { page: {} }, 1, 1],
    ["listSubmissions", (t) => t.submissions({ limit: 2 }), { page: { limit: 2 } }, 1, 1],
    ["readPage", (thread) => thread.page({ after: 1 }), { page: { after: 1 } }, 1, 1],
    ["abort", (thread) => thread.abort(S), { submissionId: S, request: {} }, 1, 1],
    [
      "abort",
      (thread) => thread.abort(S, { reason: "r" }),
      { submissionId: S, request: { reason: "r" } },
      1,
      1,
    ],
    ["listOperations", (thread) => thread.operations(), {}, { operations: [1] }, [1]],
    [
      "decideOperations",
      (thread) => thread.decide([decision]),
      { request: { decisions: [decision] } },
      { results: [1] },
      [1],
    ],
    ["explain", (thread) => thread.explain(), {}, 1, 1],
    ["usage", (thread) => thread.usage(), {}, 1, 1],
    ["verify", (thread) => thread.verify(), {}, 1, 1],
    [
      "deleteThread",
      (thread) => thread.delete({ force: true }),
      { request: { force: true } },
      1,
      1,
    ],
    ["repair", (thread) => thread.repair(repair), { request: repair }, 1, 1],
    [
      "submit",
      (thread) => thread.submit("helper", { n: 1 }, { idempotencyKey: "k" }),
      { idempotencyKey: "k", request: { agent: "helper", input: { n: 1 } }, timeoutMillis: 0 },
      RECEIPT,
      RECEIPT,
    ],
    [
      "awaitSettlementRecord",
      (thread) => thread.settlement(S),
      { submissionId: S, timeoutMillis: 60_000, waitId: expect.any(String) },
      SETTLEMENT,
      SETTLEMENT,
    ],
  ])(
    "asks %s once, and answers what is in the data",
    async (method, call, request, value, read) => {
      const { thread, calls } = threadOver(inTurn(ok(value)));
      expect(await call(thread)).toEqual(read);
      expect(calls).toEqual([
        { method, request: { threadId: "t", ...z.looseObject({}).parse(request) } },
      ]);
    },
  );

  it("lists the agents", async () => {
    const { client, calls } = threadOver(inTurn(ok({ agents: [{ id: "helper" }] })));
    expect(await client.agents()).toEqual([{ id: "helper" }]);
    expect(calls).toEqual([{ method: "agents", request: undefined }]);
  });

  it("sends the digests that it expects", async () => {
    const { thread, calls } = threadOver(inTurn(ok(RECEIPT)));
    const expectDefinitions = { agent: "0".repeat(64) };
    await thread.submit("helper", null, { idempotencyKey: "k", expectDefinitions });
    expect(calls[0]?.request).toMatchObject({
      request: { agent: "helper", input: null, expectDefinitions },
    });
  });

  it("waits for a settlement as often as it takes", async () => {
    const { thread, calls } = threadOver(
      inTurn(ok({ receipt: RECEIPT, replayed: false }), ok(null), ok(null), ok(SETTLEMENT)),
    );
    const run = thread.run("helper", "x");
    // An answer that comes at once though it is owed: the next is asked for after a pause.
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await run).toEqual({ receipt: RECEIPT, settlement: SETTLEMENT });
    expect(calls.map(({ method }) => method)).toEqual([
      "submit",
      "awaitSettlementRecord",
      "awaitSettlementRecord",
      "awaitSettlementRecord",
    ]);
  });

  it("reads all records, page by page, past the ones that it has", async () => {
    const pages = [
      { records: [{ sequence: 4 }, { sequence: 5 }], next: 5, tail: 7 },
      // A page may hold nothing and still get on.
      { records: [], next: 6, tail: 7 },
      { records: [{ sequence: 7 }], next: 7, tail: 7 },
    ];
    const { thread, calls } = threadOver(inTurn(...pages.map(ok)));
    const seen: number[] = [];
    for await (const { sequence } of thread.records({ after: 3 })) seen.push(sequence);
    expect(seen).toEqual([4, 5, 7]);
    expect(calls.map(({ request }) => request)).toEqual(
      [3, 5, 6].map((after) => ({ threadId: "t", page: { after, limit: 256 } })),
    );
  });

  it("asks for a page only when its records are wanted", async () => {
    const page = { records: [{ sequence: 1 }], next: 1, tail: 2 };
    const { thread, calls } = threadOver(inTurn(ok(page)));
    for await (const { sequence } of thread.records()) {
      expect(sequence).toBe(1);
      break;
    }
    expect(calls).toHaveLength(1);
  });
});

describe("[UX-06, API-04] an error over a binding", () => {
  it("is the one that the other side sent, with its code, fields and faults", async () => {
    const errors = [{ pointer: "/n", message: "expected number" }];
    const { thread, calls } = threadOver(
      inTurn(refused("InvalidInput", { fields: { agent: "helper" }, errors })),
    );
    const outcome = await finished(thread.submit("helper", {}));
    const error = "error" in outcome ? outcome.error : null;
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).toMatchObject({
      code: "InvalidInput",
      detail: "What was wrong: InvalidInput.",
      status: 422,
      fields: { agent: "helper" },
      errors,
    });
    expect(calls).toHaveLength(1);
  });

  it("of a newer server, with a code that is not known, is a Defect and no invitation to repeat", async () => {
    const { thread, calls } = threadOver(inTurn(refused("CodeOfTomorrow")));
    expect(await finished(thread.get())).toMatchObject({ error: { code: "Defect" } });
    expect(calls).toHaveLength(1);
  });

  it.each<[string, (failure: Error) => () => Promise<unknown>]>([
    ["rejects", (failure) => () => Promise.reject(failure)],
    [
      "throws",
      (failure) => () => {
        throw failure;
      },
    ],
  ])("is Unavailable with an unknown outcome when the binding %s", async (_what, failing) => {
    const failure = new Error("Network connection lost.");
    const { thread, client } = threadOver(failing(failure), { maxRetries: 0 });
    const { signal } = new AbortController();
    const calls: (() => Promise<unknown>)[] = [
      () => thread.submit("helper", "x"),
      () => thread.run("helper", "x", { signal }),
      () => thread.get({ signal }),
      () => client.agents(),
    ];
    for (const call of calls) {
      expect(await finished(call())).toEqual({
        error: expect.objectContaining({
          code: "Unavailable",
          fields: { outcome: "unknown" },
          cause: failure,
        }),
      });
    }
  });

  it("that may be repeated is, with the one key that was made", async () => {
    const { thread, calls } = threadOver(
      inTurn(new Error("lost"), refused("Overloaded"), ok(RECEIPT)),
    );
    expect(await finished(thread.submit("helper", "x"))).toEqual({ value: RECEIPT });
    const keys = calls.map(
      ({ request }) => z.looseObject({ idempotencyKey: z.uuid() }).parse(request).idempotencyKey,
    );
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });
});

/** Everything that waits on the other side. */
const WAITS: readonly [string, (thread: ThreadHandle, signal: AbortSignal) => Promise<unknown>][] =
  [
    ["run", (thread, signal) => thread.run("helper", "x", { signal })],
    ["settlement", (thread, signal) => thread.settlement(S, { signal })],
  ];

const NO_WAITS: typeof WAITS = [
  ["submit", (thread, signal) => thread.submit("helper", "x", { signal })],
  ["get", (thread, signal) => thread.get({ signal })],
  ["events", (thread, signal) => thread.events({}, { signal }).next()],
  ["records", (thread, signal) => thread.records({}, { signal }).next()],
  ["explain", (thread, signal) => thread.explain({ signal })],
];

function waitIdOf(call: BindingCall | undefined): string {
  return z.looseObject({ waitId: z.string().min(1).max(128) }).parse(call?.request).waitId;
}

describe("[API-04, OBS-07] a caller who gives up", () => {
  const reason = new Error("enough");

  it.each(WAITS)("ends its wait on the other side, and waits for neither: %s", async (_, start) => {
    const { thread, calls } = threadOver(never);
    const controller = new AbortController();
    const outcome = outcomeOf(start(thread, controller.signal));
    await vi.advanceTimersByTimeAsync(10);
    expect(calls).toHaveLength(1);
    controller.abort(reason);
    expect(await outcome).toEqual({ error: reason });
    expect(calls).toHaveLength(2);
    expect(calls[1]).toEqual({
      method: "cancelWait",
      request: { threadId: "t", waitId: waitIdOf(calls[0]) },
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[string, () => Promise<unknown>]>([
    ["is refused", () => Promise.resolve(refused("ThreadNotFound"))],
    ["breaks off", () => Promise.reject(new Error("lost"))],
    [
      "throws",
      () => {
        throw new Error("lost");
      },
    ],
  ])("hears nothing of a cancellation that %s", async (_what, cancellation) => {
    const { thread } = threadOver(({ method }) =>
      method === "cancelWait" ? cancellation() : never(),
    );
    const controller = new AbortController();
    const outcome = outcomeOf(thread.settlement(S, { signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(10);
    controller.abort(reason);
    expect(await outcome).toEqual({ error: reason });
    // An error that nobody catches would fail this file.
    await vi.runAllTimersAsync();
  });

  it("names each of its waits anew", async () => {
    const { thread, calls } = threadOver(inTurn(ok(null), new Error("lost"), ok(SETTLEMENT)));
    const { signal } = new AbortController();
    expect(await finished(thread.settlement(S, { signal }))).toEqual({ value: SETTLEMENT });
    expect(new Set(calls.map(waitIdOf)).size).toBe(3);
  });

  it("cancels nothing of a wait that is over", async () => {
    const { thread, calls } = threadOver(inTurn(ok(SETTLEMENT)));
    const controller = new AbortController();
    await thread.settlement(S, { signal: controller.signal });
    controller.abort(reason);
    await vi.runAllTimersAsync();
    expect(calls.map(({ method }) => method)).toEqual(["awaitSettlementRecord"]);
  });

  it("cancels nothing while it is between two tries", async () => {
    const { thread, calls } = threadOver(inTurn(refused("Unavailable")));
    const controller = new AbortController();
    const outcome = outcomeOf(thread.settlement(S, { signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(10);
    controller.abort(reason);
    expect(await outcome).toEqual({ error: reason });
    expect(calls).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([...WAITS, ...NO_WAITS])("before it asked asks nothing: %s", async (_, start) => {
    const { thread, calls } = threadOver(never);
    expect(await outcomeOf(start(thread, AbortSignal.abort(reason)))).toEqual({ error: reason });
    expect(calls).toEqual([]);
  });

  it.each(NO_WAITS)("has nothing to cancel where nothing waits: %s", async (_, start) => {
    const { thread, calls } = threadOver(never);
    const controller = new AbortController();
    const outcome = outcomeOf(start(thread, controller.signal));
    await vi.advanceTimersByTimeAsync(10);
    controller.abort(reason);
    expect(await outcome).toEqual({ error: reason });
    expect(calls).toHaveLength(1);
    expect(calls[0]?.request).not.toHaveProperty("waitId");
  });

  it("of the list of agents is told its reason at once, or asks nothing", async () => {
    const { client, calls } = threadOver(never);
    expect(await outcomeOf(client.agents({ signal: AbortSignal.abort(reason) }))).toEqual({
      error: reason,
    });
    expect(calls).toEqual([]);
    const controller = new AbortController();
    const outcome = outcomeOf(client.agents({ signal: controller.signal }));
    controller.abort(reason);
    expect(await outcome).toEqual({ error: reason });
  });

  it("does not hear of an answer, or a failure, that comes too late", async () => {
    for (const late of [ok(SETTLEMENT), refused("Defect"), new Error("lost")]) {
      const answer = Promise.withResolvers<unknown>();
      const { thread } = threadOver(({ method }) =>
        method === "cancelWait" ? never() : answer.promise,
      );
      const controller = new AbortController();
      const outcome = outcomeOf(thread.settlement(S, { signal: controller.signal }));
      await vi.advanceTimersByTimeAsync(10);
      controller.abort(reason);
      expect(await outcome).toEqual({ error: reason });
      if (late instanceof Error) answer.reject(late);
      else answer.resolve(late);
      await vi.runAllTimersAsync();
    }
  });

  it("leaves no listener on a signal that lives longer", async () => {
    const { thread } = threadOver(inTurn(new Error("lost"), ok(null), ok(SETTLEMENT)));
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    await finished(thread.settlement(S, { signal }));
    const listeners = (calls: readonly (readonly unknown[])[]): unknown[] =>
      calls.map(([, listener]) => listener);
    expect(add.mock.calls.length).toBeGreaterThan(3);
    expect(new Set(listeners(remove.mock.calls))).toEqual(new Set(listeners(add.mock.calls)));
  });
});

describe("[UX-06] a call that is never answered", () => {
  const late = { code: "DeadlineExceeded", retryable: true, fields: { outcome: "unknown" } };

  it.each([
    ["that waits for nothing", 45_000, (thread: ThreadHandle): Promise<unknown> => thread.get()],
    [
      "that waits",
      45_000 + 60_000,
      (thread: ThreadHandle): Promise<unknown> => thread.settlement(S),
    ],
  ] as const)("%s is given up after its time", async (_what, millis, call) => {
    const { thread } = threadOver(() => never(), { maxRetries: 0 });
    const began = Date.now();
    const outcome = outcomeOf(call(thread)).then((ended) => ({ ended, at: Date.now() - began }));
    await vi.runAllTimersAsync();
    expect(await outcome).toMatchObject({ ended: { error: late }, at: millis });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is repeated with the same request", async () => {
    const answers = [never(), Promise.resolve(ok(RECEIPT))];
    const { thread, calls } = threadOver(() => answers.shift() ?? never());
    const outcome = await finished(thread.submit("helper", { n: 1 }));
    expect(outcome).toEqual({ value: RECEIPT });
    expect(calls).toHaveLength(2);
    expect(calls[1]).toEqual(calls[0]);
  });
});

describe("[API-04] events over a binding", () => {
  it("are read from the stream that the other side hands over, and let go of when it is left", async () => {
    const state = 'event: state\ndata: {"state":"idle"}\n\n';
    const connection = new Connection([state, state], "stays-open");
    const { thread, calls } = threadOver(inTurn(ok(connection.stream)));
    for await (const { event } of thread.events({ submissionId: S, after: 3, deltas: false })) {
      expect(event).toBe("state");
      break;
    }
    expect(connection.cancelled).toBe(true);
    expect(calls).toEqual([
      { method: "events", request: { threadId: "t", submissionId: S, after: 3, deltas: false } },
    ]);
  });

  it("that are opened too late for who gave up are let go of", async () => {
    const connection = new Connection([], "stays-open");
    const late = Promise.withResolvers<unknown>();
    const { thread } = threadOver(() => late.promise);
    const controller = new AbortController();
    const outcome = outcomeOf(thread.events({}, { signal: controller.signal }).next());
    await vi.advanceTimersByTimeAsync(10);
    controller.abort("enough");
    expect(await outcome).toEqual({ error: "enough" });
    late.resolve(ok(connection.stream));
    await vi.advanceTimersByTimeAsync(10);
    expect(connection.cancelled).toBe(true);
  });
});
