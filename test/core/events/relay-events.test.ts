// The Worker's relay of a thread's events over an object that is played by a script: what it passes on, when it waits, how it ends. The
// machine's timers are held, so that its real times are met to the millisecond.
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import { renderEvent, renderRecord, renderThrough } from "../../../shared/wire/events.ts";
import { NO_RUN_USAGE } from "../../../shared/wire/usage.ts";
import {
  EVENT_TIMING,
  relayEvents,
  type EventSource,
} from "../../../worker/events/relay-events.ts";
import { input, log, responded, started, SUBMISSION } from "../support/builders.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});

afterEach(() => {
  vi.useRealTimers();
});

/** What the object answers to one `watch`: these bytes, and then this. */
interface Look {
  readonly bytes: readonly Uint8Array[];
  readonly end: "ends" | "stays-open" | "breaks";
}

/** What it answers to one wait: the log's tail then; `timeout` when nothing comes, `late` when the script answers by hand. */
type WaitAnswer = number | "timeout" | "late" | Error;

/** The object, by script. It fails the test by refusing when more is asked of it than the script has. */
class ScriptedObject implements EventSource {
  readonly watched: number[] = [];
  readonly waits: Parameters<EventSource["awaitProgress"]>[0][] = [];
  readonly cancelledWaits: string[] = [];
  cancelledStreams = 0;
  pulls = 0;
  readonly #looks: (Look | Error | Promise<Look>)[];
  readonly #answers: WaitAnswer[];
  readonly #late = Promise.withResolvers<{ tail: number }>();

  constructor(
    looks: readonly (Look | Error | Promise<Look>)[],
    answers: readonly WaitAnswer[] = [],
  ) {
    this.#looks = [...looks];
    this.#answers = [...answers];
  }

  async watch(after: number): Promise<ReadableStream<Uint8Array>> {
    this.watched.push(after);
    const look = await (this.#looks.shift() ?? new Error("watched once too often"));
    if (look instanceof Error) throw look;
    return this.#streamOf(look);
  }

  async awaitProgress(wait: (typeof this.waits)[number]): Promise<{ tail: number }> {
    this.waits.push(wait);
    const answer = this.#answers.shift() ?? new Error("waited once too often");
    if (answer instanceof Error) throw answer;
    if (answer === "late") return this.#late.promise;
    if (typeof answer === "number") return { tail: answer };
    const { promise, resolve } = Promise.withResolvers<{ tail: number }>();
    setTimeout(() => resolve({ tail: wait.after }), wait.timeoutMillis);
    return promise;
  }

  async cancelWait(waitId: string): Promise<void> {
    this.cancelledWaits.push(waitId);
  }

  /** Answers the wait that is `late`. */
  answerWait(answer: number | Error): void {
    if (answer instanceof Error) this.#late.reject(answer);
    else this.#late.resolve({ tail: answer });
  }

  #streamOf({ bytes, end }: Look): ReadableStream<Uint8Array> {
    let next = 0;
    return new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          this.pulls += 1;
          const chunk = bytes[next];
          next += 1;
          if (chunk !== undefined) return controller.enqueue(chunk);
          if (end === "ends") return controller.close();
          if (end === "breaks") return controller.error(new Error("Network connection lost."));
          return Promise.withResolvers<void>().promise;
        },
        cancel: () => {
          this.cancelledStreams += 1;
        },
      },
      { highWaterMark: 0 },
    );
  }
}

const encoder = new TextEncoder();

function look(text: string, end: Look["end"] = "ends"): Look {
  return { bytes: text === "" ? [] : [encoder.encode(text)], end };
}

/** Reads everything, and notes when it came. */
class Client {
  readonly received: (readonly [atMillis: number, text: string])[] = [];
  hasEnded = false;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
    void this.#readOn();
  }

  get text(): string {
    return this.received.map(([, text]) => text).join("");
  }

  leave(): Promise<void> {
    return this.#reader.cancel();
  }

  async #readOn(): Promise<void> {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) break;
      this.received.push([Date.now(), decoder.decode(value)]);
    }
    this.hasEnded = true;
  }
}

async function connect(object: EventSource, after?: number): Promise<Client> {
  const client = new Client(await relayEvents({ after }, object));
  await settle();
  return client;
}

/** Lets everything happen that needs no time to pass. */
async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

async function pass(millis: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(millis);
}

const records = log([input(), started(), responded(1, { text: "Grüße 🌍" })]).map(({ record }) =>
  renderRecord(record),
);
const [first = "", second = "", third = ""] = records;

const KEEP_ALIVE = ": keep-alive\n\n";
const IDLE_BYE = 'event: bye\nretry: 60000\ndata: {"reason":"idle"}\n\n';
const INTERRUPTED_BYE = 'event: bye\nretry: 1000\ndata: {"reason":"interrupted"}\n\n';

function state(queueDepth: number): string {
  return renderEvent({
    event: "state",
    data: { threadId: "t", state: "running", queueDepth, attention: [] },
  });
}

function delta(text: string, offset = 0): string {
  const data = {
    submissionId: SUBMISSION,
    turn: 1,
    attempt: 1,
    kind: "text" as const,
    offset,
    text,
  };
  return renderEvent({ event: "delta", data });
}

const settled = renderEvent({
  event: "settled",
  data: {
    submissionId: SUBMISSION,
    settlement: {
      outcome: "completed",
      output: "ok",
      finishReason: "stop",
      usage: NO_RUN_USAGE,
      settledAt: "2026-11-01T12:00:00.000Z",
      sequence: 3,
    },
  },
});

const gap = renderEvent({ event: "gap", data: { after: 9, tail: 3, reason: "past-the-end" } });

/** Text as models and people write it, and as somebody would who knows the protocol. */
const textArb = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "\n\n",
        "\r\r",
        "\ufeff",
        "\ud83d",
        "\u2028: through 99\u2028",
        "\u2029id: 99\u2029",
        "\u2028event: settled\u2028",
        "\r: through 99\r",
      ),
    ),
    { maxLength: 4 },
  )
  .map((parts) => parts.join(""));

const blockArb = fc.oneof(
  textArb.map((text) => delta(text)),
  textArb.map((text) => renderRecord({ ...recordOf(text) })),
  fc.nat({ max: 2 }).map(state),
  fc.nat({ max: 50 }).map(renderThrough),
);

function recordOf(text: string) {
  const [record] = log([responded(1, { text })], 7);
  if (record === undefined) throw new Error("no record");
  return record.record;
}

function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted(
    (left, right) => left - right,
  );
  return [0, ...cuts].map((from, index) => bytes.slice(from, cuts[index] ?? bytes.length));
}

describe("what is passed on", () => {
  it("[OBS-03] is every event as it was sent, however its bytes are cut, without what is not for clients", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(blockArb, { maxLength: 8 }),
        fc.array(fc.nat({ max: 10_000 }), { maxLength: 12 }),
        async (blocks, places) => {
          const bytes = cutAt(encoder.encode([...blocks, settled].join("")), places);
          const client = await connect(new ScriptedObject([{ bytes, end: "ends" }]));
          let known = "";
          const expected = blocks.filter((block) => {
            if (block.startsWith(": through")) return false;
            if (!block.startsWith("event: state")) return true;
            const isNews = block !== known;
            known = block;
            return isNews;
          });
          expect(client.text).toBe([...expected, settled].join(""));
          expect(client.hasEnded).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("[OBS-03] arrives one event at a time, before the next is there", async () => {
    const bytes = [first, second.slice(0, 20)].map((text) => encoder.encode(text));
    const client = await connect(new ScriptedObject([{ bytes, end: "stays-open" }]));
    expect(client.received).toEqual([[0, first]]);
  });

  it("[OBS-03] is taken for nothing but what it is, whatever its text imitates", async () => {
    const [hostile] = log([responded(1, { text: "\u2028: through 99\u2028id: 98\u2028" })], 3);
    if (hostile === undefined) throw new Error("no record");
    const text = renderRecord(hostile.record);
    const lies = delta("\u2028id: 97\u2028event: settled\u2028retry: 1\u2028");
    const object = new ScriptedObject([look(text + lies), look("", "stays-open")], [4]);
    const client = await connect(object);
    expect(client.text).toBe(text + lies);
    // It goes on behind the record, not behind what the text said.
    expect(object.waits).toMatchObject([{ after: 3 }]);
    expect(object.watched).toEqual([0, 3]);
  });

  it("[OBS-03] leaves out a state that is known, over several looks at the object", async () => {
    const object = new ScriptedObject(
      [look(state(1) + first), look(state(1) + second), look(state(0) + third, "stays-open")],
      [2, 3],
    );
    const client = await connect(object);
    expect(client.text).toBe(state(1) + first + second + state(0) + third);
  });

  it("[OBS-03] holds a state again that came back", async () => {
    const client = await connect(
      new ScriptedObject([look(state(1) + state(2) + state(2) + state(1), "stays-open")]),
    );
    expect(client.text).toBe(state(1) + state(2) + state(1));
  });

  it("[OBS-03] has no broken event: what was cut off is asked for again", async () => {
    const object = new ScriptedObject(
      [look(first + second.slice(0, -1)), look(second, "stays-open")],
      [2],
    );
    const client = await connect(object);
    expect(client.text).toBe(first + second);
    expect(object.watched).toEqual([0, 1]);
  });

  it("is not read ahead for a client that does not read", async () => {
    const bytes = Array.from({ length: 1_000 }, () => encoder.encode(first));
    const object = new ScriptedObject([{ bytes, end: "ends" }]);
    const stream = await relayEvents({}, object);
    await settle();
    expect(object.pulls).toBeLessThanOrEqual(2);
    await stream.cancel();
    expect(object.cancelledStreams).toBe(1);
  });

  it("asks from the client's cursor on, and throws what the object refuses, before any event", async () => {
    const refusal = new HoldfastError("ThreadNotFound", "no such thread");
    const object = new ScriptedObject([refusal]);
    await expect(relayEvents({ after: 7 }, object)).rejects.toBe(refusal);
    expect(object).toMatchObject({ watched: [7], waits: [] });
  });
});

describe("keep-alive comments", () => {
  it("[OBS-03] go out after every 15 seconds of silence, and not before", async () => {
    const client = await connect(new ScriptedObject([look(first, "stays-open")]));
    await pass(14_999);
    expect(client.received).toEqual([[0, first]]);
    await pass(30_001);
    expect(client.received.slice(1)).toEqual([
      [15_000, KEEP_ALIVE],
      [30_000, KEEP_ALIVE],
      [45_000, KEEP_ALIVE],
    ]);
  });

  it("[OBS-03] begin anew with every event", async () => {
    const { promise, resolve } = Promise.withResolvers<Look>();
    const object = new ScriptedObject([look(first), promise], ["late"]);
    const client = await connect(object);
    await pass(10_000);
    object.answerWait(2);
    resolve(look(second, "stays-open"));
    await pass(14_999);
    expect(client.received).toEqual([
      [0, first],
      [10_000, second],
    ]);
    await pass(1);
    expect(client.received.at(-1)).toEqual([25_000, KEEP_ALIVE]);
  });

  it("[OBS-03] come in time also when the object answers and has nothing for the client", async () => {
    const looks = Array.from({ length: 30 }, (_none, index) =>
      look(state(1) + renderThrough(index)),
    );
    // Somebody else's records: every ten seconds the log grew, and none of it concerns this client.
    class BusyWithOthers extends ScriptedObject {
      override async awaitProgress(wait: (typeof this.waits)[number]): Promise<{ tail: number }> {
        this.waits.push(wait);
        const { promise, resolve } = Promise.withResolvers<{ tail: number }>();
        setTimeout(() => resolve({ tail: wait.after + 1 }), 10_000);
        return promise;
      }
    }
    const object = new BusyWithOthers(looks);
    const client = await connect(object);
    await pass(60_000);
    expect(client.received).toEqual([
      [0, state(1)],
      [15_000, KEEP_ALIVE],
      [30_000, KEEP_ALIVE],
      [45_000, KEEP_ALIVE],
      [60_000, KEEP_ALIVE],
    ]);
    await client.leave();
  });
});

describe("a thread on which nothing runs", () => {
  it("[OBS-03] is asked by one wait of a minute, and then the client is told when to come back", async () => {
    const object = new ScriptedObject([look(state(0) + first + renderThrough(1))], ["timeout"]);
    const client = await connect(object);
    expect(object.waits).toEqual([
      { after: 1, timeoutMillis: 60_000, waitId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    ]);
    await pass(59_999);
    expect(client.hasEnded).toBe(false);
    await pass(1);
    expect(client.received).toEqual([
      [0, state(0)],
      [0, first],
      [15_000, KEEP_ALIVE],
      [30_000, KEEP_ALIVE],
      [45_000, KEEP_ALIVE],
      [60_000, IDLE_BYE],
    ]);
    expect(client.hasEnded).toBe(true);
    expect(object).toMatchObject({ watched: [0], cancelledWaits: [] });
    expect(object.waits).toHaveLength(1);
  });

  it("[OBS-03] is watched again from the last id as soon as its log grows", async () => {
    const object = new ScriptedObject([look(first), look(second), look(third)], [2, 3, "timeout"]);
    const client = await connect(object);
    expect(client.text).toBe(first + second + third);
    expect(object.watched).toEqual([0, 1, 2]);
    expect(object.waits.map(({ after }) => after)).toEqual([1, 2, 3]);
    expect(new Set(object.waits.map(({ waitId }) => waitId)).size).toBe(3);
  });

  it("[OBS-03] is not asked over and over about records that are not for this client", async () => {
    const object = new ScriptedObject(
      [look(first + renderThrough(7)), look(renderThrough(9))],
      [9, "timeout"],
    );
    const client = await connect(object);
    // The client resumes behind what it saw; the wait is for what nobody looked at yet.
    expect(object.watched).toEqual([0, 1]);
    expect(object.waits.map(({ after }) => after)).toEqual([7, 9]);
    await pass(60_000);
    expect(client.received.at(-1)?.[1]).toBe(IDLE_BYE);
    expect(object.waits).toHaveLength(2);
  });

  it("[OBS-03] keeps its minute for one who came with a cursor and is sent nothing", async () => {
    const object = new ScriptedObject([look(renderThrough(5))], ["timeout"]);
    const client = await connect(object, 5);
    expect(object.waits).toMatchObject([{ after: 5 }]);
    await pass(60_000);
    expect(client.text).toBe(KEEP_ALIVE.repeat(3) + IDLE_BYE);
  });
});

describe("the end", () => {
  it.each([
    ["a settlement", settled],
    ["a gap", gap],
  ])("[OBS-03] comes with %s, without a bye, and nothing more is asked", async (_what, last) => {
    const object = new ScriptedObject([look(first + last + second, "stays-open")]);
    const client = await connect(object);
    expect(client.text).toBe(first + last);
    expect(client.hasEnded).toBe(true);
    expect(object.waits).toEqual([]);
    // The object's stream is let go, although it had more to say.
    expect(object.cancelledStreams).toBe(1);
  });

  it("[OBS-03] comes as bye with an early retry when the object's stream breaks", async () => {
    const object = new ScriptedObject([look(first, "breaks")]);
    const client = await connect(object);
    expect(client.text).toBe(first + INTERRUPTED_BYE);
    expect(client.hasEnded).toBe(true);
    expect(object.waits).toEqual([]);
  });

  it("[OBS-03] comes so when the object is lost during the wait", async () => {
    const object = new ScriptedObject([look(first)], ["late"]);
    const client = await connect(object);
    await pass(20_000);
    object.answerWait(new Error("Network connection lost."));
    await settle();
    expect(client.received).toEqual([
      [0, first],
      [15_000, KEEP_ALIVE],
      [20_000, INTERRUPTED_BYE],
    ]);
    expect(client.hasEnded).toBe(true);
  });

  it("[OBS-03] comes so when the object refuses to be watched again", async () => {
    const refusal = new HoldfastError("ThreadNotFound", "no such thread");
    const client = await connect(new ScriptedObject([look(first), refusal], [2]));
    expect(client.text).toBe(first + INTERRUPTED_BYE);
    expect(client.hasEnded).toBe(true);
  });
});

describe("a client that leaves", () => {
  it("[OBS-03, OBS-07] ends the wait that was asked for it, at once", async () => {
    const object = new ScriptedObject([look(first)], ["late"]);
    const client = await connect(object);
    const [wait] = object.waits;
    await client.leave();
    expect(object.cancelledWaits).toEqual([wait?.waitId]);
    // What the wait answers now is nobody's business.
    object.answerWait(new Error("Network connection lost."));
    await pass(120_000);
    expect(object).toMatchObject({ watched: [0], cancelledWaits: [wait?.waitId] });
    expect(client.text).toBe(first);
  });

  it("[OBS-07] is gone although the cancellation fails, or is never answered", async () => {
    class Deaf extends ScriptedObject {
      readonly #answer: () => Promise<void>;

      constructor(answer: () => Promise<void>) {
        super([look(first)], ["late"]);
        this.#answer = answer;
      }

      override async cancelWait(waitId: string): Promise<void> {
        await super.cancelWait(waitId);
        await this.#answer();
      }
    }
    for (const answer of [
      () => Promise.reject(new Error("Network connection lost.")),
      () => Promise.withResolvers<void>().promise,
    ]) {
      const object = new Deaf(answer);
      const client = await connect(object);
      await expect(client.leave()).resolves.toBeUndefined();
      await settle();
      expect(object.cancelledWaits).toHaveLength(1);
    }
  });

  it("[OBS-03, OBS-07] between two keep-alives ends the wait as well, whoever reads no more", async () => {
    const object = new ScriptedObject([look("")], ["late"]);
    const stream = await relayEvents({}, object);
    await pass(15_000);
    // One comment is ready, and nobody takes it.
    await stream.cancel();
    await settle();
    expect(object.cancelledWaits).toEqual([object.waits[0]?.waitId]);
  });

  it("[OBS-03] lets the object's stream go", async () => {
    const object = new ScriptedObject([look(first, "stays-open")]);
    const client = await connect(object);
    await client.leave();
    expect(object).toMatchObject({ cancelledStreams: 1, cancelledWaits: [] });
    await pass(120_000);
    expect(object).toMatchObject({ watched: [0], waits: [] });
  });

  it("[OBS-03] lets go of a stream that was asked for before and comes after", async () => {
    const { promise, resolve } = Promise.withResolvers<Look>();
    const object = new ScriptedObject([look(first), promise], [2]);
    const client = await connect(object);
    expect(object.watched).toEqual([0, 1]);
    await client.leave();
    resolve(look(second, "stays-open"));
    await settle();
    expect(object).toMatchObject({ cancelledStreams: 1, pulls: 2 });
  });

  it("[OBS-03] never hears of a stream that breaks while it is let go", async () => {
    const object = new ScriptedObject([look(first, "stays-open")]);
    const failing: EventSource = {
      watch: async (after) => {
        await object.watch(after);
        return new ReadableStream({ cancel: () => Promise.reject(new Error("lost")) });
      },
      awaitProgress: (wait) => object.awaitProgress(wait),
      cancelWait: (waitId) => object.cancelWait(waitId),
    };
    const client = await connect(failing);
    await expect(client.leave()).resolves.toBeUndefined();
  });

  it("[OBS-03] may leave at any moment: whatever was asked for it has ended, and nothing is asked any more", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 70_000 }), fc.nat({ max: 40 }), async (millis, ticks) => {
        const object = new ScriptedObject(
          [look(state(1) + first), look(second + third), look(renderThrough(3))],
          [2, "timeout"],
        );
        const client = await connect(object);
        await pass(millis);
        for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
        const asked = [object.watched.length, object.waits.length];
        const isOver = client.hasEnded;
        await client.leave();
        await settle();
        await pass(120_000);
        expect([object.watched.length, object.waits.length]).toEqual(asked);
        expect(object.cancelledWaits).toEqual(isOver ? [] : [object.waits.at(-1)?.waitId]);
      }),
      { numRuns: 50 },
    );
  });
});

it("[OBS-03] keeps the times that the surface promises", () => {
  expect(EVENT_TIMING).toEqual({
    heartbeatMillis: 15_000,
    idleMillis: 60_000,
    idleRetryMillis: 60_000,
    interruptedRetryMillis: 1_000,
  });
});
