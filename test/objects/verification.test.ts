// The check of a thread's log over a real object and its storage, damaged from outside.
import { describe, expect, it } from "vitest";
import { chainDigest, encodeBatches } from "../../durable-objects/thread/journal/record-codec.ts";
import { holdfastClient } from "../../shared/client/index.ts";
import { must } from "../../shared/assert.ts";
import { unwrap } from "../../shared/wire/rpc.ts";
import { CHAIN_START, type ChainPoint, type Verification } from "../../shared/wire/verification.ts";
import { modelFailed } from "../core/support/builders.ts";
import { serviceFor } from "../http/service-client.ts";
import { TESTER, ThreadDriver } from "../support/thread-driver.ts";
import { meter } from "../support/storage-meter.ts";

/** As another Worker asks: all pages. */
function verify({ threadId }: ThreadDriver): Promise<Verification> {
  return holdfastClient({ binding: serviceFor(TESTER) })
    .thread(threadId)
    .verify();
}

/** As the Worker asks the object: one page. */
async function verifyPage(
  { stub, threadId }: ThreadDriver,
  from: ChainPoint = CHAIN_START,
): Promise<Verification> {
  return unwrap(await stub.verify({ threadId, caller: TESTER, from }));
}

async function withRuns(count: number): Promise<ThreadDriver> {
  const thread = new ThreadDriver("verified");
  for (let run = 0; run < count; run += 1) {
    await thread.run([{ calls: [{ tool: "act" }] }, { text: `a secret answer ${run}` }]);
  }
  await thread.quiet();
  return thread;
}

describe("verify", () => {
  it("[REC-09] finds a whole log whole, goes on from an earlier check, and writes nothing", async () => {
    const thread = await withRuns(2);
    const before = await thread.dump();
    const last = must(before.batches.at(-1), "a row");
    const found = {
      threadId: thread.threadId,
      tail: last.last,
      verified: { sequence: last.last, digest: last.digest },
      fault: null,
    };
    expect(await verify(thread)).toEqual(found);
    expect(await thread.dump()).toEqual(before);
    await thread.run([{ text: "more" }]);
    const more = await verifyPage(thread, found.verified);
    expect(more.verified).toEqual((await verify(thread)).verified);
    expect(more.verified.sequence).toBeGreaterThan(found.tail);
  });

  it("[REC-09] refuses a place where no row ends", async () => {
    const thread = await withRuns(1);
    const { batches } = await thread.dump();
    const inside = must(batches.find(({ first, last }) => last > first)?.first, "a long row");
    for (const sequence of [inside, 999]) {
      const from = { ...CHAIN_START, sequence };
      await expect(verifyPage(thread, from)).rejects.toMatchObject({
        code: "InvalidCursor",
      });
    }
    const from = { sequence: 1, digest: "no digest" };
    await expect(verifyPage(thread, from)).rejects.toMatchObject({
      code: "MalformedRequest",
    });
  });

  it.each([
    ["gap", "DELETE FROM batches"],
    ["digest", "UPDATE batches SET records = replace(records, 'secret', 'changed')"],
    ["digest", "UPDATE batches SET records = '{'"],
    ["digest", `UPDATE batches SET digest = '${"0".repeat(64)}'`],
  ] as const)("[REC-09, REC-04] reports a %s after: %s", async (problem, damage) => {
    const thread = await withRuns(2);
    const { batches } = await thread.dump();
    const answered = batches.filter(({ records }) => records.includes("a secret answer"));
    for (const { first } of answered.toReversed()) {
      await thread.inObject((storage) => {
        storage.sql.exec(`${damage} WHERE position % 4294967296 = ?`, first);
      });
      await thread.evict();
      const found = await verify(thread);
      expect(found.fault).toEqual({ sequence: first, problem });
      const before = batches.find(({ last }) => last === first - 1);
      expect(found.verified).toEqual({
        sequence: first - 1,
        digest: before?.digest ?? CHAIN_START.digest,
      });
      expect(JSON.stringify(found)).not.toContain("secret");
    }
  });

  it("[REC-09] misses the newest rows too, in the object that knew them and in one that did not", async () => {
    const thread = await withRuns(2);
    const { batches } = await thread.dump();
    const last = must(batches.at(-1), "a row");
    await thread.inObject((storage) => {
      storage.sql.exec("DELETE FROM batches WHERE position % 4294967296 = ?", last.first);
    });
    const fault = { sequence: last.first, problem: "gap" };
    expect(await verify(thread)).toMatchObject({ fault });
    await thread.evict();
    expect(await verify(thread)).toMatchObject({ tail: last.first - 1, fault });
  });

  it("[REC-09] reads a long log in bounded pages", async () => {
    const thread = await withRuns(1);
    const { batches } = await thread.dump();
    let { last: sequence, digest } = must(batches.at(-1), "a row");
    const stamp = { now: Date.parse("2026-11-01T12:00:00.000Z"), deploymentId: "test" };
    await thread.inObject((storage) => {
      for (let row = 0; row < 2_100; row += 1) {
        sequence += 1;
        const [batch] = encodeBatches([modelFailed(1, 1, null)], sequence, stamp);
        const { json } = must(batch, "a row");
        digest = chainDigest(digest, json);
        storage.sql.exec(
          "INSERT INTO batches (position, last, run, epoch, digest, records) SELECT min(position) - 1 + ?1, ?1, 1, NULL, ?2, ?3 FROM batches",
          sequence,
          digest,
          json,
        );
      }
    });
    await thread.evict();
    expect(await verify(thread)).toMatchObject({
      tail: sequence,
      verified: { sequence, digest },
      fault: null,
    });
    const page = await verifyPage(thread);
    expect(page.verified.sequence).toBeLessThan(1_100);
    const cost = await meter(thread, () => verifyPage(thread));
    expect(cost).toMatchObject({ rowsWritten: 0, alarmWrites: 0 });
    expect(cost.rowsRead).toBeLessThan(2_200);
  });
});
