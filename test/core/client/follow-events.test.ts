// Following a thread's events over connections that are played by a script: nothing is lost or shown twice wherever one is cut, and the
// reader ends when it should, waits when it is told to, and lets go of what it no longer reads.
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  followEvents,
  parseBlock,
  type FollowedEvent,
} from "../../../shared/client/read-events.ts";
import { delay, type RetryPolicy } from "../../../shared/client/retry.ts";
import type { Transport } from "../../../shared/client/transport.ts";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import { renderEvent, renderRecord, type ThreadEvent } from "../../../shared/wire/events.ts";
import type { RequestOf } from "../../../shared/wire/requests.ts";
import { NO_RUN_USAGE } from "../../../shared/wire/usage.ts";
import { input, log, responded, RUN, started, SUBMISSION } from "../support/builders.ts";
import { Connection, outcomeOf, type StreamEnd } from "./fakes.ts";

const POLICY: RetryPolicy = { maxRetries: 3, baseMillis: 100, capMillis: 250 };

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0.999);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Text that holds what else counts as a line break, what imitates the fields of an event, and characters of several bytes. */
const NASTY =
  "é\u2028event: settled\u2029data: {}\u2028id: 98\n\nevent: gap\ndata: {}\n\nid: 99\r\n🦀";

/** The records of one run, as its stream has them. */
const RECORDS = log([input({ ask: NASTY }), started(), responded(1, { text: NASTY })]).map(
  ({ record }) => record,
);
const TAIL = RECORDS.length;

const STATE = renderEvent({
  event: "state",
  data: { submissionId: SUBMISSION, state: "running" },
});
const DELTA = renderEvent({
  event: "delta",
  data: { submissionId: SUBMISSION, turn: 1, attempt: 1, kind: "text", offset: 0, text: NASTY },
});
const SETTLED: ThreadEvent & FollowedEvent = {
  event: "settled",
  data: {
    submissionId: SUBMISSION,
    settlement: {
      outcome: "completed",
      output: NASTY,
      usage: NO_RUN_USAGE,
      settledAt: "2026-11-01T12:00:00.000Z",
      sequence: TAIL + 1,
    },
  },
};

function bye(retryMillis?: number): string {
  return renderEvent({ event: "bye", data: { reason: "idle" } }, retryMillis);
}

/** All that the server has past the cursor, to the end of the work. */
function streamAfter(after: number): string {
  const records = RECORDS.filter(({ sequence }) => sequence > after).map(renderRecord);
  return [STATE, DELTA, ...records, renderEvent(SETTLED)].join(": keep-alive\n\n");
}

type Answer = Connection | Error;

/** A server of which each connection is answered by script; keeps what it was asked and when. */
function server(...script: ((request: RequestOf<"events">) => Answer)[]) {
  const left = [...script];
  const asked: RequestOf<"events">[] = [];
  const times: number[] = [];
  const connections: Connection[] = [];
  const began = Date.now();
  const connect = async (request: RequestOf<"events">): Promise<Connection> => {
    asked.push(request);
    times.push(Date.now() - began);
    const answer = left.shift()?.(request) ?? new HoldfastError("Defect", "asked once too often");
    if (answer instanceof Error) throw answer;
    connections.push(answer);
    return answer;
  };
  return { transport: transportOf(connect), asked, times, connections };
}

/** Events alone: nothing else may be asked while events are followed. */
function transportOf(
  connect: (request: RequestOf<"events">, signal?: AbortSignal) => Promise<Connection>,
): Transport {
  const refuse = (): Promise<never> => Promise.reject(new Error("nothing else is asked"));
  const transport = {
    call: async (operation: string, request: RequestOf<"events">, signal?: AbortSignal) =>
      operation === "events" ? (await connect(request, signal)).stream : refuse(),
    agents: refuse,
  };
  return z.custom<Transport>().parse(transport);
}

function opens(end: StreamEnd, ...pieces: (string | Uint8Array)[]): () => Connection {
  return () => new Connection(pieces, end);
}

/** Reads to the end, with every wait passed. */
async function readAll(
  transport: Transport,
  request: RequestOf<"events"> = { threadId: "t" },
  signal?: AbortSignal,
): Promise<{ events: FollowedEvent[]; error: unknown }> {
  const events: FollowedEvent[] = [];
  const reader = { isOver: false };
  const reading = outcomeOf(
    (async () => {
      for await (const event of followEvents(transport, request, POLICY, signal)) {
        events.push(event);
      }
    })(),
  ).finally(() => {
    reader.isOver = true;
  });
  while (!reader.isOver) await vi.advanceTimersByTimeAsync(100);
  const outcome = await reading;
  return { events, error: "error" in outcome ? outcome.error : null };
}

function recordsOf(events: readonly FollowedEvent[]) {
  return events.flatMap((event) => (event.event === "record" ? [event.data] : []));
}

/** How many whole events of the records are in the first bytes of a text. */
function lastRecordIn(text: string, bytes: number, after: number): number {
  const seen = new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, bytes));
  const whole = seen.split("\n\n").slice(0, -1);
  const ids = whole.flatMap((block) => /^event: record\nid: (\d+)$/m.exec(block)?.[1] ?? []);
  return Number(ids.at(-1) ?? after);
}

describe("[UX-06, OBS-03] a connection that is cut", () => {
  const bytes = new TextEncoder().encode(streamAfter(0));
  // The stream's last event is not cut off by its end.
  const cuts = Array.from({ length: bytes.length - 1 }, (_, cut) => cut);

  it.each(["breaks", "closes"] as const)(
    "at any byte is taken up after the last record that came whole, when it %s",
    async (end) => {
      for (const cut of cuts) {
        const { transport, asked } = server(
          opens(end, bytes.subarray(0, cut)),
          ({ after = 0 }) => new Connection([streamAfter(after)], "closes"),
        );
        const { events, error } = await readAll(transport);
        expect({ cut, error, last: events.at(-1) }).toEqual({ cut, error: null, last: SETTLED });
        expect(recordsOf(events)).toEqual(RECORDS);
        expect(asked.map(({ after }) => after)).toEqual([0, lastRecordIn(streamAfter(0), cut, 0)]);
      }
    },
  );

  it("again and again, in pieces of any size, loses nothing and shows nothing twice", async () => {
    const piece = fc.record({
      cut: fc.nat(bytes.length),
      size: fc.integer({ min: 1, max: 400 }),
      end: fc.constantFrom<StreamEnd>("breaks", "closes"),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 6 }),
        fc.integer({ min: 0, max: TAIL }),
        async (pieces, from) => {
          const cutOff = pieces.map(({ cut, size, end }) => ({ after = 0 }) => {
            // Never whole: that is the last connection's.
            const whole = new TextEncoder().encode(streamAfter(after));
            const sent = whole.subarray(0, Math.min(cut, whole.length - 2));
            const chunks = Array.from({ length: Math.ceil(sent.length / size) }, (_, index) =>
              sent.subarray(index * size, (index + 1) * size),
            );
            return new Connection(chunks, end);
          });
          const { transport, asked } = server(
            ...cutOff,
            ({ after = 0 }) => new Connection([streamAfter(after)], "closes"),
          );
          const { events, error } = await readAll(transport, { threadId: "t", after: from });
          expect(error).toBeNull();
          expect(recordsOf(events)).toEqual(RECORDS.slice(from));
          expect(events.filter(({ event }) => event === "settled")).toEqual([SETTLED]);
          expect(events.at(-1)).toEqual(SETTLED);
          expect(asked).toHaveLength(pieces.length + 1);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("is opened with all that was asked, but for the cursor", async () => {
    const { transport, asked } = server(
      opens("breaks", ...RECORDS.slice(0, 2).map(renderRecord)),
      opens("closes", renderEvent(SETTLED)),
    );
    const request = { threadId: "t", submissionId: SUBMISSION, deltas: false, after: 0 };
    await readAll(transport, request);
    expect(asked).toEqual([request, { ...request, after: 2 }]);
  });

  it("is opened again after a second, for as long as somebody reads", async () => {
    const { transport, times } = server(
      ...Array.from({ length: 9 }, () => opens("breaks")),
      opens("closes", renderEvent(SETTLED)),
    );
    const { events } = await readAll(transport);
    expect(events).toEqual([SETTLED]);
    expect(times).toEqual(Array.from({ length: 10 }, (_, index) => index * 1_000));
  });
});

describe("[UX-06] a connection on which nothing comes", () => {
  it("for three heartbeats is let go, and opened again from the last record", async () => {
    const { transport, asked, times, connections } = server(
      opens("stays-open", RECORDS.slice(0, 2).map(renderRecord).join("")),
      ({ after = 0 }) => new Connection([streamAfter(after)], "closes"),
    );
    const { events, error } = await readAll(transport);
    expect(error).toBeNull();
    expect(recordsOf(events)).toEqual(RECORDS);
    expect(asked.map(({ after }) => after)).toEqual([0, 2]);
    expect(times[1]).toBe(45_000 + 1_000);
    expect(connections[0]?.cancelled).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is not one that keeps alive", async () => {
    const beats = Array.from({ length: 10 }, () => ": keep-alive\n\n");
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await delay(15_000, undefined);
        const text = beats.shift();
        controller.enqueue(new TextEncoder().encode(text ?? renderEvent(SETTLED)));
      },
    });
    const connect = vi.fn<() => Promise<Connection>>();
    connect.mockResolvedValueOnce({ stream, cancelled: false });
    const { events, error } = await readAll(transportOf(connect));
    expect({ events, error }).toEqual({ events: [SETTLED], error: null });
    expect(connect).toHaveBeenCalledTimes(1);
  });

  it("not even its beginning, is given up as well", async () => {
    const connect = vi.fn<(request: unknown, signal?: AbortSignal) => Promise<Connection>>();
    connect.mockImplementationOnce(
      (_request, signal) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason));
        }),
    );
    connect.mockResolvedValueOnce(new Connection([streamAfter(0)], "closes"));
    const { events, error } = await readAll(transportOf(connect));
    expect(error).toBeNull();
    expect(events.at(-1)).toEqual(SETTLED);
    expect(connect).toHaveBeenCalledTimes(2);
  });
});

describe("[UX-06] a connection that cannot be opened", () => {
  const unavailable = (): Error => new HoldfastError("Unavailable", "x");

  it("is tried again with growing patience, which an event brings back to its beginning", async () => {
    const { transport, times } = server(
      unavailable,
      unavailable,
      unavailable,
      unavailable,
      unavailable,
      opens("closes", STATE),
      unavailable,
      opens("closes", renderEvent(SETTLED)),
    );
    const { error } = await readAll(transport);
    expect(error).toBeNull();
    const waits = times.map((time, index) => time - (times[index - 1] ?? 0));
    // The fifth is the policy's last patience again; what broke off by itself is opened after a second.
    expect(waits).toEqual([0, 100, 200, 250, 250, 250, 1_000, 200]);
  });

  it("is tried again when the server said so", async () => {
    const busy = new HoldfastError("RateLimited", "x", { fields: { retryAfterSeconds: 10 } });
    const { transport, times } = server(() => busy, opens("closes", renderEvent(SETTLED)));
    await readAll(transport);
    expect(times).toEqual([0, 10_000]);
  });

  it.each([
    ["a refusal", new HoldfastError("ThreadNotFound", "x")],
    ["a mistake of the caller's own", new TypeError("x")],
  ])("because of %s is an error", async (_what, refusal) => {
    const { transport, asked } = server(() => refusal);
    expect(await readAll(transport)).toEqual({ events: [], error: refusal });
    expect(asked).toHaveLength(1);
  });

  it("any more, as it is refused by now, is an error after what was read", async () => {
    const refusal = new HoldfastError("PermissionMissing", "x");
    const { transport, asked } = server(opens("breaks", STATE), () => refusal);
    const { events, error } = await readAll(transport);
    expect(events.map(({ event }) => event)).toEqual(["state"]);
    expect(error).toBe(refusal);
    expect(asked).toHaveLength(2);
  });
});

describe("[UX-06] the end", () => {
  it("is a settlement, and lets the connection go", async () => {
    const { transport, asked, connections } = server(
      opens("stays-open", STATE, renderEvent(SETTLED), renderEvent(SETTLED)),
    );
    const { events } = await readAll(transport);
    expect(events.map(({ event }) => event)).toEqual(["state", "settled"]);
    expect(asked).toHaveLength(1);
    expect(connections[0]?.cancelled).toBe(true);
  });

  it("is a gap, which the reader is told", async () => {
    const gap: ThreadEvent & FollowedEvent = {
      event: "gap",
      data: { after: 9, tail: 3, reason: "past-the-end" },
    };
    const { transport, asked, connections } = server(opens("stays-open", renderEvent(gap)));
    expect(await readAll(transport)).toEqual({ events: [gap], error: null });
    expect(asked).toHaveLength(1);
    expect(connections[0]?.cancelled).toBe(true);
  });

  it("is not a connection's planned one, which is not shown, and is waited for as it says", async () => {
    const { transport, times, connections } = server(
      opens("stays-open", STATE, bye(15_000), STATE),
      opens("stays-open", bye(0)),
      opens("stays-open", bye()),
      opens("stays-open", bye(7).replace("7", "soon")),
      opens("closes", renderEvent(SETTLED)),
    );
    const { events } = await readAll(transport);
    expect(events.map(({ event }) => event)).toEqual(["state", "settled"]);
    expect(times).toEqual([0, 15_000, 15_001, 16_001, 17_001]);
    expect(connections.slice(0, 4).map(({ cancelled }) => cancelled)).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  it("is an error where an event cannot be read, and not silence", async () => {
    const { transport, connections } = server(opens("stays-open", "event: state\ndata: {\n\n"));
    const { events, error } = await readAll(transport);
    expect({ events, error }).toEqual({ events: [], error: expect.any(SyntaxError) });
    expect(connections[0]?.cancelled).toBe(true);
  });
});

describe("[UX-06] one block", () => {
  it.each([
    ["a comment", ": keep-alive\n\n"],
    ["the object's own comment", ": through 7\n\n"],
    ["an event of a newer server", 'event: weather\ndata: {"sun":true}\n\n'],
    ["an event without data", "event: state\n\n"],
    ["data without an event", "data: {}\n\n"],
    ["nothing", "\n\n"],
    ["a word without a colon", "event\ndata\n\n"],
    ["a name that every object has", "event: constructor\ndata: {}\n\n"],
  ])("is passed over when it is %s", (_what, block) => {
    expect(parseBlock(block)).toBeNull();
  });

  it("is read whatever its text holds", () => {
    for (const event of [...RECORDS.map((data) => ({ event: "record" as const, data })), SETTLED]) {
      expect(parseBlock(renderEvent(event))).toEqual({ event, retry: null });
    }
    expect(parseBlock(RECORDS.map(renderRecord)[0] ?? "")?.event).toMatchObject({
      event: "record",
      data: RECORDS[0],
    });
  });

  it("is the event that was sent, for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(), (text, retry) => {
        const event = {
          event: "delta" as const,
          data: {
            submissionId: RUN,
            turn: 1,
            attempt: 1,
            offset: 0,
            kind: "text" as const,
            text,
          },
        };
        expect(parseBlock(renderEvent(event, retry))).toEqual({ event, retry });
      }),
    );
  });

  it("that is not known stands in nobody's way", async () => {
    const { transport } = server(
      opens("closes", 'event: weather\nid: 99\ndata: {"sun":true}\n\n', renderEvent(SETTLED)),
    );
    expect(await readAll(transport)).toEqual({ events: [SETTLED], error: null });
  });
});

describe("[UX-06] a reader who leaves", () => {
  it("lets the connection go, and nothing is asked any more", async () => {
    const { transport, asked, connections } = server(opens("stays-open", STATE, STATE));
    for await (const { event } of followEvents(transport, { threadId: "t" }, POLICY, undefined)) {
      expect(event).toBe("state");
      break;
    }
    await vi.runAllTimersAsync();
    expect(asked).toHaveLength(1);
    // Letting go is told, and not waited for: this connection never hears of it.
    expect(connections[0]?.cancelled).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("with an error of its own keeps that", async () => {
    const { transport, connections } = server(
      () => new Connection([STATE], "stays-open", () => Promise.reject(new Error("too late"))),
    );
    const mine = new Error("mine");
    const outcome = await outcomeOf(
      (async () => {
        for await (const _ of followEvents(transport, { threadId: "t" }, POLICY, undefined)) {
          throw mine;
        }
      })(),
    );
    expect(outcome).toEqual({ error: mine });
    expect(connections[0]?.cancelled).toBe(true);
  });
});

describe("[UX-06] a reader who gives up", () => {
  /** Follows with a signal; `next` is the answer that is waited for. */
  function follow(transport: Transport) {
    const controller = new AbortController();
    const events = followEvents(transport, { threadId: "t" }, POLICY, controller.signal);
    return { controller, next: () => outcomeOf(events.next()) };
  }

  const reason = new Error("enough");

  it("while nothing comes is told its reason at once, and lets the connection go", async () => {
    const { transport, connections, asked } = server(opens("stays-open", STATE));
    const { controller, next } = follow(transport);
    expect(await next()).toMatchObject({ value: { done: false } });
    const waiting = next();
    await vi.advanceTimersByTimeAsync(40_000);
    controller.abort(reason);
    expect(await waiting).toEqual({ error: reason });
    expect(connections[0]?.cancelled).toBe(true);
    expect(await next()).toEqual({ value: { done: true, value: undefined } });
    expect(asked).toHaveLength(1);
  });

  it("between two connections is told its reason at once", async () => {
    const { transport, asked } = server(opens("closes", bye(15_000)));
    const { controller, next } = follow(transport);
    const waiting = next();
    await vi.advanceTimersByTimeAsync(5_000);
    controller.abort(reason);
    expect(await waiting).toEqual({ error: reason });
    expect(asked).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("while it looks at an event is told its reason with the next, whatever has come since", async () => {
    const { transport, connections } = server(opens("stays-open", STATE + STATE));
    const { controller, next } = follow(transport);
    await next();
    controller.abort(reason);
    expect(await next()).toEqual({ error: reason });
    expect(connections[0]?.cancelled).toBe(true);
  });

  it("in the moment in which a connection is handed over does not wait on it", async () => {
    const connection = new Connection([], "stays-open");
    const controller = new AbortController();
    const transport = transportOf(async () => {
      // Past the point where the transport still looks.
      controller.abort(reason);
      return connection;
    });
    const events = followEvents(transport, { threadId: "t" }, POLICY, controller.signal);
    expect(await outcomeOf(events.next())).toEqual({ error: reason });
    expect(connection.cancelled).toBe(true);
  });

  it("while a connection that fails is opened is told its reason, not the failure", async () => {
    const controller = new AbortController();
    const transport = transportOf(async () => {
      controller.abort(reason);
      throw new DOMException("aborted", "AbortError");
    });
    const events = followEvents(transport, { threadId: "t" }, POLICY, controller.signal);
    expect(await outcomeOf(events.next())).toEqual({ error: reason });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("after its end keeps the end", async () => {
    const { transport } = server(opens("closes", renderEvent(SETTLED)));
    const { controller, next } = follow(transport);
    expect(await next()).toEqual({ value: { done: false, value: SETTLED } });
    controller.abort(reason);
    expect(await next()).toEqual({ value: { done: true, value: undefined } });
  });

  it("leaves no listener on a signal that lives longer", async () => {
    const { transport } = server(
      opens("closes", STATE, bye(1)),
      opens("breaks", STATE),
      opens("closes", renderEvent(SETTLED)),
    );
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    await readAll(transport, { threadId: "t" }, signal);
    expect(add.mock.calls.length).toBeGreaterThan(0);
    expect(remove.mock.calls.map(([, listener]) => listener)).toEqual(
      add.mock.calls.map(([, listener]) => listener),
    );
  });
});
