// Work whose agent a built deployment does not have, or has twice: it waits on the disk, costs nothing, and the next deployment takes it up.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildBundle } from "./build-bundle.ts";
import { eventually } from "./eventually.ts";
import type { ToolName } from "./job.ts";
import { recordsOf, shownTo, Site, soleOperation, turnsOf, waitingFor } from "./site.ts";
import { readStoredThread } from "./stored-thread.ts";

const bundles = mkdtempSync(join(tmpdir(), "holdfast-bundles-"));
const sites: Site[] = [];

beforeAll(async () => {
  const names = ["first", "second", "without-courier", "doubled", "selecting"];
  await Promise.all(names.map((name) => buildBundle(name, name, bundles)));
}, 60_000);

afterAll(async () => {
  await Promise.all(sites.map((site) => site.close()));
  rmSync(bundles, { recursive: true });
});

async function openSite(): Promise<Site> {
  const site = await Site.open();
  sites.push(site);
  await site.deploy(bundles, "first");
  return site;
}

async function submit(
  site: Site,
  job: string,
  { thread = job, turns = [] }: { thread?: string; turns?: ToolName[][] },
): Promise<string> {
  const { receipt } = await site.thread(thread).submit("courier", { job, turns });
  return receipt.submissionId;
}

/** A submission that waits for approval. */
async function ask(site: Site, thread: string): Promise<string> {
  const submissionId = await submit(site, thread, { turns: [["guarded"]] });
  await waitingFor(site.thread(thread), submissionId, "approval");
  return submissionId;
}

async function approve(site: Site, thread: string): Promise<void> {
  const { operationId } = await soleOperation(site.thread(thread));
  await site
    .thread(thread)
    .decide([{ operationId, decision: "approve", reason: "The test allows it." }]);
}

/** A submission in its first model call when the server is killed. */
async function begin(site: Site, thread: string): Promise<string> {
  const calling = site.hold(thread, "model-1");
  const submissionId = await submit(site, thread, {});
  await calling;
  return submissionId;
}

const reportsOf = (site: Site, thread: string): number =>
  site.logLines('"binding-missing"', `"${thread}"`).length;

describe("a deployment without the agent", () => {
  it("[THR-09] has it wait with a reason and no alarm but the run's deadline, and does not look for it again", async () => {
    const site = await openSite();
    const begun = await begin(site, "begun");
    const head = await ask(site, "unbegun");
    const unbegun = await submit(site, "behind", { thread: "unbegun" });
    await site.kill();
    await site.deploy(bundles, "without-courier");

    // The alarm of the run that was killed finds no agent, before any request comes.
    await eventually("a report", () => (reportsOf(site, "begun") > 0 ? true : null));
    const { wait } = await waitingFor(site.thread("begun"), begun, "binding");
    const { submissions, alarm } = await site.thread("begun").explain();
    expect(submissions).toMatchObject([{ why: expect.stringContaining("no agent courier") }]);
    expect(wait?.deadline).not.toBeNull();
    expect(alarm).toEqual({ reason: "run-deadline", dueAt: wait?.deadline });

    // Work that never ran has no deadline either.
    expect((await site.thread("unbegun").abort(head)).effect).toBe("signalled");
    const view = await waitingFor(site.thread("unbegun"), unbegun, "binding");
    expect(view.wait?.deadline).toBeNull();
    expect((await site.thread("unbegun").explain()).alarm.dueAt).toBeNull();
    await site.kill();
    expect(readStoredThread(site.storage, "unbegun").alarmAt).toBeNull();
    expect(readStoredThread(site.storage, "begun").alarmAt).toBe(Date.parse(wait?.deadline ?? ""));

    // The same deployment again: nothing is looked for, and nothing is reported a second time.
    await site.deploy(bundles, "without-courier");
    await waitingFor(site.thread("begun"), begun, "binding");
    await waitingFor(site.thread("unbegun"), unbegun, "binding");
    expect([reportsOf(site, "begun"), reportsOf(site, "unbegun")]).toEqual([1, 1]);
    expect((await site.thread("begun").explain()).alarm).toEqual(alarm);
    await site.kill();

    await site.deploy(bundles, "second");
    // Any request of it wakes an object, and that is enough.
    await site.thread("begun").get();
    expect((await shownTo(site.thread("begun"), begun)).tools).toEqual(["guarded"]);
    await site.thread("unbegun").get();
    expect((await shownTo(site.thread("unbegun"), unbegun)).instructions).toEqual([
      "Deliver, by the second revision.",
    ]);
    for (const thread of ["begun", "unbegun"]) {
      expect((await site.thread(thread).verify()).fault).toBeNull();
    }
    const turns = turnsOf(await recordsOf(site.thread("unbegun")));
    expect(turns).toEqual(["revision 1 by first", "revision 2 by second"]);
  });

  it("[THR-09] runs other agents, aborts what waits, replays its key, and admits no more of it", async () => {
    const site = await openSite();
    const submissionId = await ask(site, "asking");
    const input = { job: "keyed", turns: [] };
    const key = { idempotencyKey: "the-key" };
    const { receipt } = await site.thread("asking").submit("courier", input, key);
    await site.kill();
    await site.deploy(bundles, "without-courier");
    const thread = site.thread("asking");
    await approve(site, "asking");
    await waitingFor(thread, submissionId, "binding");
    expect(await thread.submit("courier", input, key)).toMatchObject({ receipt, replayed: true });
    await expect(thread.submit("courier", input)).rejects.toMatchObject({ code: "AgentNotFound" });
    const { settlement } = await site.thread("office").run("clerk", { job: "desk", turns: [] });
    expect(settlement.outcome).toBe("completed");
    for (const id of [submissionId, receipt.submissionId]) {
      await thread.abort(id);
      expect(await thread.settlement(id)).toMatchObject({ outcome: "aborted" });
    }
    expect(await thread.explain()).toMatchObject({ state: "idle", alarm: { dueAt: null } });
    expect(site.callsOf("asking", "guarded")).toBe(0);
    expect((await thread.verify()).fault).toBeNull();
  });
});

describe("work in the middle of something, without its agent", () => {
  it("[THR-09, TOOL-04] keeps a call that may have happened, and an abort says so", async () => {
    const site = await openSite();
    const acting = site.hold("acting", "act");
    const aborted = await submit(site, "acting", { turns: [["act"]] });
    await acting;
    const again = site.hold("again", "act");
    const kept = await submit(site, "again", { turns: [["act"]] });
    await again;
    await site.kill();
    await site.deploy(bundles, "without-courier");
    await waitingFor(site.thread("acting"), aborted, "binding");
    await waitingFor(site.thread("again"), kept, "binding");
    const { settlement } = await site.thread("acting").abort(aborted);
    expect(settlement).toMatchObject({ outcome: "aborted", unknowns: [expect.any(String)] });
    await site.kill();
    await site.deploy(bundles, "first");
    // The tool is there again, and is still not run a second time.
    await waitingFor(site.thread("again"), kept, "unknown-outcome");
    expect(await soleOperation(site.thread("again"))).toMatchObject({ kind: "unknown" });
    expect([site.callsOf("acting", "act"), site.callsOf("again", "act")]).toEqual([1, 1]);
  });

  it("[THR-09, RUN-09] keeps what was to join it, and takes it in once it goes on", async () => {
    const site = await openSite();
    const head = await begin(site, "head");
    const thread = site.thread("head");
    const input = { job: "joining", turns: [] };
    const { receipt } = await thread.submit("courier", input, { onBusy: "join" });
    await site.kill();
    await site.deploy(bundles, "without-courier");
    await waitingFor(site.thread("head"), head, "binding");
    expect((await site.thread("head").submission(receipt.submissionId)).state).toBe("queued");
    await site.kill();
    await site.deploy(bundles, "second");
    expect(await site.thread("head").settlement(receipt.submissionId)).toMatchObject({
      outcome: "completed",
      host: { submissionId: head },
    });
    expect(turnsOf(await recordsOf(site.thread("head")))).toEqual(["revision 2 by second"]);
    expect((await site.thread("head").verify()).fault).toBeNull();
  });
});

describe("a deployment with the agent twice", () => {
  it("[THR-09, THR-08] has it wait too, until one comes that selects, for old work and for new", async () => {
    const site = await openSite();
    const submissionId = await ask(site, "asking");
    await site.kill();
    await site.deploy(bundles, "doubled");
    await approve(site, "asking");
    await waitingFor(site.thread("asking"), submissionId, "binding");
    await expect(submit(site, "new", {})).rejects.toMatchObject({
      code: "Unavailable",
      fields: { status: 503, reason: "binding" },
    });
    expect(site.callsOf("asking", "guarded")).toBe(0);
    await site.kill();
    await site.deploy(bundles, "selecting");
    const thread = site.thread("asking");
    expect((await shownTo(thread, submissionId)).tools).toEqual(["guarded"]);
    expect(site.callsOf("asking", "guarded")).toBe(1);
    for (const revision of [1, 2]) {
      await thread.run("courier", { job: `new-${revision}`, turns: [], revision });
    }
    expect(turnsOf(await recordsOf(thread))).toEqual([
      "revision 1 by first",
      "revision 2 by selecting",
      "revision 1 by selecting",
      "revision 2 by selecting",
    ]);
    expect((await thread.verify()).fault).toBeNull();
  });
});
