// The log taken away over HTTP, and what readers hear of a damaged one.
import { describe, expect, it } from "vitest";
import { must } from "../../shared/assert.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { expectRefusal, send } from "./http-client.ts";

function pathOf({ threadId }: ThreadDriver, rest: string): string {
  return `/v1/threads/${threadId}/${rest}`;
}

async function withRuns(count: number): Promise<ThreadDriver> {
  const thread = new ThreadDriver("exported");
  for (let run = 0; run < count; run += 1) {
    await thread.run([{ calls: [{ tool: "act" }] }, { text: `line\n\u2028 ${run}` }]);
  }
  await thread.quiet();
  return thread;
}

function linesOf(text: string): unknown[] {
  return text.split("\n").flatMap((line): unknown[] => (line === "" ? [] : [JSON.parse(line)]));
}

describe("GET …/export", () => {
  it("[OBS-05] has every record, a line each, from any cursor", async () => {
    const thread = await withRuns(40);
    const all = await thread.records();
    expect(all.length).toBeGreaterThan(256);
    for (const after of [0, 1, 256, all.length - 1, all.length, all.length + 1]) {
      const answer = await send(pathOf(thread, `export?after=${after}`));
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("application/x-ndjson");
      expect(linesOf(answer.text)).toEqual(all.slice(after));
    }
    const answer = await send(pathOf(thread, "export"));
    expect(linesOf(answer.text)).toEqual(all);
  });

  it("[OBS-05] refuses what is no cursor, no thread, and a method that it has not", async () => {
    const thread = await withRuns(1);
    for (const after of ["-1", "1.5", "x", "", "1&after=2", "9".repeat(16)]) {
      const answer = await send(pathOf(thread, `export?after=${after}`));
      expectRefusal(answer, 400, "InvalidCursor");
    }
    const none = await send(pathOf(new ThreadDriver("none"), "export"));
    expectRefusal(none, 404, "ThreadNotFound");
    const post = await send(pathOf(thread, "export"), { method: "POST" });
    expectRefusal(post, 404, "RouteNotFound");
  });
});

describe("a damaged log", () => {
  it.each([
    ["gone", "DELETE FROM batches", "is missing"],
    ["garbled", "UPDATE batches SET records = '{'", "is not JSON"],
  ])(
    "[REC-04] whose row is %s answers the records before it, then says where it is",
    async (_how, damage, said) => {
      const thread = await withRuns(3);
      const all = await thread.records();
      const { batches } = await thread.dump();
      const bad = must(batches.at(-2), "a row").first;
      await thread.inObject((storage) => {
        storage.sql.exec(`${damage} WHERE position % 4294967296 = ?`, bad);
      });
      await thread.evict();
      let after = 0;
      while (after < bad - 1) {
        const answer = await send(pathOf(thread, `records?after=${after}`));
        expect(answer.status).toBe(200);
        const page = Object(answer.json);
        expect(page.records).toEqual(all.slice(after, page.next));
        expect(page.next).toBeGreaterThan(after);
        after = page.next;
      }
      expect(after).toBe(bad - 1);
      for (const route of [`records?after=${after}`, `export?after=${after}`]) {
        const problem = expectRefusal(await send(pathOf(thread, route)), 500, "Defect");
        expect(problem).toMatchObject({ reason: "log-damaged", retryable: false });
        expect(problem.detail).toContain(said);
        expect(problem.detail).toContain(String(bad));
      }
      // It begins, and breaks off.
      await expect(send(pathOf(thread, "export"))).rejects.toThrow();
    },
  );
});
