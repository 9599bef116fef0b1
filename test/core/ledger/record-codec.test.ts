// Records to rows and back.
import { describe, expect, it } from "vitest";
import { MAX_BATCH_BYTES } from "../../../shared/limits.ts";
import { RECORD_TYPES, recordIdOf } from "../../../shared/wire/records.ts";
import { CHAIN_START } from "../../../shared/wire/verification.ts";
import {
  chainDigest,
  decodeBatch,
  encodeBatches,
  LogCorrupt,
  RecordTooLarge,
} from "../../../durable-objects/thread/journal/record-codec.ts";
import { positionOf, sequenceAt } from "../../../durable-objects/thread/position.ts";
import {
  abortAsked,
  asked,
  call,
  decided,
  input,
  interrupted,
  lost,
  modelFailed,
  OPENING,
  prepared,
  responded,
  retried,
  settled,
  settlement,
  stepped,
  T0,
  warned,
} from "../support/builders.ts";

const STAMP = { now: T0, deploymentId: "d" };

const EVERY = [
  { type: "ThreadCreated" as const, payload: { threadId: "t", createdBy: "ann" } },
  ...OPENING,
  modelFailed(1, 1, T0),
  interrupted(1, 1),
  responded(1, { calls: [call(), call()] }),
  asked(1, 0),
  decided(1, 0, "approve", 0),
  prepared(1, { index: 0 }),
  stepped(1, 0, "one"),
  stepped(1, 0, "one", "done"),
  lost(1, 0),
  settled(1, 1),
  warned("turns"),
  warned("cost"),
  abortAsked(),
  settlement(),
  retried(2),
];

describe("the record codec", () => {
  it("holds every record type, and gives each its own identity", () => {
    expect(new Set(EVERY.map((draft) => draft.type))).toEqual(new Set(RECORD_TYPES));
    expect(new Set(EVERY.map((draft) => recordIdOf(1, draft))).size).toBe(EVERY.length);
  });

  it("brings a batch back as it was stamped", () => {
    const [batch, ...more] = encodeBatches(EVERY, 5, STAMP);
    expect(more).toEqual([]);
    if (batch === undefined) throw new Error("a batch");
    expect(decodeBatch(5, 5 + EVERY.length - 1, batch.json)).toEqual(batch.records);
    expect(batch.records.map((record) => record.sequence)).toEqual(EVERY.map((_, n) => 5 + n));
  });

  it("splits what does not fit a row, in order and without a gap", () => {
    const big = EVERY.slice(1, 2).flatMap(() =>
      ["a", "b", "c"].map((c) => input(c.repeat(900_000))),
    );
    const batches = encodeBatches(big, 1, STAMP);
    expect(batches.map((batch) => batch.records.map((record) => record.sequence))).toEqual([
      [1, 2],
      [3],
    ]);
    for (const { json } of batches) {
      expect(Buffer.byteLength(json)).toBeLessThanOrEqual(MAX_BATCH_BYTES);
    }
  });

  it("refuses a record that no row can hold, by its bytes", () => {
    expect(() => encodeBatches([input("漢".repeat(600_001))], 1, STAMP)).toThrow(RecordTooLarge);
  });

  const json = encodeBatches(EVERY.slice(0, 3), 1, STAMP)[0]?.json ?? "";

  it.each<[string, number, number, string]>([
    ["is not JSON", 1, 3, json.slice(0, -1)],
    ["is no list", 1, 3, "{}"],
    ["does not fit the schema", 1, 3, json.replace("RunStarted", "RunBegan")],
    ["is of another schema version", 1, 3, json.replace('"schemaVersion":1', '"schemaVersion":2')],
    ["is longer than its key says", 1, 2, json],
    ["is shorter than its key says", 1, 4, json],
  ])("[REC-04] refuses a row that %s", (_name, first, last, text) => {
    expect(() => decodeBatch(first, last, text)).toThrow(LogCorrupt);
  });

  it("chains each batch to all before it", () => {
    const one = chainDigest(CHAIN_START.digest, "a");
    expect(one).toMatch(/^[0-9a-f]{64}$/);
    expect(chainDigest(one, "b")).not.toBe(chainDigest(CHAIN_START.digest, "b"));
    expect(chainDigest(CHAIN_START.digest, "a")).toBe(one);
  });

  it("keeps threads apart in one integer key", () => {
    for (const [thread, sequence] of [
      [0, 1],
      [0, 2 ** 32 - 1],
      [7, 0],
      [2_000_000, 12],
    ] as const) {
      const position = positionOf(thread, sequence);
      expect(Number.isSafeInteger(position)).toBe(true);
      expect(sequenceAt(position)).toBe(sequence);
    }
  });
});
