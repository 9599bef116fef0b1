// The client over HTTP, with a network that is played by a script: what it sends, what it makes of what comes back, when it repeats and
// with which key, and that a caller who gives up never waits for anybody.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { holdfastClient, type ThreadHandle } from "../../../shared/client/index.ts";
import type { HttpOptions } from "../../../shared/client/http-transport.ts";
import type { RetryPolicy } from "../../../shared/client/retry.ts";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import {
  Connection,
  never,
  outcomeOf,
  problem,
  scriptedFetch,
  type Outcome,
  type Scripted,
  type SentRequest,
} from "./fakes.ts";

const S = "sub-1-aaaaaaaaaaaaaaaa";
const RECEIPT = {
  threadId: "t",
  submissionId: S,
  queueSequence: 1,
  agentId: "helper",
  acceptedAt: "2026-11-01T12:00:00.000Z",
};
const SETTLEMENT = { outcome: "completed", output: "done", sequence: 6 };

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

interface Asked {
  readonly token?: HttpOptions["token"];
  readonly baseUrl?: string;
  readonly retry?: Partial<RetryPolicy>;
}

/** A thread of a deployment that answers by script. */
function threadOver(script: readonly Scripted[], asked: Asked = {}) {
  const { fetch, sent, left } = scriptedFetch(...script);
  const client = holdfastClient({
    baseUrl: "https://agents.test",
    token: "a-token",
    fetch,
    ...asked,
  });
  return { client, thread: client.thread("t"), sent, left };
}

/** Lets every wait of the client pass. */
async function finished<T>(call: Promise<T>): Promise<Outcome<T>> {
  const outcome = outcomeOf(call);
  await vi.runAllTimersAsync();
  return outcome;
}

function errorOf(outcome: Outcome<unknown>): HoldfastError {
  if ("error" in outcome && outcome.error instanceof HoldfastError) return outcome.error;
  throw new Error(`no HoldfastError: ${JSON.stringify(outcome)}`);
}

function keysOf(sent: readonly SentRequest[]): (string | undefined)[] {
  return sent.map(({ headers }) => headers["idempotency-key"]);
}

describe("[UX-06] a request", () => {
  it("is sent whole, with the token, and JSON only where there is a body", async () => {
    const { thread, sent } = threadOver([
      Response.json({ receipt: RECEIPT, replayed: false }, { status: 202 }),
      Response.json({ threadId: "t" }),
    ]);
    const key = "my-key";
    const input = { ask: "é", list: [1, null], gone: undefined, at: new Date(0) };
    await thread.submit("helper", JSON.parse(JSON.stringify(input)), { idempotencyKey: key });
    await thread.get();
    expect(sent).toEqual([
      {
        method: "POST",
        url: "https://agents.test/v1/threads/t/submissions",
        headers: {
          authorization: "Bearer a-token",
          "content-type": "application/json",
          "idempotency-key": "my-key",
        },
        body: '{"agent":"helper","input":{"ask":"é","list":[1,null],"at":"1970-01-01T00:00:00.000Z"}}',
      },
      {
        method: "GET",
        url: "https://agents.test/v1/threads/t",
        headers: { authorization: "Bearer a-token" },
        body: "",
      },
    ]);
  });

  it("asks for its token each time, also when it is repeated", async () => {
    const tokens = ["one", "two", "three"];
    const { thread, sent } = threadOver(
      [problem("Unavailable"), Response.json({}), Response.json({})],
      { token: async () => tokens.shift() ?? "none" },
    );
    await finished(thread.get());
    await finished(thread.usage());
    expect(sent.map(({ headers }) => headers["authorization"])).toEqual([
      "Bearer one",
      "Bearer two",
      "Bearer three",
    ]);
  });

  it("is not sent when there is no token to be had, and says why", async () => {
    const failure = new Error("the vault is closed");
    const { thread, sent } = threadOver([], { token: () => Promise.reject(failure) });
    expect(await finished(thread.get())).toEqual({ error: failure });
    expect(sent).toEqual([]);
  });

  it("goes to the deployment, however its address ends and whatever the ids are", async () => {
    for (const baseUrl of ["https://agents.test", "https://agents.test/"]) {
      const { client, sent } = threadOver([Response.json({})], { baseUrl });
      await client.thread("//evil.test/?#..").submission("../../agents");
      expect(sent[0]?.url).toBe(
        "https://agents.test/v1/threads/%2F%2Fevil.test%2F%3F%23../submissions/..%2F..%2Fagents",
      );
    }
  });

  it("is not sent for ids that a URL would lose", async () => {
    const { client, sent } = threadOver([]);
    for (const id of ["", ".", ".."]) {
      const calls = [() => client.thread(id).get(), () => client.thread("t").abort(id)];
      for (const call of calls) {
        expect(errorOf(await finished<unknown>(call())).code).toBe("InvalidIdentifier");
      }
    }
    expect(sent).toEqual([]);
  });

  it("lists the agents", async () => {
    const { client, sent } = threadOver([Response.json({ agents: [{ id: "helper" }] })]);
    expect(await client.agents()).toEqual([{ id: "helper" }]);
    expect(sent[0]).toMatchObject({ method: "GET", url: "https://agents.test/v1/agents" });
  });
});

describe("[UX-06] a problem document", () => {
  it("becomes the error that it describes, with its code, status, fields and faults", async () => {
    const { thread, left } = threadOver([
      problem("InvalidInput", { errors: [{ pointer: "/city", message: "expected string" }] }),
    ]);
    const error = errorOf(await finished(thread.submit("helper", {})));
    const { code, detail, status, retryable, fields, errors } = error;
    expect({ code, detail, status, retryable, fields, errors }).toEqual({
      code: "InvalidInput",
      detail: "What was wrong: InvalidInput.",
      status: 422,
      retryable: false,
      fields: {
        status: 422,
        requestId: "b8b4dd3c-7d18-4d7c-9d58-6fb9bd1f6bd4",
        retryable: false,
        outcome: "not-applied",
      },
      errors: [{ pointer: "/city", message: "expected string" }],
    });
    expect(error.message).toBe("InvalidInput: What was wrong: InvalidInput.");
    expect(left()).toBe(0);
  });

  it("keeps the error's own fields, and its status where the code has several", async () => {
    const fields = { limit: "maxInputBytes", maximum: 10, status: 413, retryable: false };
    const { thread, sent } = threadOver([problem("AdmissionLimitExceeded", { fields })]);
    const error = errorOf(await finished(thread.submit("helper", "x")));
    expect({ code: error.code, status: error.status, fields: error.fields }).toMatchObject({
      code: "AdmissionLimitExceeded",
      status: 413,
      fields,
    });
    // What cannot get better is not repeated, though others of its code are.
    expect(sent).toHaveLength(1);
  });

  it("of a newer server, with a code that is not known, is a Defect and no invitation to repeat", async () => {
    const body = {
      type: "https://agents.test/errors/CodeOfTomorrow",
      title: "x",
      status: 409,
      detail: "The thread is busy.",
      code: "CodeOfTomorrow",
      requestId: "r",
      retryable: false,
      outcome: "not-applied",
    };
    const { thread, sent } = threadOver([Response.json(body, { status: 409 })]);
    const error = errorOf(await finished(thread.submit("helper", "x")));
    expect(error).toMatchObject({ code: "Defect", detail: "The thread is busy.", status: 409 });
    expect(sent).toHaveLength(1);
  });

  it.each([
    ["seconds", "12", 12_000],
    ["more patience than ours", "0", 250],
    ["a date, which is not understood", "Wed, 21 Oct 2099 07:28:00 GMT", 250],
    ["nonsense", "soon", 250],
  ])("is repeated after its Retry-After in %s", async (_what, header, millis) => {
    vi.spyOn(Math, "random").mockReturnValue(0.999);
    const { thread, sent } = threadOver([
      problem("RateLimited", { headers: { "retry-after": header } }),
      Response.json({ threadId: "t" }),
    ]);
    const outcome = outcomeOf(thread.get());
    await vi.advanceTimersByTimeAsync(millis - 1);
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toEqual({ value: { threadId: "t" } });
    vi.restoreAllMocks();
  });

  it("tells its Retry-After as the field that a binding tells", async () => {
    const { thread } = threadOver([problem("Overloaded", { headers: { "retry-after": "3" } })], {
      retry: { maxRetries: 0 },
    });
    expect(errorOf(await finished(thread.get())).fields["retryAfterSeconds"]).toBe(3);
  });
});

const HTML = { headers: { "content-type": "text/html" } };

describe("[UX-06] what is no answer", () => {
  it.each<[string, () => Response, number]>([
    ["an HTML 502 of something on the way", () => new Response("<h1>Bad</h1>", HTML), 502],
    ["an empty 503", () => new Response(null), 503],
    ["JSON that is no problem document", () => Response.json({ error: "x" }), 500],
    ["JSON that is no object", () => Response.json(null), 504],
    ["half a document", () => new Response('{"type":"https://x'), 500],
  ])("is Unavailable with an unknown outcome: %s", async (_what, body, status) => {
    const made = body();
    const { thread, sent } = threadOver(
      [() => Promise.resolve(new Response(made.body, { status, headers: made.headers }))],
      { retry: { maxRetries: 0 } },
    );
    const error = errorOf(await finished(thread.submit("helper", "x")));
    expect({ code: error.code, status: error.status, fields: error.fields }).toEqual({
      code: "Unavailable",
      status,
      fields: { status, outcome: "unknown", retryable: true },
    });
    expect(error.detail).toContain(String(status));
    expect(sent).toHaveLength(1);
  });

  it.each([404, 401, 400, 405])(
    "is not asked for again where somebody else answers with %d: the address is wrong",
    async (status) => {
      const { thread, sent } = threadOver([new Response("<h1>Not here</h1>", { status })]);
      const error = errorOf(await finished(thread.submit("helper", "x")));
      expect(error).toMatchObject({ code: "Unavailable", status, retryable: false });
      expect(sent).toHaveLength(1);
    },
  );

  it("is Unavailable when the network fails, and keeps why", async () => {
    const failure = new TypeError("fetch failed");
    const { thread } = threadOver([failure], { retry: { maxRetries: 0 } });
    const error = errorOf(await finished(thread.submit("helper", "x")));
    expect(error).toMatchObject({
      code: "Unavailable",
      fields: { outcome: "unknown" },
      retryable: true,
      cause: failure,
    });
  });

  it("is Unavailable when the answer breaks off in its body", async () => {
    const { stream } = new Connection(['{"receipt":'], "breaks");
    const { thread } = threadOver([new Response(stream, { status: 202 })], {
      retry: { maxRetries: 0 },
    });
    const error = errorOf(await finished(thread.submit("helper", "x")));
    expect(error).toMatchObject({ code: "Unavailable", fields: { outcome: "unknown" } });
  });
});

describe("[UX-06] a submission", () => {
  const accepted = (): Promise<Response> =>
    Promise.resolve(Response.json({ receipt: RECEIPT, replayed: true }));

  it("is repeated with the one key that was made for it, whatever became of the tries", async () => {
    const { thread, sent } = threadOver([
      new TypeError("fetch failed"),
      new Response("<h1>Bad gateway</h1>", { status: 502, ...HTML }),
      problem("DeadlineExceeded", { fields: { outcome: "unknown" } }),
      problem("Overloaded"),
      accepted,
    ]);
    expect(await finished(thread.submit("helper", { n: 1 }))).toEqual({
      value: { receipt: RECEIPT, replayed: true },
    });
    expect(sent).toHaveLength(5);
    const [key] = keysOf(sent);
    expect(key).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set(keysOf(sent))).toEqual(new Set([key]));
    expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
  });

  it("has a key of its own, each", async () => {
    const { thread, sent } = threadOver([accepted, accepted, accepted]);
    for (const call of [1, 2, 3]) await thread.submit("helper", { call });
    expect(new Set(keysOf(sent)).size).toBe(3);
  });

  it("has the caller's key where it gives one, also when it is repeated", async () => {
    const { thread, sent } = threadOver([new TypeError("x"), accepted]);
    await finished(thread.submit("helper", "x", { idempotencyKey: "order-17" }));
    expect(keysOf(sent)).toEqual(["order-17", "order-17"]);
  });

  it("is refused with the error of the last try, when no try was answered", async () => {
    const { thread, sent } = threadOver(Array.from({ length: 5 }, () => new TypeError("down")));
    const error = errorOf(await finished(thread.submit("helper", "x")));
    expect(error).toMatchObject({ code: "Unavailable", fields: { outcome: "unknown" } });
    expect(sent).toHaveLength(5);
  });

  it("is repeated by itself, and its waiting by itself, when it is run", async () => {
    const { thread, sent } = threadOver([
      new TypeError("x"),
      () => Promise.resolve(Response.json({ receipt: RECEIPT, replayed: false }, { status: 202 })),
      new TypeError("x"),
      () => Promise.resolve(Response.json({ state: "running" }, { status: 202 })),
      () => Promise.resolve(Response.json(SETTLEMENT)),
    ]);
    expect(await finished(thread.run("helper", "x", { idempotencyKey: "k" }))).toEqual({
      value: { receipt: RECEIPT, settlement: SETTLEMENT },
    });
    expect(sent.map(({ method, url, headers }) => [method, url, headers["prefer"]])).toEqual([
      ["POST", "https://agents.test/v1/threads/t/submissions", "wait=60"],
      ["POST", "https://agents.test/v1/threads/t/submissions", "wait=60"],
      ...Array.from({ length: 3 }, () => [
        "GET",
        `https://agents.test/v1/threads/t/submissions/${S}/settlement`,
        "wait=60",
      ]),
    ]);
  });

  it("that settled within its wait is answered by one request", async () => {
    const { thread, sent } = threadOver([
      Response.json({ receipt: RECEIPT, replayed: false, submission: { settlement: SETTLEMENT } }),
    ]);
    expect(await finished(thread.run("helper", "x"))).toEqual({
      value: { receipt: RECEIPT, settlement: SETTLEMENT },
    });
    expect(sent).toHaveLength(1);
  });

  it("of what is no JSON is rejected, not thrown, and never sent", async () => {
    const { thread, sent } = threadOver([]);
    const circle = z.custom<Record<string, JsonValue>>().parse({});
    Object.assign(circle, { self: circle });
    const calls: (() => Promise<unknown>)[] = [
      () => thread.submit("helper", circle),
      () => thread.run("helper", circle),
    ];
    for (const call of calls) {
      expect(await finished(call())).toEqual({ error: expect.any(TypeError) });
    }
    expect(sent).toEqual([]);
  });
});

/** What a caller may be waiting for when it gives up, and what the network does meanwhile: nothing. */
const WAITS: readonly [string, (thread: ThreadHandle, signal: AbortSignal) => Promise<unknown>][] =
  [
    ["submit", (thread, signal) => thread.submit("helper", "x", { signal })],
    ["run", (thread, signal) => thread.run("helper", "x", { signal })],
    ["settlement", (thread, signal) => thread.settlement(S, { signal })],
    ["get", (thread, signal) => thread.get({ signal })],
    ["submissions", (thread, signal) => thread.submissions({}, { signal })],
    ["page", (thread, signal) => thread.page({}, { signal })],
    ["records", (thread, signal) => thread.records({}, { signal }).next()],
    ["events", (thread, signal) => thread.events({}, { signal }).next()],
    ["abort", (thread, signal) => thread.abort(S, { signal })],
    ["operations", (thread, signal) => thread.operations({ signal })],
    ["decide", (thread, signal) => thread.decide([], { signal })],
    ["explain", (thread, signal) => thread.explain({ signal })],
    ["usage", (thread, signal) => thread.usage({ signal })],
    ["verify", (thread, signal) => thread.verify({ signal })],
    ["delete", (thread, signal) => thread.delete({}, { signal })],
    [
      "repair",
      (thread, signal) =>
        thread.repair({ action: "retry", target: S, reason: "again" }, { signal }),
    ],
  ];

/** Where the other side stops answering. */
const SILENCES: readonly [string, Asked, () => Scripted][] = [
  ["the token never comes", { token: () => never() }, () => () => never()],
  ["the fetch never settles", {}, () => () => never()],
  ["the body never ends", {}, () => new Response(new Connection(["{"], "stays-open").stream)],
  [
    "a refusal's body never ends",
    {},
    () => new Response(new Connection(["{"], "stays-open").stream, { status: 503 }),
  ],
];

describe("[UX-06] a caller who gives up", () => {
  describe.each(SILENCES)("while %s", (_what, asked, answer) => {
    it.each(WAITS)("is told its reason at once: %s", async (_method, start) => {
      const { thread } = threadOver([answer()], asked);
      const controller = new AbortController();
      const outcome = outcomeOf(start(thread, controller.signal));
      await vi.advanceTimersByTimeAsync(10);
      const reason = new Error("enough");
      controller.abort(reason);
      expect(await outcome).toEqual({ error: reason });
      expect(vi.getTimerCount()).toBe(0);
    });
  });

  it.each(WAITS)("before it asked sends nothing: %s", async (_method, start) => {
    const { thread, sent } = threadOver([]);
    expect(await outcomeOf(start(thread, AbortSignal.abort("never mind")))).toEqual({
      error: "never mind",
    });
    expect(sent).toEqual([]);
  });

  it("between two tries is told its reason at once", async () => {
    const { thread, sent } = threadOver([
      problem("Unavailable", { headers: { "retry-after": "60" } }),
    ]);
    const controller = new AbortController();
    const outcome = outcomeOf(thread.submit("helper", "x", { signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sent).toHaveLength(1);
    controller.abort("enough");
    expect(await outcome).toEqual({ error: "enough" });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gets its own reason also from a network that honours the signal in its own words", async () => {
    const controller = new AbortController();
    const { thread } = threadOver(
      [
        async () => {
          controller.abort("enough");
          throw new DOMException("This operation was aborted", "AbortError");
        },
      ],
      { retry: { maxRetries: 0 } },
    );
    const outcome = await outcomeOf(thread.get({ signal: controller.signal }));
    expect(outcome).toEqual({ error: "enough" });
  });

  it("hands its signal to the network, so that the request ends there too", async () => {
    const seen: boolean[] = [];
    const client = holdfastClient({
      baseUrl: "https://agents.test",
      token: "a-token",
      fetch: (request) => {
        request.signal.addEventListener("abort", () => seen.push(request.signal.aborted));
        return never();
      },
    });
    const controller = new AbortController();
    const outcome = outcomeOf(client.thread("t").get({ signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(10);
    controller.abort("enough");
    await outcome;
    expect(seen).toEqual([true]);
  });

  it("while a stream of events is opened lets go of it when it comes after all", async () => {
    const connection = new Connection([], "stays-open");
    const late = Promise.withResolvers<Response>();
    const { thread } = threadOver([() => late.promise]);
    const controller = new AbortController();
    const outcome = outcomeOf(thread.events({}, { signal: controller.signal }).next());
    await vi.advanceTimersByTimeAsync(10);
    controller.abort("enough");
    expect(await outcome).toEqual({ error: "enough" });
    late.resolve(new Response(connection.stream));
    await vi.advanceTimersByTimeAsync(10);
    expect(connection.cancelled).toBe(true);
  });
});
