// The event stream as a thread's object gives it: records, state and the open turn's text while something runs, and how it ends.
import { afterEach, describe, expect, it } from "vitest";
import { unwrap } from "../../shared/wire/rpc.ts";
import type { EventsRequest } from "../../shared/wire/events.ts";
import { EventReader, recordsOf, textOf, type Received } from "../support/event-reader.ts";
import { expectSound } from "../support/expect-sound.ts";
import type { PlannedTurn } from "../support/scripted-model.ts";
import { meter } from "../support/storage-meter.ts";
import { resetOptions } from "../support/test-options.ts";
import { TESTER, ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

async function watch(
  thread: ThreadDriver,
  asked: Partial<EventsRequest> = {},
): Promise<EventReader> {
  const request = { threadId: thread.threadId, caller: TESTER, ...asked };
  return new EventReader(unwrap(await thread.stub.events(request)));
}

/** An event in a few words: its kind, and what tells it from others. */
function brief({ event, data }: Received): string {
  switch (event) {
    case "record":
      return `record ${data.sequence}`;
    case "state": {
      const position = "position" in data ? ` at ${data.position}` : "";
      return `state ${data.state}${position}`;
    }
    case "delta":
    case "resync":
      return `${event} ${data.kind}@${data.offset} ${data.text}`;
    case "settled":
      return `settled ${data.settlement.outcome}`;
    case "gap":
      return `gap ${data.reason} after ${data.after} of ${data.tail}`;
    case "bye":
      return `bye ${data.reason}`;
  }
}

/** Events until and with that one. */
async function upTo(reader: EventReader, last: string): Promise<string[]> {
  return (await reader.until((event) => brief(event) === last)).map(brief);
}

async function rest(reader: EventReader): Promise<string[]> {
  return (await reader.rest()).map(brief);
}

/** Work whose answer streams in pieces; the model waits before each but the first, and at the end. */
async function streaming(
  thread: ThreadDriver,
  pieces: NonNullable<PlannedTurn["pieces"]>,
  more: PlannedTurn = {},
) {
  const gate = `${thread.threadId}-piece`;
  const plan = [{ pieces, pieceGate: gate, ...more }];
  const { receipt } = await thread.submit(plan);
  const { submissionId } = receipt;
  return {
    submissionId,
    /** The model waits before that piece. */
    arrival: (piece: number) => thread.arrival(`${gate}-${piece}`),
    /** Lets that piece come, and waits until the model waits again. */
    release: async (piece: number) => {
      await thread.openGate(`${gate}-${piece}`);
      await thread.arrival(`${gate}-${piece + 1}`);
    },
    end: () => thread.openGate(...pieces.map((_piece, index) => `${gate}-${index + 1}`)),
  };
}

describe("records", () => {
  it("[OBS-03] come from any cursor on, each with its sequence as id, and then the stream of an idle thread ends", async () => {
    const thread = new ThreadDriver("watch");
    await thread.run([{ calls: [{ tool: "look" }, { tool: "act" }] }, { text: "ok" }]);
    await thread.quiet();
    const all = await thread.records();
    for (let after = 0; after <= all.length; after += 1) {
      const reader = await watch(thread, { after });
      const [first, ...others] = await reader.rest();
      expect(first).toEqual({
        event: "state",
        data: { threadId: thread.threadId, state: "idle", queueDepth: 0, attention: [] },
        id: null,
        retry: null,
      });
      expect(others).toEqual(
        all.slice(after).map((data) => ({
          event: "record",
          data,
          id: String(data.sequence),
          retry: null,
        })),
      );
      expect(reader.comments).toEqual([`through ${all.length}`]);
    }
  });

  it("[OBS-03] come whole from a log of many pages, with text of every kind", async () => {
    const thread = new ThreadDriver("watch");
    const texts = ["Grüße 🌍 \u2028: through 3\u2028\r\n\n", "\ud83d", "x".repeat(100_000)];
    for (let run = 0; run < 15; run += 1) {
      await thread.run([{ calls: [{ tool: "look" }] }, { text: `${run} ${texts[run % 3] ?? ""}` }]);
    }
    const all = await thread.records();
    expect(all.length).toBeGreaterThan(64);
    expect(recordsOf(await (await watch(thread)).rest())).toEqual(all);
  });

  it("[OBS-03] come as they are committed to one who was there before, in order and once", async () => {
    const thread = new ThreadDriver("watch");
    const gate = `${thread.threadId}-gate`;
    await thread.submit([{ gate, calls: [{ tool: "act" }] }, { text: "first" }]);
    await thread.arrival(gate);
    await thread.submit([{ calls: [{ tool: "look" }, { tool: "bump" }] }, { text: "second" }]);
    const reader = await watch(thread, { deltas: false });
    await thread.openGate(gate);
    const events = await reader.rest();
    expect(recordsOf(events)).toEqual(await thread.records());
    expect(events.some(({ event }) => event === "delta" || event === "resync")).toBe(false);
    await expectSound(thread);
  });
});

describe("state", () => {
  it("[OBS-03] tells one who comes before the first record at once that the work is queued (field report 21)", async () => {
    const thread = new ThreadDriver("watch");
    world.armCrashes({ point: "submit:after", mode: "sync-abort" });
    await expect(thread.submit([{ text: "ok" }])).rejects.toThrow();
    const [admitted] = (await thread.dump()).submissions;
    const submissionId = admitted?.submissionId ?? "";
    const followed = await watch(thread, { submissionId });
    expect(await followed.next()).toEqual({
      event: "state",
      data: { submissionId, state: "queued", position: 0 },
      id: null,
      retry: null,
    });
    const whole = await watch(thread);
    expect(await whole.next()).toMatchObject({ data: { state: "running", queueDepth: 1 } });
    expect((await thread.dump()).records).toEqual([]);
    await thread.fireAlarm();
    expect(await rest(followed)).toEqual([
      "state running at 0",
      "record 2",
      "record 3",
      "state settled",
      "record 4",
      "record 5",
      "settled completed",
    ]);
    expect(recordsOf(await whole.rest())).toEqual(await thread.records());
  });

  it("[OBS-03] tells a submission's place in the queue, and whenever it changes", async () => {
    const thread = new ThreadDriver("watch");
    const gate = `${thread.threadId}-gate`;
    await thread.submit([{ gate, text: "first" }]);
    await thread.arrival(gate);
    const second = await thread.submit([{ text: "never" }]);
    const own = `${thread.threadId}-own`;
    const third = await thread.submit([{ gate: own, text: "third" }]);
    const reader = await watch(thread, { submissionId: third.receipt.submissionId, deltas: false });
    expect(await upTo(reader, "state queued at 2")).toHaveLength(1);
    await thread.abort(second.receipt.submissionId);
    expect(await upTo(reader, "state queued at 1")).toHaveLength(1);
    await thread.openGate(gate);
    await upTo(reader, "state running at 0");
    await thread.openGate(own);
    expect((await rest(reader)).at(-1)).toBe("settled completed");
  });

  it("[OBS-03] tells what a thread waits for, and its stream ends there", async () => {
    const thread = new ThreadDriver("watch");
    const gate = `${thread.threadId}-gate`;
    const { receipt } = await thread.submit([{ gate, calls: [{ tool: "guarded" }] }]);
    await thread.arrival(gate);
    const reader = await watch(thread);
    await thread.openGate(gate);
    const events = await reader.rest();
    const { submissionId } = receipt;
    const [operation] = await thread.operations();
    expect(events.findLast(({ event }) => event === "state")).toMatchObject({
      data: {
        state: "waiting",
        queueDepth: 1,
        activeSubmission: submissionId,
        attention: [{ submissionId, reason: "approval", operationIds: [operation?.operationId] }],
      },
    });
    expect(recordsOf(events)).toEqual(await thread.records());
    expect(reader.comments).toEqual([`through ${recordsOf(events).length}`]);
  });
});

describe("text of an open turn", () => {
  it("[OBS-03] comes as it streams in, without an id, each kind by its own offset", async () => {
    const thread = new ThreadDriver("watch");
    const gate = `${thread.threadId}-gate`;
    const { submissionId, release, end } = await streaming(
      thread,
      [{ reasoning: "Hm. " }, "Grüße", { reasoning: "So." }, " 🌍"],
      { gate },
    );
    await thread.arrival(gate);
    const reader = await watch(thread);
    await upTo(reader, "record 3");
    await thread.openGate(gate);
    // It was there before the call had text, yet after it began.
    expect(await upTo(reader, "resync reasoning@0 Hm. ")).toHaveLength(1);
    await release(1);
    const of = { submissionId, turn: 1, attempt: 1 };
    expect(await reader.next()).toEqual({
      event: "delta",
      data: { ...of, kind: "text", offset: 0, text: "Grüße" },
      id: null,
      retry: null,
    });
    await release(2);
    expect(await upTo(reader, "delta reasoning@4 So.")).toHaveLength(1);
    await release(3);
    expect(await upTo(reader, "delta text@5  🌍")).toHaveLength(1);
    await end();
    expect(await rest(reader)).toEqual(["state idle", "record 4", "record 5"]);
  });

  it("[OBS-03] comes from its beginning, as resync, to one who joins in the middle", async () => {
    const thread = new ThreadDriver("watch");
    const { arrival, release, end } = await streaming(thread, ["one ", "two ", "three"]);
    await arrival(1);
    const early = await watch(thread);
    await upTo(early, "resync text@0 one ");
    await release(1);
    const late = await watch(thread, { after: 3 });
    expect(await upTo(late, "resync text@0 one two ")).toEqual([
      "state running",
      "resync text@0 one two ",
    ]);
    await release(2);
    for (const reader of [early, late]) await upTo(reader, "delta text@8 three");
    await end();
    const ending = ["state idle", "record 4", "record 5"];
    expect([await rest(early), await rest(late)]).toEqual([ending, ending]);
  });

  it("[OBS-03] of a turn that begins under one's eyes is no resync, whichever run it is of", async () => {
    const thread = new ThreadDriver("watch");
    const [one, two, three, four] = ["one", "two", "three", "four"].map(
      (name) => `${thread.threadId}-${name}`,
    );
    await thread.submit([
      { pieces: ["one"], pieceGate: one, calls: [{ tool: "look" }] },
      { pieces: ["two"], pieceGate: two },
    ]);
    await thread.arrival(`${one}-1`);
    await thread.submit([{ pieces: ["three"], pieceGate: three }]);
    await thread.submit([{ pieces: ["four"], pieceGate: four }]);
    const reader = await watch(thread);
    await upTo(reader, "resync text@0 one");
    await thread.openGate(`${one}-1`);
    const events = await upTo(reader, "delta text@0 two");
    await thread.openGate(`${two}-1`);
    events.push(...(await upTo(reader, "delta text@0 three")));
    await thread.openGate(`${three}-1`);
    events.push(...(await upTo(reader, "delta text@0 four")));
    await thread.openGate(`${four}-1`);
    events.push(...(await rest(reader)));
    expect(events.filter((event) => event.startsWith("resync"))).toEqual([]);
    await expectSound(thread);
  });

  it("[OBS-03] begins anew, as resync, when the call breaks off and is made again", async () => {
    const thread = new ThreadDriver("watch");
    const { submissionId, arrival, release, end } = await streaming(thread, ["half ", "way "], {
      fail: { how: "break-off", times: 1 },
      text: "there",
    });
    await arrival(1);
    const reader = await watch(thread, { submissionId });
    const seen = await reader.until((event) => brief(event) === "resync text@0 half ");
    await end();
    // The run waits for its retry, and the stream with it.
    seen.push(...(await reader.until((event) => brief(event) === "record 4")));
    expect(seen.slice(-2).map(brief)).toEqual(["state waiting at 0", "record 4"]);
    world.forgetGates();
    const retried = thread.runAlarms(1);
    await arrival(1);
    seen.push(...(await reader.until((event) => event.event === "resync")));
    expect(seen.slice(-2)).toMatchObject([
      { event: "state", data: { state: "running" } },
      {
        event: "resync",
        data: { submissionId, turn: 1, attempt: 2, kind: "text", offset: 0, text: "half " },
      },
    ]);
    // What a client held of the lost call is replaced.
    expect(textOf(seen, 1)).toBe("half ");
    await release(1);
    await end();
    await retried;
    const ending = await reader.rest();
    expect(ending.at(-1)).toMatchObject({
      event: "settled",
      data: { settlement: { output: "half way there" } },
    });
    expect(recordsOf([...seen, ...ending])).toEqual((await thread.records()).slice(1));
    await expectSound(thread);
  });

  it("[OBS-03, REC-03] begins anew, as resync, when the attempt is lost and another takes over", async () => {
    const thread = new ThreadDriver("watch");
    const { arrival, release, end } = await streaming(thread, ["half ", "way "], { text: "there" });
    await arrival(1);
    const reader = await watch(thread);
    await upTo(reader, "resync text@0 half ");
    world.armCrashes({ point: "model:after-call", mode: "throw" });
    await end();
    await thread.quiet();
    world.forgetGates();
    const retried = thread.runAlarms(1);
    await arrival(1);
    const events = await reader.until((event) => event.event === "resync");
    expect(events.map(brief).slice(-2)).toEqual(["record 4", "resync text@0 half "]);
    expect(events.at(-2)).toMatchObject({ data: { type: "ModelInterrupted" } });
    expect(events.at(-1)).toMatchObject({ data: { attempt: 2 } });
    await release(1);
    await end();
    await retried;
    expect((await rest(reader)).slice(-3)).toEqual(["state idle", "record 5", "record 6"]);
    await expectSound(thread);
  });

  it("[OBS-03] is not sent to one who does not ask for it", async () => {
    const thread = new ThreadDriver("watch");
    const { arrival, release, end } = await streaming(thread, ["one", "two"]);
    await arrival(1);
    const reader = await watch(thread, { deltas: false });
    await upTo(reader, "record 3");
    await release(1);
    await end();
    expect(await rest(reader)).toEqual(["state idle", "record 4", "record 5"]);
  });

  it("[OBS-03] waits in the object for a slow reader, who gets fewer and larger deltas and loses nothing", async () => {
    const thread = new ThreadDriver("watch");
    const pieces = Array.from({ length: 60 }, (_none, index) => `piece ${index} `);
    const { arrival, release, end } = await streaming(thread, pieces);
    await arrival(1);
    const slow = await watch(thread);
    const fast = await watch(thread);
    const seen = await slow.until(({ event }) => event === "resync");
    const eager = await fast.until(({ event }) => event === "resync");
    for (let piece = 1; piece < pieces.length; piece += 1) {
      await release(piece);
      eager.push(...(await fast.until(({ event }) => event === "delta")));
    }
    const text = pieces.join("");
    const isWhole = () => textOf(seen, 1) === text;
    while (!isWhole()) seen.push(...(await slow.until(({ event }) => event === "delta")));
    expect(textOf(eager, 1)).toBe(text);
    const count = (events: readonly Received[]) =>
      events.filter(({ event }) => event === "delta").length;
    expect([count(seen) <= 3, count(eager)]).toEqual([true, pieces.length - 1]);
    await end();
    const ending = ["state idle", "record 4", "record 5"];
    expect([await rest(slow), await rest(fast)]).toEqual([ending, ending]);
  });
});

describe("following one submission", () => {
  it("[OBS-03] has its records alone, and ends with its settlement", async () => {
    const thread = new ThreadDriver("watch");
    await thread.run([{ text: "before" }]);
    const followed = await thread.submit([{ calls: [{ tool: "look" }] }, { text: "mine" }]);
    const { submissionId } = followed.receipt;
    const settlement = await thread.settlement(submissionId);
    await thread.run([{ text: "after" }]);
    const own = (await thread.records()).filter(
      (record) => "submissionId" in record && record.submissionId === submissionId,
    );
    for (const after of [0, own.at(0)?.sequence ?? 0, own.at(-1)?.sequence ?? 0]) {
      const events = await (await watch(thread, { submissionId, after })).rest();
      expect(events[0]?.data).toEqual({ submissionId, state: "settled" });
      expect(recordsOf(events)).toEqual(own.filter(({ sequence }) => sequence > after));
      expect(events.at(-1)).toMatchObject({ event: "settled", data: { submissionId, settlement } });
    }
  });

  it("[OBS-03] ends at once, with the settlement, where the cursor is past it already", async () => {
    const thread = new ThreadDriver("watch");
    const { receipt } = await thread.submit([{ text: "ok" }]);
    const { submissionId } = receipt;
    await thread.settlement(submissionId);
    // Something else runs, and does not keep this stream open.
    const gate = `${thread.threadId}-gate`;
    await thread.submit([{ gate, text: "later" }]);
    await thread.arrival(gate);
    const after = (await thread.records()).length;
    expect(await rest(await watch(thread, { submissionId, after }))).toEqual([
      "state settled",
      "settled completed",
    ]);
    await thread.openGate(gate);
    await thread.quiet();
  });

  it("[OBS-03] has no text of another's turn, and its own once that comes", async () => {
    const thread = new ThreadDriver("watch");
    const first = await streaming(thread, ["not ", "yours"]);
    await first.arrival(1);
    const { receipt } = await thread.submit([{ text: "mine" }]);
    const reader = await watch(thread, { submissionId: receipt.submissionId });
    expect(await upTo(reader, "state queued at 1")).toHaveLength(1);
    await first.end();
    const events = await rest(reader);
    expect(events.join()).not.toMatch(/not|yours/);
    expect(events.at(-1)).toBe("settled completed");
  });

  it("[OBS-03] tells what it waits for when its run parks, and how far the log was looked through", async () => {
    const thread = new ThreadDriver("watch");
    const gate = `${thread.threadId}-gate`;
    const { receipt } = await thread.submit([{ gate, calls: [{ tool: "guarded" }] }]);
    const { submissionId } = receipt;
    await thread.arrival(gate);
    const reader = await watch(thread, { submissionId });
    await thread.openGate(gate);
    const events = await reader.rest();
    expect(events.findLast(({ event }) => event === "state")).toMatchObject({
      data: { submissionId, state: "waiting", position: 0, wait: { reason: "approval" } },
    });
    expect(reader.comments).toEqual([`through ${(await thread.records()).length}`]);
  });

  it("[OBS-03] stays silent about what others do while it is parked", async () => {
    const thread = new ThreadDriver("watch");
    const gate = `${thread.threadId}-deaf`;
    const { receipt } = await thread.submit([
      { calls: [{ tool: "hasty_act", input: { behave: "deaf-gate", gate } }] },
      { text: "ok" },
    ]);
    const { submissionId } = receipt;
    await thread.waitingFor(submissionId, "unknown-outcome");
    const after = (await thread.records()).length;
    const other = await streaming(thread, ["some", "thing"]);
    await other.arrival(1);
    const reader = await watch(thread, { submissionId, after });
    expect(await upTo(reader, "state waiting at 0")).toHaveLength(1);
    await other.end();
    expect(await rest(reader)).toEqual([]);
    expect(reader.comments).toEqual([`through ${(await thread.records()).length}`]);
    await thread.openGate(gate);
  });

  it("[OBS-03] is refused for a submission that the thread does not have, before any event", async () => {
    const thread = new ThreadDriver("watch");
    await thread.run([{ text: "ok" }]);
    const foreign = await new ThreadDriver("watch").submit([{ text: "ok" }]);
    for (const submissionId of ["sub-9-aaaaaaaaaaaaaaaa", foreign.receipt.submissionId, "x"]) {
      await expect(watch(thread, { submissionId })).rejects.toMatchObject({
        code: "SubmissionNotFound",
      });
    }
    await expect(watch(new ThreadDriver("watch"))).rejects.toMatchObject({
      code: "ThreadNotFound",
    });
  });
});

/** The log's row that holds this record, damaged from outside; the object forgets what it knew. */
async function damage(thread: ThreadDriver, sequence: number, how: "garbled" | "gone") {
  const { batches } = await thread.dump();
  const batch = batches.find(({ first, last }) => first <= sequence && sequence <= last);
  await thread.inObject((storage) => {
    const where = "WHERE position % 4294967296 = ?";
    if (how === "gone") storage.sql.exec(`DELETE FROM batches ${where}`, batch?.first ?? 0);
    else storage.sql.exec(`UPDATE batches SET records = '{' ${where}`, batch?.first ?? 0);
  });
  await thread.evict();
  return batch?.first ?? 0;
}

describe("a gap", () => {
  it("[OBS-03] is told to one whose cursor is past the log's end, and nothing else", async () => {
    const thread = new ThreadDriver("watch");
    await thread.run([{ text: "ok" }]);
    for (const after of [6, 999_999_999_999_999]) {
      expect(await (await watch(thread, { after })).rest()).toEqual([
        {
          event: "gap",
          data: { after, tail: 5, reason: "past-the-end" },
          id: null,
          retry: null,
        },
      ]);
    }
    expect(await rest(await watch(thread, { after: 5 }))).toEqual(["state idle"]);
  });

  it.each(["garbled", "gone"] as const)(
    "[OBS-03] ends a stream where the log is %s, after every record before it",
    async (how) => {
      const thread = new ThreadDriver("watch");
      for (let run = 0; run < 12; run += 1) await thread.run([{ text: `answer ${run}` }]);
      await thread.quiet();
      const all = await thread.records();
      const bad = await damage(thread, 40, how);
      expect(bad).toBeGreaterThan(33);
      for (const after of [0, 20, bad - 2, bad - 1]) {
        const events = await (await watch(thread, { after })).rest();
        expect(recordsOf(events)).toEqual(all.slice(after, bad - 1));
        expect(events.at(-1)).toMatchObject({
          event: "gap",
          data: { after: bad - 1, tail: all.length, reason: "unreadable" },
        });
      }
      // Past the damage the log can be read.
      expect(recordsOf(await (await watch(thread, { after: 50 })).rest())).toEqual(all.slice(50));
    },
  );

  it("[OBS-03] ends a stream whose settlement cannot be read, wherever its cursor is", async () => {
    const thread = new ThreadDriver("watch");
    const { receipt } = await thread.submit([{ text: "ok" }]);
    const { submissionId } = receipt;
    await thread.settlement(submissionId);
    await thread.run([{ text: "later" }]);
    await thread.quiet();
    await damage(thread, 5, "garbled");
    expect(await rest(await watch(thread, { submissionId, after: 9 }))).toEqual([
      "state settled",
      "gap unreadable after 9 of 9",
    ]);
  });
});

describe("many watchers", () => {
  /** What it costs to finish a run that so many watch, and what they saw. */
  async function finishWatched(watchers: number, leave: boolean) {
    const thread = new ThreadDriver("watch");
    await thread.run([{ text: "opens the thread" }]);
    const gate = `${thread.threadId}-gate`;
    const { receipt } = await thread.submit([
      { gate, calls: [{ tool: "look" }, { tool: "act" }] },
      { text: "ok" },
    ]);
    await thread.arrival(gate);
    const readers = await Promise.all(
      Array.from({ length: watchers }, async () => {
        const reader = await watch(thread);
        await upTo(reader, "record 7");
        if (leave) await reader.cancel();
        return reader;
      }),
    );
    const cost = await meter(thread, async () => {
      await thread.openGate(gate);
      await thread.settlement(receipt.submissionId);
      await thread.quiet();
    });
    const seen = leave ? [] : await Promise.all(readers.map((reader) => rest(reader)));
    const later = await meter(thread, async () => {
      await thread.run([{ text: "ok" }]);
      await thread.quiet();
    });
    return { cost, later, seen };
  }

  it("[OBS-03] read storage once per commit, however many they are, and see the same", async () => {
    const one = await finishWatched(1, false);
    const many = await finishWatched(40, false);
    expect(many.cost).toEqual(one.cost);
    expect(many.seen).toEqual(Array.from({ length: 40 }, () => one.seen[0]));
  });

  it("[OBS-03] that left cost one look together, by which the platform notices, and nothing after it", async () => {
    const none = await finishWatched(0, false);
    const gone = await finishWatched(40, true);
    expect(gone.cost.statements - none.cost.statements).toBeLessThanOrEqual(5);
    expect(gone.later).toEqual(none.later);
  });

  it("[OBS-03] who read nothing cost a bounded part of the log, however long it is", async () => {
    const costs = [];
    for (const runs of [20, 60]) {
      const thread = new ThreadDriver("watch");
      for (let run = 0; run < runs; run += 1) await thread.run([{ text: "x".repeat(20_000) }]);
      await thread.quiet();
      await thread.evict();
      costs.push(
        await meter(thread, async () => {
          const reader = await watch(thread);
          await reader.next();
          await reader.cancel();
        }),
      );
    }
    expect(costs[1]).toEqual(costs[0]);
  });

  it("[OBS-03] of an object that is lost see their stream break", async () => {
    const thread = new ThreadDriver("watch");
    const { submissionId, arrival, end } = await streaming(thread, ["one", "two"]);
    await arrival(1);
    const reader = await watch(thread);
    await upTo(reader, "resync text@0 one");
    await thread.crash();
    await expect(reader.next()).rejects.toThrow();
    const fired = thread.fireAlarm();
    await arrival(1);
    const again = await watch(thread, { after: 3 });
    expect(await upTo(again, "resync text@0 one")).toEqual([
      "state running",
      "record 4",
      "resync text@0 one",
    ]);
    await end();
    await fired;
    expect(await rest(again)).toEqual(["delta text@3 two", "state idle", "record 5", "record 6"]);
    expect((await thread.submission(submissionId)).state).toBe("settled");
    await expectSound(thread);
  });
});

describe("rows written", () => {
  const pieces = Array.from({ length: 1_000 }, (_none, index) => `word ${index} `);

  it("[PERF-05] an answer of 1,000 deltas costs the 9 rows of a short one, and not one more", async () => {
    const thread = new ThreadDriver("deltas");
    await thread.run([{ text: "opens the thread" }]);
    await thread.quiet();
    const costs = [];
    for (const turn of [{ text: "ok" }, { pieces }]) {
      costs.push(
        await meter(thread, async () => {
          await thread.run([turn]);
          await thread.quiet();
        }),
      );
    }
    expect(costs).toMatchObject([
      { rowsWritten: 9, alarmWrites: 2 },
      { rowsWritten: 9, alarmWrites: 2 },
    ]);
    expect((await thread.records()).at(-1)).toMatchObject({
      payload: { output: pieces.join("") },
    });
  });

  it("[PERF-05] and no more while somebody watches every delta", async () => {
    const thread = new ThreadDriver("deltas");
    await thread.run([{ text: "opens the thread" }]);
    await thread.quiet();
    const seen: Received[] = [];
    const cost = await meter(thread, async () => {
      const { submissionId, arrival, end } = await streaming(thread, pieces);
      await arrival(1);
      const reader = await watch(thread, { submissionId });
      seen.push(...(await reader.until(({ event }) => event === "resync")));
      for (let piece = 1; piece < pieces.length; piece += 1) {
        await thread.openGate(`${thread.threadId}-piece-${piece}`);
        seen.push(...(await reader.until(({ event }) => event === "delta")));
      }
      await end();
      seen.push(...(await reader.rest()));
      await thread.quiet();
    });
    expect(seen.filter(({ event }) => event === "delta")).toHaveLength(999);
    expect(textOf(seen, 1)).toBe(pieces.join(""));
    expect(cost).toMatchObject({ rowsWritten: 9, alarmWrites: 2 });
  });
});
