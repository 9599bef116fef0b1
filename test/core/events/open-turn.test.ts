// What a watcher is sent of a turn that is open: whatever a provider streams and whenever the watcher reads, it holds the turn's text.
import * as fc from "fast-check";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import type { DeltaEvent } from "../../../shared/wire/events.ts";
import { beginReduction, reducePart } from "../../../durable-objects/model/reduce-stream.ts";
import {
  beginTurn,
  readDeltas,
  type OpenTurn,
} from "../../../durable-objects/thread/progress/open-turn.ts";
import { text, toolCall } from "../support/models.ts";

type Text = Record<DeltaEvent["kind"], string>;

function openTurn() {
  const reduction = beginReduction();
  const open: OpenTurn = {
    submissionId: "sub-1-aaaaaaaaaaaaaaaa",
    turn: 2,
    attempt: 3,
    since: 1,
    blocks: reduction.blocks,
  };
  return { reduction, open };
}

/** The turn's text by kind, as its blocks have it. */
function textOf({ blocks }: OpenTurn): Text {
  const whole: Text = { text: "", reasoning: "" };
  for (const block of blocks) if ("text" in block) whole[block.kind] += block.text;
  return whole;
}

/** A reader as the wire describes it: what it has from the offset on is replaced. */
function apply(held: Text, { kind, offset, text }: DeltaEvent): void {
  // A delta never begins past what the reader has.
  expect(offset).toBeLessThanOrEqual(held[kind].length);
  held[kind] = held[kind].slice(0, offset) + text;
}

const textArb = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom("", "ß", "🌍", "\ud83c", "\udf0d"),
);
const idArb = fc.constantFrom("0", "1", "2");
const partArb: fc.Arbitrary<LanguageModelV4StreamPart> = fc.oneof(
  { weight: 1, arbitrary: idArb.map((id) => ({ type: "text-start" as const, id })) },
  { weight: 1, arbitrary: idArb.map((id) => ({ type: "reasoning-start" as const, id })) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(idArb, textArb)
      .map(([id, delta]) => ({ type: "text-delta" as const, id, delta })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(idArb, textArb)
      .map(([id, delta]) => ({ type: "reasoning-delta" as const, id, delta })),
  },
  { weight: 1, arbitrary: idArb.map((id) => ({ type: "text-end" as const, id })) },
  { weight: 1, arbitrary: idArb.map((id) => ({ type: "reasoning-end" as const, id })) },
  { weight: 1, arbitrary: fc.constant(toolCall("c")) },
);

describe("deltas of an open turn", () => {
  it("[OBS-03] rebuild the text by their offsets, whatever streams in and whenever it is read", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ weight: 2, arbitrary: partArb }, fc.constant("read" as const)), {
          maxLength: 40,
        }),
        (steps) => {
          const { reduction, open } = openTurn();
          const held: Text = { text: "", reasoning: "" };
          let cursor = beginTurn(open);
          for (const step of [...steps, "read" as const]) {
            if (step !== "read") {
              reducePart(reduction, step);
              continue;
            }
            const read = readDeltas(cursor);
            for (const delta of read.deltas) apply(held, delta);
            expect(held).toEqual(textOf(open));
            expect(read.deltas.every((delta) => delta.text !== "")).toBe(true);
            cursor = read.cursor;
            // There is nothing to tell twice.
            expect(readDeltas(cursor).deltas).toEqual([]);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("[OBS-03] say whose they are, and count each kind by itself", () => {
    const { reduction, open } = openTurn();
    const parts: LanguageModelV4StreamPart[] = [
      { type: "reasoning-delta", id: "r", delta: "hm" },
      ...text("one", "0"),
      toolCall("c"),
      { type: "reasoning-delta", id: "s", delta: "so" },
      ...text("two", "1"),
    ];
    for (const part of parts) reducePart(reduction, part);
    const { deltas } = readDeltas(beginTurn(open));
    const of = { submissionId: open.submissionId, turn: 2, attempt: 3 };
    expect(deltas).toEqual([
      { ...of, kind: "reasoning", offset: 0, text: "hm" },
      { ...of, kind: "text", offset: 0, text: "one" },
      { ...of, kind: "reasoning", offset: 2, text: "so" },
      { ...of, kind: "text", offset: 3, text: "two" },
    ]);
  });

  it("[OBS-03] are one large one for who reads late", () => {
    const { reduction, open } = openTurn();
    for (let piece = 0; piece < 1_000; piece += 1) {
      reducePart(reduction, { type: "text-delta", id: "0", delta: `${piece},` });
    }
    const { deltas } = readDeltas(beginTurn(open));
    expect(deltas.map(({ offset, text }) => [offset, text])).toEqual([[0, textOf(open).text]]);
  });

  it("[OBS-03] go on with text that comes after a tool call of the same block", () => {
    const { reduction, open } = openTurn();
    const parts: LanguageModelV4StreamPart[] = [
      { type: "text-delta", id: "0", delta: "before" },
      toolCall("c"),
    ];
    for (const part of parts) reducePart(reduction, part);
    const { cursor } = readDeltas(beginTurn(open));
    reducePart(reduction, { type: "text-delta", id: "0", delta: " and after" });
    expect(readDeltas(cursor).deltas).toMatchObject([{ offset: 6, text: " and after" }]);
  });

  it("[OBS-03] send again what moves because an earlier block grew", () => {
    const { reduction, open } = openTurn();
    for (const [id, delta] of [
      ["0", "one"],
      ["1", "three"],
    ] as const) {
      reducePart(reduction, { type: "text-delta", id, delta });
    }
    const { cursor } = readDeltas(beginTurn(open));
    reducePart(reduction, { type: "text-delta", id: "0", delta: "two" });
    expect(readDeltas(cursor).deltas).toMatchObject([
      { offset: 3, text: "two" },
      { offset: 6, text: "three" },
    ]);
  });
});
