// Storage that other code wrote: an earlier release's under this one, and this one's under older code, which must not touch it.
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrations } from "../../migrations/thread/bundle.ts";
import { FAULTED_RECHECK_MILLIS } from "../../shared/limits.ts";
import { buildBundle } from "./build-bundle.ts";
import { eventually } from "./eventually.ts";
import { recordsOf, shownTo, Site, soleOperation, turnsOf, waitingFor } from "./site.ts";
import { ASKED, FIXTURE, OWED, RELEASE_MIGRATIONS, STORED } from "./stored-release.ts";
import { readStoredThread } from "./stored-thread.ts";

const bundles = mkdtempSync(join(tmpdir(), "holdfast-bundles-"));
const tagsOf = (storage: string, thread: string) =>
  readStoredThread(storage, thread).tables["schema_migrations"]?.map(({ tag }) => tag);
const TAGS = migrations.map(({ tag }) => tag);
const EARLIER_TAGS = TAGS.slice(0, RELEASE_MIGRATIONS);

beforeAll(async () => {
  await buildBundle("first", "first", bundles);
  await buildBundle("first", "older", bundles, { migrations: RELEASE_MIGRATIONS });
}, 60_000);

afterAll(() => rmSync(bundles, { recursive: true }));

async function approve(site: Site, threadId: string): Promise<void> {
  const thread = site.thread(threadId);
  const { operationId } = await soleOperation(thread);
  await thread.decide([{ operationId, decision: "approve", reason: "The test allows it." }]);
}

describe("an earlier release's storage under this code", () => {
  let site: Site;
  let idsOf: (thread: typeof ASKED | typeof OWED) => string[];

  beforeAll(async () => {
    site = await Site.open();
    cpSync(FIXTURE, site.storage, { recursive: true });
    idsOf = (thread) =>
      readStoredThread(FIXTURE, thread).tables["submissions"]?.map((row) =>
        String(row["submissionId"]),
      ) ?? [];
    await site.deploy(bundles, "first");
  });

  afterAll(() => site.close());

  it("[UX-09] goes on with what is due before any request, by the alarm that the release armed", async () => {
    expect(tagsOf(FIXTURE, OWED)).toEqual(EARLIER_TAGS);
    await eventually("the owed work acts", () => (site.callsOf("owed", "act") > 0 ? true : null));
    const thread = site.thread(OWED);
    const [, owed = ""] = idsOf(OWED);
    expect((await shownTo(thread, owed)).results).toEqual([
      'act: {"type":"json","value":{"done":true}}',
    ]);
    expect(turnsOf(await recordsOf(thread))).toEqual([
      "revision undefined by behind",
      "revision 1 by first",
      "revision 1 by first",
    ]);
  });

  it("[UX-09, REC-09] reads its log, its settlement and its operation as they were written", async () => {
    const thread = site.thread(ASKED);
    const [settled = "", asking = "", queued = ""] = idsOf(ASKED);
    expect((await shownTo(thread, settled)).results).toHaveLength(3);
    expect((await thread.submissions()).submissions).toMatchObject([
      { submissionId: settled, state: "settled", outcome: "completed" },
      { submissionId: asking, state: "waiting", wait: { reason: "approval" } },
      { submissionId: queued, state: "queued" },
    ]);
    expect(await soleOperation(thread)).toMatchObject({ kind: "approval", toolName: "guarded" });
    const { fault, tail } = await thread.verify();
    expect({ fault, tail }).toEqual({ fault: null, tail: (await recordsOf(thread)).length });
  });

  it("[UX-09, THR-03] answers its keys with their receipts, and runs nothing again", async () => {
    for (const threadId of [ASKED, OWED] as const) {
      const replayed: string[] = [];
      for (const { key, input } of STORED[threadId]) {
        const options = { idempotencyKey: key };
        const answer = await site.thread(threadId).submit("courier", input, options);
        expect(answer.replayed).toBe(true);
        replayed.push(answer.receipt.submissionId);
      }
      expect(replayed).toEqual(idsOf(threadId));
    }
    expect(site.callsOf("settled", "act")).toBe(0);
  });

  it("[UX-09] finishes what waits for approval, what is queued behind it, and new work", async () => {
    const thread = site.thread(ASKED);
    const before = await recordsOf(thread);
    const [, asking = "", queued = ""] = idsOf(ASKED);
    await approve(site, ASKED);
    for (const id of [asking, queued]) expect((await shownTo(thread, id)).results).toHaveLength(1);
    await thread.run("courier", { job: "new", turns: [["note"]] });
    expect([site.callsOf("asking", "guarded"), site.callsOf("queued", "act")]).toEqual([1, 1]);
    expect((await recordsOf(thread)).slice(0, before.length)).toEqual(before);
    expect((await thread.verify()).fault).toBeNull();
    expect(await thread.usage()).toMatchObject({ settled: 4, owed: [] });
  });

  it("[UX-09, THR-13] leaves tables of this code's, with every row of the release's log in its place", async () => {
    await site.kill();
    for (const threadId of [ASKED, OWED]) {
      expect(tagsOf(site.storage, threadId)).toEqual(TAGS);
      const rows = readStoredThread(FIXTURE, threadId).tables["batches"] ?? [];
      const now = readStoredThread(site.storage, threadId).tables["batches"] ?? [];
      expect(rows.length).toBeGreaterThan(0);
      expect(now.slice(0, rows.length)).toEqual(rows);
    }
    expect(site.logLines('"level":"error"')).toEqual([]);
  });
});

describe("older code on newer storage", () => {
  it("[UX-09, RTM-02, THR-13] refuses, changes no table and keeps the alarm; this code then goes on", async () => {
    const site = await Site.open();
    try {
      await rollBackAndForward(site);
    } finally {
      await site.close();
    }
  });

  async function rollBackAndForward(site: Site): Promise<void> {
    await site.deploy(bundles, "first");
    const submit = async (job: string, threadId: string, calls: ["guarded"][] = []) =>
      (await site.thread(threadId).submit("courier", { job, turns: calls })).receipt.submissionId;
    await site.thread("asking").run("courier", { job: "settled", turns: [["act"]] });
    const asking = await submit("asking", "asking", [["guarded"]]);
    await waitingFor(site.thread("asking"), asking, "approval");
    const { operationId } = await soleOperation(site.thread("asking"));
    const calling = site.hold("calling", "model-1");
    const owed = await submit("calling", "calling");
    await calling;
    await site.kill();
    const threads = ["asking", "calling"];
    const before = threads.map((thread) => readStoredThread(site.storage, thread).tables);

    await site.deploy(bundles, "older");
    // One is woken by its alarm, the other by requests.
    await eventually("the alarm is refused", () =>
      site.logLines('"schema-refused"').length > 0 ? true : null,
    );
    const refused = { code: "Unavailable", fields: { status: 503, reason: "schema" } };
    const decision = { operationId, decision: "approve", reason: "The test tries." } as const;
    for (const threadId of threads) {
      const thread = site.thread(threadId);
      await expect(thread.get()).rejects.toMatchObject(refused);
      await expect(thread.explain()).rejects.toMatchObject(refused);
      await expect(submit("more", threadId)).rejects.toMatchObject(refused);
      await expect(thread.decide([decision])).rejects.toMatchObject(refused);
    }
    await expect(site.thread("asking").abort(asking)).rejects.toMatchObject(refused);
    const killedAt = Date.now();
    await site.kill();
    const after = threads.map((thread) => readStoredThread(site.storage, thread));
    expect(after.map(({ tables }) => tables)).toEqual(before);
    for (const { alarmAt } of after) {
      expect(alarmAt).toBeGreaterThan(killedAt);
      expect(alarmAt).toBeLessThanOrEqual(killedAt + FAULTED_RECHECK_MILLIS);
    }
    expect([site.callsOf("asking", "guarded"), site.callsOf("settled", "act")]).toEqual([0, 1]);

    await site.deploy(bundles, "first");
    await approve(site, "asking");
    expect((await shownTo(site.thread("asking"), asking)).results).toHaveLength(1);
    expect((await shownTo(site.thread("calling"), owed)).results).toEqual([]);
    for (const threadId of threads) {
      expect((await site.thread(threadId).verify()).fault).toBeNull();
    }
  }
});
