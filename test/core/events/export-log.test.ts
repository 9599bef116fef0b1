// The log as lines of JSON: in pages, on demand, and never whole where it is not.
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import type { RecordPage } from "../../../shared/wire/progress.ts";
import { exportLog } from "../../../worker/operations/export-log.ts";
import { stampRecord } from "../../../durable-objects/thread/journal/record-codec.ts";
import { input, T0 } from "../support/builders.ts";

/** A log of so many records, read in pages of three; `asked` has each page's cursor. */
function logOf(tails: readonly number[]) {
  const asked: number[] = [];
  let tail = 0;
  return {
    asked,
    readPage: (after: number): Promise<RecordPage> => {
      tail = tails[asked.length] ?? tail;
      asked.push(after);
      const next = Math.min(after + 3, tail);
      const records = Array.from({ length: Math.max(0, next - after) }, (_, index) =>
        stampRecord(input(), after + 1 + index, { now: T0, deploymentId: "test" }),
      );
      return Promise.resolve({ records, next, tail });
    },
  };
}

async function sequencesOf(stream: ReadableStream<Uint8Array>): Promise<unknown[]> {
  const text = await new Response(stream).text();
  const lines = text.split("\n");
  expect(lines.pop()).toBe("");
  return lines.map((line) => Reflect.get(Object(JSON.parse(line)), "sequence"));
}

describe("exportLog", () => {
  it.each([0, 1, 2, 3, 4, 6, 7])(
    "[OBS-05] has all of %i records, from any cursor",
    async (tail) => {
      for (let after = 0; after <= tail; after += 1) {
        const { asked, readPage } = logOf([tail]);
        const found = await sequencesOf(await exportLog(after, readPage));
        expect(found).toEqual(
          Array.from({ length: tail - after }, (_, index) => after + 1 + index),
        );
        expect(asked).toHaveLength(Math.max(1, Math.ceil((tail - after) / 3)));
      }
    },
  );

  it("[OBS-05] ends where the log ended when it was asked, however it grows", async () => {
    const { asked, readPage } = logOf([5, 50, 500]);
    const found = await sequencesOf(await exportLog(0, readPage));
    expect(found).toEqual([1, 2, 3, 4, 5, 6]);
    expect(asked).toEqual([0, 3]);
  });

  it("[OBS-05] reads no page before the one before it was taken", async () => {
    const { asked, readPage } = logOf([9]);
    const reader = (await exportLog(0, readPage)).getReader();
    expect(asked).toEqual([0]);
    await reader.read();
    expect(asked).toEqual([0]);
    await reader.read();
    expect(asked).toEqual([0, 3]);
    await reader.cancel();
    expect(asked).toEqual([0, 3]);
  });

  it("[OBS-05] throws what refuses its first page, and breaks off at a later one", async () => {
    const refusal = new HoldfastError("ThreadNotFound", "no");
    await expect(exportLog(0, () => Promise.reject(refusal))).rejects.toBe(refusal);
    const { readPage } = logOf([9]);
    const stream = await exportLog(0, (after) =>
      after === 0 ? readPage(after) : Promise.reject(refusal),
    );
    const reader = stream.getReader();
    expect((await reader.read()).done).toBe(false);
    await expect(reader.read()).rejects.toBe(refusal);
  });

  it("[OBS-05] breaks off rather than loop where a page has nothing and the log goes on", async () => {
    const stream = await exportLog(0, () => Promise.resolve({ records: [], next: 0, tail: 2 }));
    await expect(stream.getReader().read()).rejects.toMatchObject({ code: "Defect" });
  });
});
