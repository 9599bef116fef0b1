// Whether stored rows are the ones that were written.
import { describe, expect, it } from "vitest";
import { must } from "../../../shared/assert.ts";
import { CHAIN_START } from "../../../shared/wire/verification.ts";
import {
  chainDigest,
  encodeBatches,
} from "../../../durable-objects/thread/journal/record-codec.ts";
import { verifyRows, type ChainRow } from "../../../durable-objects/thread/journal/verify-chain.ts";
import { call, OPENING, responded, settlement, T0 } from "../support/builders.ts";

/** Four rows of a log, chained as they are written: two records in the first, one in each of the others. */
function chained(texts?: readonly string[]): ChainRow[] {
  const stamp = { now: T0, deploymentId: "test" };
  const turns = [[responded(1, { calls: [call("look")] })], [responded(2, { text: "seen" })]];
  const drafts = [OPENING, ...turns, [settlement()]];
  let { sequence, digest } = CHAIN_START;
  return drafts.map((records, index) => {
    const [batch] = encodeBatches(records, sequence + 1, stamp);
    const json = texts?.[index] ?? must(batch, "one row").json;
    digest = chainDigest(digest, json);
    const first = sequence + 1;
    sequence += records.length;
    return { first, last: sequence, digest, json };
  });
}

const ROWS = chained();
const end = must(ROWS.at(-1), "the last");

function changed(index: number, change: Partial<ChainRow>): ChainRow[] {
  return ROWS.map((row, place) => (place === index ? { ...row, ...change } : row));
}

function pointAt(index: number) {
  const row = ROWS[index];
  return row === undefined ? CHAIN_START : { sequence: row.last, digest: row.digest };
}

describe("verifyRows", () => {
  it("[REC-09] finds nothing in what was written, whole or in pages", () => {
    const verified = { sequence: end.last, digest: end.digest };
    expect(verifyRows(CHAIN_START, ROWS)).toEqual({ verified, fault: null });
    for (let cut = 0; cut <= ROWS.length; cut += 1) {
      const page = verifyRows(CHAIN_START, ROWS.slice(0, cut));
      expect(page).toEqual({ verified: pointAt(cut - 1), fault: null });
      expect(verifyRows(page.verified, ROWS.slice(cut))).toEqual({ verified, fault: null });
    }
    expect(verifyRows(CHAIN_START, [])).toEqual({ verified: CHAIN_START, fault: null });
  });

  it.each(ROWS.map((row, index) => ({ ...row, index })))(
    "[REC-09] names record $first where its row is gone, changed, or chained otherwise",
    ({ index, first, last, json, digest }) => {
      const verified = pointAt(index - 1);
      const gone = ROWS.filter((_row, place) => place !== index);
      const isLast = index === ROWS.length - 1;
      expect(verifyRows(CHAIN_START, gone)).toEqual({
        verified,
        // The end's absence is no row's: the ledger tells of it.
        fault: isLast ? null : { sequence: first, problem: "gap" },
      });
      for (const change of [
        { json: json.replace("test", "tent") },
        { json: `${json} ` },
        { digest: digest.replace(/^./, (digit) => (digit === "0" ? "1" : "0")) },
        { json: "" },
      ]) {
        const found = verifyRows(CHAIN_START, changed(index, change));
        expect(found).toEqual({ verified, fault: { sequence: first, problem: "digest" } });
      }
      // A row that claims more or fewer records than it holds.
      for (const claimed of [last + 1, first - 1]) {
        const found = verifyRows(CHAIN_START, changed(index, { last: claimed }));
        expect(found).toEqual({ verified, fault: { sequence: first, problem: "schema" } });
      }
    },
  );

  it("[REC-09] sees rows that changed places, and one that stands twice", () => {
    const [one, two, three, ...others] = ROWS;
    const rows = [one, three, two, ...others].filter((row) => row !== undefined);
    expect(verifyRows(CHAIN_START, rows).fault).toEqual({ sequence: 3, problem: "gap" });
    const twice = [one, two, two, three].filter((row) => row !== undefined);
    expect(verifyRows(CHAIN_START, twice).fault).toEqual({ sequence: 4, problem: "gap" });
  });

  it("[REC-09] names the record itself where a row was chained as it is, and does not decode", () => {
    const texts = ROWS.map(({ json }) => json);
    const misread = texts.with(0, must(texts[0], "a text").replace("RunStarted", "RunLost"));
    expect(verifyRows(CHAIN_START, chained(misread))).toEqual({
      verified: CHAIN_START,
      fault: { sequence: 2, problem: "schema" },
    });
    const notJson = verifyRows(CHAIN_START, chained(texts.with(2, "{")));
    expect(notJson).toEqual({ verified: pointAt(1), fault: { sequence: 4, problem: "schema" } });
  });

  it("[REC-09] goes on from a place of another history as from a changed row", () => {
    const from = { sequence: 3, digest: "f".repeat(64) };
    const found = verifyRows(from, ROWS.slice(2));
    expect(found).toEqual({ verified: from, fault: { sequence: 4, problem: "digest" } });
  });
});
