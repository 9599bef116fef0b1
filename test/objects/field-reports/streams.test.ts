// What others' users reported about streams and traces, as kinds of fault: text twice or scrambled, nothing where something runs, attempts
// that nobody can put together.
import { env } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  lastIdOf,
  recordsOf,
  textOf,
  type EventReader,
  type Received,
} from "../../support/event-reader.ts";
import { expectSound } from "../../support/expect-sound.ts";
import { resetOptions } from "../../support/test-options.ts";
import { ThreadDriver } from "../../support/thread-driver.ts";
import { world } from "../../support/world.ts";
import {
  awaitingApproval,
  backingOff,
  runIdOf,
  submit,
  unknownOutcome,
  watch,
} from "./situations.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

/** Reads up to the first event of open text, that one included. */
function upToText(reader: EventReader): Promise<Received[]> {
  return reader.until(({ event }) => event === "delta" || event === "resync");
}

describe("overlapping replays", () => {
  it("field report 20: of records are told apart by sequence: from every cursor the same ones, so that what was seen is dropped", async () => {
    const thread = new ThreadDriver("report");
    await thread.run([{ calls: [{ tool: "look" }, { tool: "act" }] }, { text: "one" }]);
    await thread.run([{ text: "two" }]);
    await thread.quiet();
    const all = await thread.records();
    // A client that reconnects at will, each time from an older cursor than it need: by the ids alone it ends with the log.
    const held = new Map<number, unknown>();
    for (const after of [0, 3, 1, all.length - 1, 5, 0]) {
      const events = await (await watch(thread, { after })).rest();
      for (const record of recordsOf(events)) {
        expect(held.get(record.sequence) ?? record).toEqual(record);
        held.set(record.sequence, record);
      }
      expect(lastIdOf(events)).toBe(String(all.length));
    }
    const inOrder = [...held].toSorted(([one], [other]) => one - other);
    expect(inOrder.map(([, record]) => record)).toEqual(all);
  });

  it("field report 20: of a turn's open text leave it once and in order, through reconnects and the loss of an attempt", async () => {
    const thread = new ThreadDriver("report");
    const gate = `${thread.threadId}-piece`;
    const pieces = ["Grüße ", "aus ", "der ", "Ferne"];
    const { receipt } = await submit(thread, [{ pieces, pieceGate: gate }]);
    const { submissionId } = receipt;
    const seen: Received[] = [];
    // Two connections at each piece, one of which had been there before: whatever a client got, in whatever overlap, adds up.
    await thread.arrival(`${gate}-1`);
    let early = await watch(thread, { submissionId });
    seen.push(...(await upToText(early)));
    for (const piece of [1, 2]) {
      await thread.openGate(`${gate}-${piece}`);
      await thread.arrival(`${gate}-${piece + 1}`);
      seen.push(...(await upToText(early)));
      const late = await watch(thread, { submissionId, after: Number(lastIdOf(seen)) });
      seen.push(...(await upToText(late)));
      expect(textOf(seen, 1)).toBe(pieces.slice(0, piece + 1).join(""));
      await early.cancel();
      early = late;
    }
    // Now the attempt is lost: the next one begins again, and what it says replaces what was shown.
    await thread.crash();
    const fired = thread.fireAlarm();
    await thread.arrival(`${gate}-1`);
    const again = await watch(thread, { submissionId, after: Number(lastIdOf(seen)) });
    seen.push(...(await upToText(again)));
    expect(textOf(seen, 1)).toBe("Grüße ");
    await thread.openGate(...[1, 2, 3, 4].map((piece) => `${gate}-${piece}`));
    await fired;
    seen.push(...(await again.rest()));
    const sequences = recordsOf(seen).map(({ sequence }) => sequence);
    expect(sequences).toEqual([...new Set(sequences)]);
    expect(recordsOf(seen)).toEqual((await thread.records()).slice(1));
    expect(seen.at(-1)).toMatchObject({ data: { settlement: { output: pieces.join("") } } });
    await expectSound(thread);
  });
});

describe("whoever connects before the first token", () => {
  it("field report 21: sees at once that the work is accepted: queued, running or waiting, and never nothing", async () => {
    const thread = new ThreadDriver("report");
    const gate = `${thread.threadId}-model`;
    const first = await submit(thread, [{ text: "first", gate }]);
    const second = await submit(thread, [{ text: "second" }]);
    await thread.arrival(gate);
    const stateOf = async (of: ThreadDriver, submissionId: string) => {
      const reader = await watch(of, { submissionId });
      const event = await reader.next();
      await reader.cancel();
      return event?.event === "state" ? event.data.state : event?.event;
    };
    expect(await stateOf(thread, first.receipt.submissionId)).toBe("running");
    expect(await stateOf(thread, second.receipt.submissionId)).toBe("queued");
    for (const bring of [awaitingApproval, unknownOutcome, () => backingOff(1)]) {
      const waiting = await bring();
      expect(await stateOf(waiting.thread, waiting.submissionId)).toBe("waiting");
      await waiting.thread.abort(waiting.submissionId);
    }
    await thread.crash();
    // Nothing runs yet, as no alarm came: it is there all the same.
    expect(await stateOf(thread, second.receipt.submissionId)).toBe("queued");
    await thread.openGate(gate);
    await thread.toQuiescence();
    expect(await stateOf(thread, second.receipt.submissionId)).toBe("settled");
    await expectSound(thread);
  });
});

const SpanSchema = z.object({
  name: z.string(),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  outcome: z.string().nullable(),
});

const tail = z
  .custom<{ spans(threadId: string): Promise<unknown> }>()
  .parse(Reflect.get(env, "TRACES"));

describe("traces", () => {
  it("field reports 36 and 38: have each alarm's attempt under the run's id, with its usage and outcome, however much was said", async () => {
    const thread = new ThreadDriver("report");
    const gate = `${thread.threadId}-model`;
    const text = "long ".repeat(30_000);
    const fail = { how: "http" as const, status: 503, times: 2 };
    const { receipt } = await submit(thread, [{ text, gate, fail }]);
    const { submissionId } = receipt;
    await thread.arrival(gate);
    await thread.joinByAlarm(gate);
    await thread.waitingFor(submissionId, "retry-backoff");
    await thread.runAlarms();
    await thread.settlement(submissionId);
    await thread.quiet();
    const attempts = await vi.waitUntil(
      async () => {
        const spans = z.array(SpanSchema).parse(await tail.spans(thread.threadId));
        const over = spans.filter(
          ({ name, outcome }) => name.startsWith("invoke_agent") && outcome !== null,
        );
        return over.length >= 3 ? over : undefined;
      },
      { timeout: 10_000, interval: 5 },
    );
    const runIds = attempts.map(({ attributes }) => attributes["holdfast.run.id"]);
    expect(runIds).toEqual(attempts.map(() => runIdOf(submissionId)));
    const numbers = attempts.map(({ attributes }) => attributes["holdfast.attempt"]);
    expect(numbers).toEqual([1, 2, 3]);
    expect(attempts.at(-1)?.attributes).toMatchObject({
      "holdfast.outcome": "completed",
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 5,
    });
    expect(JSON.stringify(attempts)).not.toContain("long long");
  });
});
