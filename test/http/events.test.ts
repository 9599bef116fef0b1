// The event stream as a client over HTTP has it: its form, resuming from any point of it, many clients at once, and the loss of the object.
import { afterEach, describe, expect, it, vi } from "vitest";
import { must } from "../../shared/assert.ts";
import { RecordPageSchema } from "../../shared/wire/progress.ts";
import type { ThreadRecord } from "../../shared/wire/records.ts";
import { ProgressWaiters } from "../../durable-objects/thread/progress/progress-waiters.ts";
import {
  EventReader,
  lastIdOf,
  recordsOf,
  textOf,
  type Received,
} from "../support/event-reader.ts";
import { expectSound } from "../support/expect-sound.ts";
import type { PlannedTurn } from "../support/scripted-model.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { KEY_TEXT, keyOf, sendTo } from "./deployments.ts";
import { AUTHORIZATION, expectRefusal, fetchBare, send } from "./http-client.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

interface Asked {
  readonly query?: string;
  readonly lastEventId?: string | null;
}

function eventsPath({ threadId }: ThreadDriver, query = ""): string {
  return `/v1/threads/${threadId}/events${query}`;
}

function ask(thread: ThreadDriver, { query, lastEventId = null }: Asked = {}): Promise<Response> {
  return fetchBare(eventsPath(thread, query), {
    headers: {
      authorization: AUTHORIZATION,
      ...(lastEventId === null ? {} : { "last-event-id": lastEventId }),
    },
  });
}

async function follow(thread: ThreadDriver, asked: Asked = {}): Promise<EventReader> {
  const { status, body } = await ask(thread, asked);
  expect(status).toBe(200);
  return new EventReader(must(body, "a stream has a body"));
}

/** The whole log by the other route. */
async function readRecords({ threadId }: ThreadDriver): Promise<ThreadRecord[]> {
  const answer = await send(`/v1/threads/${threadId}/records?limit=256`);
  const { records, tail } = RecordPageSchema.parse(answer.json);
  expect(records).toHaveLength(tail);
  return records;
}

function isOf(submissionId: string) {
  return (record: ThreadRecord): boolean =>
    "submissionId" in record && record.submissionId === submissionId;
}

const isLastRecord = ({ event, data }: Received): boolean =>
  event === "record" && data.type === "SubmissionSettled";

/** A run of several turns, with text that streams, tools of every effect, and an approval. Its model waits at the first turn. */
async function longRun(thread: ThreadDriver, approvals = 1) {
  const gate = `${thread.threadId}-gate`;
  const pieces = ["Grüße ", "aus ", "der ", "Ferne 🌍 ", "\u2028: through 1\u2028"];
  const plan: PlannedTurn[] = [
    { gate, pieces, calls: [{ tool: "look" }, { tool: "act" }, { tool: "bump" }] },
    ...Array.from({ length: approvals }, () => ({
      pieces: ["asks"],
      calls: [{ tool: "guarded" }, { tool: "look", input: { behave: "throw" } }],
    })),
    { calls: [{ tool: "no_such_tool" }], text: "tries" },
    { pieces, text: "done" },
  ];
  const { receipt } = await thread.submit(plan);
  const { submissionId } = receipt;
  await thread.arrival(gate);
  return {
    submissionId,
    text: pieces.join(""),
    begin: () => thread.openGate(gate),
    /** Lets it go through, its approvals included. */
    finish: async () => {
      await thread.openGate(gate);
      for (let approval = 0; approval < approvals; approval += 1) {
        await thread.waitingFor(submissionId, "approval");
        const [operation] = await thread.operations();
        await thread.decide(operation?.operationId ?? "", "approve");
      }
      return thread.settlement(submissionId);
    },
  };
}

describe("the form", () => {
  it("[OBS-03] is that of server-sent events, which nobody on the way may keep or change", async () => {
    const thread = new ThreadDriver("http-events");
    const { receipt } = await thread.submit([{ text: "ok \u2028" }]);
    const { submissionId } = receipt;
    const settlement = await thread.settlement(submissionId);
    const response = await ask(thread, { query: `?submission=${submissionId}&after=3` });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store, no-transform",
      "x-content-type-options": "nosniff",
      "x-request-id": expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const [responded, settled] = (await readRecords(thread)).slice(3);
    // Every record has its id; nothing else has one, and what object and Worker say to each other is not for clients.
    expect(await response.text()).toBe(
      [
        `event: state\ndata: {"submissionId":"${submissionId}","state":"settled"}\n\n`,
        `event: record\nid: 4\ndata: ${JSON.stringify(responded)}\n\n`,
        `event: record\nid: 5\ndata: ${JSON.stringify(settled)}\n\n`,
        `event: settled\ndata: ${JSON.stringify({ submissionId, settlement })}\n\n`,
      ].join(""),
    );
  });

  it("[OBS-03] leaves deltas out where they are not wanted", async () => {
    const thread = new ThreadDriver("http-events");
    const { submissionId, finish } = await longRun(thread);
    const [withText, without] = await Promise.all(
      ["", "&deltas=false"].map((more) =>
        follow(thread, { query: `?submission=${submissionId}${more}` }),
      ),
    );
    await finish();
    const names = async (reader: EventReader | undefined) =>
      new Set((await reader?.rest())?.map(({ event }) => event));
    expect(await names(without)).toEqual(new Set(["state", "record", "settled"]));
    const all = await names(withText);
    expect(all.has("delta") || all.has("resync")).toBe(true);
  });

  it("[OBS-03] answers HEAD at once, without a stream", async () => {
    const thread = new ThreadDriver("http-events");
    await thread.run([{ calls: [{ tool: "look" }] }, { text: "ok" }]);
    const answer = await send(eventsPath(thread), { method: "HEAD" });
    expect([answer.status, answer.text]).toEqual([200, ""]);
    expect(answer.headers.get("content-type")).toContain("text/event-stream");
  });
});

describe("resuming", () => {
  it("[OBS-03] goes by Last-Event-ID, which wins over after", async () => {
    const thread = new ThreadDriver("http-events");
    const { receipt } = await thread.submit([{ text: "ok" }]);
    await thread.settlement(receipt.submissionId);
    const sequences = async (query: string, lastEventId: string | null) => {
      const reader = await follow(thread, {
        query: `?submission=${receipt.submissionId}${query}`,
        lastEventId,
      });
      return recordsOf(await reader.rest()).map(({ sequence }) => sequence);
    };
    expect(await sequences("", null)).toEqual([2, 3, 4, 5]);
    expect(await sequences("&after=3", null)).toEqual([4, 5]);
    expect(await sequences("", "4")).toEqual([5]);
    expect(await sequences("&after=2", "4")).toEqual([5]);
    expect(await sequences("&after=4", "2")).toEqual([3, 4, 5]);
    expect(await sequences("&after=4", "0")).toEqual([2, 3, 4, 5]);
    expect(await sequences("", "5")).toEqual([]);
  });

  it("[OBS-03] after every single event of a stream continues it without a gap or a duplicate", async () => {
    const thread = new ThreadDriver("http-events");
    await thread.run([{ text: "before" }]);
    const { submissionId, finish } = await longRun(thread);
    const query = `?submission=${submissionId}`;
    const live = await follow(thread, { query });
    await finish();
    const whole = await live.rest();
    const records = (await readRecords(thread)).filter(isOf(submissionId));
    expect(recordsOf(whole)).toEqual(records);
    expect(whole.at(-1)?.event).toBe("settled");
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const read = whole.slice(0, cut);
      const resumed = await follow(thread, { query, lastEventId: lastIdOf(read) });
      const others = await resumed.rest();
      expect(recordsOf([...read, ...others])).toEqual(records);
      expect(others.at(-1)).toEqual(whole.at(-1));
    }
    await expectSound(thread);
  });

  it("[OBS-03] does so too while the run goes on, wherever the connection breaks", async () => {
    const thread = new ThreadDriver("http-events");
    const { submissionId, text, finish } = await longRun(thread, 2);
    const query = `?submission=${submissionId}`;
    const clients = Array.from({ length: 50 }, async (_none, cut) => {
      const events: Received[] = [];
      const first = await follow(thread, { query });
      for (let read = 0; read < cut; read += 1) {
        const event = await first.next();
        if (event === null) break;
        events.push(event);
      }
      await first.cancel();
      const second = await follow(thread, { query, lastEventId: lastIdOf(events) });
      events.push(...(await second.rest()));
      return events;
    });
    await finish();
    const records = (await readRecords(thread)).filter(isOf(submissionId));
    const seen = await Promise.all(clients);
    expect(seen.map((events) => recordsOf(events))).toEqual(seen.map(() => records));
    for (const events of seen) expect(text.startsWith(textOf(events, 1))).toBe(true);
    await expectSound(thread);
  });

  it("[OBS-03] of the whole thread, from each record on, is what the pages hold", async () => {
    const thread = new ThreadDriver("http-events");
    await thread.run([{ calls: [{ tool: "look" }] }, { text: "first" }]);
    await thread.run([{ text: "second" }]);
    const records = await readRecords(thread);
    for (const [from] of records.entries()) {
      const reader = await follow(thread, { lastEventId: String(from) });
      const events = await reader.until(
        (event) => event.event === "record" && event.data.sequence === records.length,
      );
      await reader.cancel();
      expect(recordsOf(events)).toEqual(records.slice(from));
    }
  });

  it("[OBS-03] past the log's end is told as a gap, and the stream ends", async () => {
    const thread = new ThreadDriver("http-events");
    await thread.run([{ text: "ok" }]);
    const reader = await follow(thread, { lastEventId: "6" });
    expect((await reader.rest()).map(({ event, data }) => ({ event, data }))).toEqual([
      { event: "gap", data: { after: 6, tail: 5, reason: "past-the-end" } },
    ]);
  });
});

describe("an idle thread", () => {
  it("[OBS-03] is followed on into its next run, in one connection", async () => {
    const thread = new ThreadDriver("http-events");
    await thread.run([{ text: "first" }]);
    const reader = await follow(thread);
    const events = await reader.until(isLastRecord);
    for (const text of ["second", "third"]) {
      await thread.run([{ text }]);
      events.push(...(await reader.until(isLastRecord)));
    }
    await reader.cancel();
    expect(recordsOf(events)).toEqual(await readRecords(thread));
    expect(reader.comments).toEqual([]);
  });

  it("[OBS-03, OBS-07] has its wait cancelled as soon as the client leaves", async () => {
    const thread = new ThreadDriver("http-events");
    await thread.run([{ text: "ok" }]);
    await thread.quiet();
    const waits = vi.spyOn(ProgressWaiters.prototype, "waitFor");
    const cancellations = vi.spyOn(ProgressWaiters.prototype, "cancel");
    const reader = await follow(thread);
    await reader.until(isLastRecord);
    await vi.waitUntil(() => waits.mock.calls.length > 0);
    const waitId = waits.mock.calls[0]?.[1];
    expect(waitId).toMatch(/^[0-9a-f-]{36}$/);
    const startedAt = performance.now();
    await reader.cancel();
    await vi.waitUntil(() => cancellations.mock.results.length > 0);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(cancellations.mock.calls).toEqual([[waitId]]);
    // The wait was there, and ended by this.
    expect(cancellations.mock.results).toMatchObject([{ type: "return", value: true }]);
  });
});

describe("many clients", () => {
  it("[OBS-03] each get the same complete sequence while the run is under way", async () => {
    const thread = new ThreadDriver("http-events");
    const { submissionId, text, begin, finish } = await longRun(thread);
    const readers = await Promise.all(Array.from({ length: 300 }, () => follow(thread)));
    const streams = readers.map(async (reader) => {
      const events = await reader.until(isLastRecord);
      await reader.cancel();
      return events;
    });
    await begin();
    await finish();
    const records = await readRecords(thread);
    expect(records.at(-1)).toMatchObject({ type: "SubmissionSettled", submissionId });
    const seen = await Promise.all(streams);
    expect(seen).toHaveLength(300);
    for (const events of seen) {
      expect(recordsOf(events)).toEqual(records);
      expect(text.startsWith(textOf(events, 1))).toBe(true);
    }
    await expectSound(thread);
  });
});

describe("the loss of the object", () => {
  it("[OBS-03, REC-03] in mid-stream is told as bye, and resuming completes the sequence", async () => {
    const thread = new ThreadDriver("http-events");
    const gate = `${thread.threadId}-piece`;
    const { receipt } = await thread.submit([
      { calls: [{ tool: "look" }] },
      { pieces: ["half ", "way "], pieceGate: gate, text: "there" },
    ]);
    const query = `?submission=${receipt.submissionId}`;
    await thread.arrival(`${gate}-1`);
    const first = await follow(thread, { query });
    const events = await first.until(({ event }) => event === "resync");
    await thread.crash();
    const end = await first.rest();
    expect(end).toEqual([
      { event: "bye", data: { reason: "interrupted" }, id: null, retry: "1000" },
    ]);
    // The client may well be there before anything of the run is.
    const second = await follow(thread, { query, lastEventId: lastIdOf(events) });
    const fired = thread.fireAlarm();
    await thread.arrival(`${gate}-1`);
    events.push(...(await second.until(({ event }) => event === "delta" || event === "resync")));
    expect(events.at(-1)).toMatchObject({
      data: { turn: 2, attempt: 2, offset: 0, text: "half " },
    });
    await thread.openGate(`${gate}-1`, `${gate}-2`);
    await fired;
    events.push(...(await second.rest()));
    expect(events.at(-1)).toMatchObject({
      event: "settled",
      data: { settlement: { outcome: "completed", output: "half way there" } },
    });
    const records = await readRecords(thread);
    expect(recordsOf(events)).toEqual(records.filter(isOf(receipt.submissionId)));
    expect(records.map(({ type }) => type)).toContain("ModelInterrupted");
    await expectSound(thread);
  });

  it("[OBS-03] during the wait of an idle thread is told the same way", async () => {
    const thread = new ThreadDriver("http-events");
    const { submissionId, begin, finish } = await longRun(thread);
    await begin();
    await thread.waitingFor(submissionId, "approval");
    await thread.quiet();
    const waits = vi.spyOn(ProgressWaiters.prototype, "waitFor");
    const first = await follow(thread, { query: `?submission=${submissionId}` });
    const reading = first.rest();
    await vi.waitUntil(() => waits.mock.calls.length > 0);
    await thread.crash();
    const events = await reading;
    expect(events.at(-1)).toMatchObject({
      event: "bye",
      data: { reason: "interrupted" },
      retry: "1000",
    });
    const second = await follow(thread, {
      query: `?submission=${submissionId}`,
      lastEventId: lastIdOf(events),
    });
    await finish();
    events.push(...(await second.rest()));
    expect(recordsOf(events)).toEqual((await readRecords(thread)).filter(isOf(submissionId)));
    expect(events.at(-1)?.event).toBe("settled");
    await expectSound(thread);
  });
});

describe("what is refused before the first event", () => {
  it("[OBS-03, UX-04] is a cursor that is not one, in the header or in the query", async () => {
    const thread = new ThreadDriver("http-events");
    await thread.run([{ text: "ok" }]);
    for (const cursor of ["abc", "-1", "1.5", "0x1", "1e3", "9".repeat(16), "4, 5", "٣"]) {
      const query = `?after=${encodeURIComponent(cursor)}`;
      const inQuery = await send(eventsPath(thread, query));
      expect(expectRefusal(inQuery, 400, "InvalidCursor").detail).toContain("id");
    }
    for (const cursor of ["abc", "-1", "1.5", "0x1", "9".repeat(16), "4, 5"]) {
      const inHeader = await send(eventsPath(thread), { headers: { "last-event-id": cursor } });
      expectRefusal(inHeader, 400, "InvalidCursor");
    }
    expectRefusal(await send(eventsPath(thread, "?after=")), 400, "InvalidCursor");
  });

  it("[OBS-03, UX-05] is a query that the route does not have", async () => {
    const thread = new ThreadDriver("http-events");
    await thread.run([{ text: "ok" }]);
    for (const [query, pointer] of [
      ["?deltas=maybe", "/deltas"],
      ["?deltas=", "/deltas"],
      ["?submission=", "/submission"],
      ["?submission=a%20b", "/submission"],
      [`?submission=${"x".repeat(257)}`, "/submission"],
    ]) {
      const { errors } = expectRefusal(
        await send(eventsPath(thread, query)),
        400,
        "MalformedRequest",
      );
      expect(errors?.[0]?.pointer).toBe(pointer);
    }
    expectRefusal(await send(eventsPath(thread, "?limit=3")), 400, "MalformedRequest");
  });

  it("[OBS-03, UX-04] is a thread that there is not, or a submission of another", async () => {
    const thread = new ThreadDriver("http-events");
    expectRefusal(await send(eventsPath(thread)), 404, "ThreadNotFound");
    await thread.run([{ text: "ok" }]);
    const foreign = await new ThreadDriver("http-events").submit([{ text: "ok" }]);
    for (const id of ["nothing", foreign.receipt.submissionId]) {
      const answer = await send(eventsPath(thread, `?submission=${id}`));
      expectRefusal(answer, 404, "SubmissionNotFound");
    }
  });

  it("[OBS-03, SEC-05] is a caller who may not read threads", async () => {
    const thread = new ThreadDriver("http-events");
    await thread.run([{ text: "ok" }]);
    const sent = { headers: { authorization: `Bearer ${KEY_TEXT}` } };
    const keys = [keyOf(["threads:write", "threads:approve", "threads:operate"])];
    const problem = expectRefusal(
      await sendTo({ keys }, eventsPath(thread), sent),
      403,
      "PermissionMissing",
    );
    expect(problem).toMatchObject({ permission: "threads:read" });
  });
});
