// Work that one built deployment accepted, and was killed with, under the next one: another revision of its agent, on the same storage.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DecisionKind } from "../../shared/wire/operations.ts";
import { buildBundle } from "./build-bundle.ts";
import { eventually } from "./eventually.ts";
import type { ToolName } from "./job.ts";
import { recordsOf, shownTo, Site, soleOperation, turnsOf, waitingFor } from "./site.ts";

const FIRST = "Deliver, by the first revision.";
const SECOND = "Deliver, by the second revision.";

const bundles = mkdtempSync(join(tmpdir(), "holdfast-bundles-"));
let site: Site;
/** By thread; each has one submission, but for `queue`. */
const submitted = new Map<string, string>();

/** Submits a job of the thread's name and one turn of calls. */
async function submit(thread: string, calls: readonly ToolName[], job = thread): Promise<void> {
  const turns = calls.length === 0 ? [] : [[...calls]];
  const { receipt } = await site.thread(thread).submit("courier", { job, turns });
  submitted.set(job, receipt.submissionId);
}

function idOf(job: string): string {
  const id = submitted.get(job);
  if (id === undefined) throw new Error(`${job} was not submitted`);
  return id;
}

/** Killed while the handler runs: the call arrived, and its answer never came. */
async function dispatch(thread: string, tool: ToolName): Promise<void> {
  const arrived = site.hold(thread, tool);
  await submit(thread, [tool]);
  await arrived;
}

async function ask(thread: string, tool: ToolName): Promise<void> {
  await submit(thread, [tool]);
  await waitingFor(site.thread(thread), idOf(thread), "approval");
}

beforeAll(async () => {
  await Promise.all(["first", "second"].map((name) => buildBundle(name, name, bundles)));
  site = await Site.open();
  await site.deploy(bundles, "first");
  const calling = site.hold("queue", "model-1");
  await submit("queue", []);
  await submit("queue", [], "behind");
  await calling;
  await dispatch("acting", "act");
  await dispatch("noting", "note");
  await dispatch("denied-noting", "note");
  await dispatch("reading", "look_up");
  await ask("asking", "guarded");
  await ask("asking-dropped", "dropped");
  await site.kill();
  await site.deploy(bundles, "second");
}, 60_000);

afterAll(async () => {
  await site.close();
  rmSync(bundles, { recursive: true });
});

/** Under the second deployment. */
async function decide(
  thread: string,
  decision: DecisionKind,
  more: { readonly result?: string } = {},
): Promise<void> {
  const { operationId } = await soleOperation(site.thread(thread));
  await site.thread(thread).decide([{ operationId, decision, reason: "The test knows.", ...more }]);
}

async function logOf(thread: string) {
  const records = await recordsOf(site.thread(thread));
  expect((await site.thread(thread).verify()).fault).toBeNull();
  const settled = records.filter(({ type }) => type === "SubmissionSettled");
  const started = records.flatMap((record) =>
    record.type === "RunStarted"
      ? [`revision ${record.payload.revision} by ${record.deploymentId}`]
      : [],
  );
  const results = records.flatMap((record) =>
    record.type === "ToolSettled"
      ? [`${record.payload.toolName}: ${record.payload.outcome} by ${record.payload.by}`]
      : [],
  );
  return { settled: settled.length, started, turns: turnsOf(records), results };
}

describe("work that had not been begun", () => {
  it("[THR-08] is begun by the later deployment, without any request, under its revision", async () => {
    await eventually("the queued work calls its model", () =>
      site.arrivals.some(({ job, step }) => job === "behind" && step === "model-1") ? true : null,
    );
    expect(await shownTo(site.thread("queue"), idOf("behind"))).toEqual({
      instructions: [SECOND],
      tools: ["guarded"],
      results: [],
    });
  });

  it("[THR-08, CTX-04] follows a run in its first model call, which keeps its instructions and gets the tools of the day", async () => {
    expect(await shownTo(site.thread("queue"), idOf("queue"))).toEqual({
      instructions: [FIRST],
      tools: ["guarded"],
      results: [],
    });
    await site.thread("queue").settlement(idOf("behind"));
    expect(await logOf("queue")).toEqual({
      settled: 2,
      started: ["revision 1 by first", "revision 2 by second"],
      turns: ["revision 2 by second", "revision 2 by second"],
      results: [],
    });
  });
});

describe("a call whose tool is gone", () => {
  it("[TOOL-11, TOOL-04] stays unknown where it was dispatched, until a person says what became of it", async () => {
    const thread = site.thread("acting");
    await waitingFor(thread, idOf("acting"), "unknown-outcome");
    expect(await soleOperation(thread)).toMatchObject({ kind: "unknown", toolName: "act" });
    await decide("acting", "completed", { result: "delivered" });
    expect((await shownTo(thread, idOf("acting"))).results).toEqual([
      'act: {"type":"text","value":"delivered"}',
    ]);
    expect(site.callsOf("acting", "act")).toBe(1);
    expect(await logOf("acting")).toEqual({
      settled: 1,
      started: ["revision 1 by first"],
      turns: ["revision 1 by first", "revision 2 by second"],
      results: ["act: success by decision"],
    });
  });

  it("[TOOL-11] stays unknown where it could have been repeated, had the tool been there", async () => {
    const thread = site.thread("noting");
    await waitingFor(thread, idOf("noting"), "unknown-outcome");
    await decide("noting", "failed");
    await thread.settlement(idOf("noting"));
    expect(site.callsOf("noting", "note")).toBe(1);
    expect(await logOf("noting")).toMatchObject({
      turns: ["revision 1 by first", "revision 2 by second"],
      results: ["note: failure by decision"],
    });
  });

  it("[TOOL-11] is unavailable once a person says that nothing was dispatched", async () => {
    const thread = site.thread("denied-noting");
    await waitingFor(thread, idOf("denied-noting"), "unknown-outcome");
    await decide("denied-noting", "never-started");
    await thread.settlement(idOf("denied-noting"));
    expect(site.callsOf("denied-noting", "note")).toBe(1);
    expect((await logOf("denied-noting")).results).toEqual(["note: unavailable by runtime"]);
  });

  it("[TOOL-11] is unavailable at once where it only read", async () => {
    expect((await shownTo(site.thread("reading"), idOf("reading"))).results).toEqual([
      expect.stringContaining("look_up is not available any more"),
    ]);
    expect(site.callsOf("reading", "look_up")).toBe(1);
    expect((await logOf("reading")).results).toEqual(["look_up: unavailable by runtime"]);
  });

  it("[TOOL-11, TOOL-05] is unavailable where it waited for an approval that came too late", async () => {
    const thread = site.thread("asking-dropped");
    await waitingFor(thread, idOf("asking-dropped"), "approval");
    await decide("asking-dropped", "approve");
    await thread.settlement(idOf("asking-dropped"));
    expect(site.callsOf("asking-dropped", "dropped")).toBe(0);
    expect(await logOf("asking-dropped")).toEqual({
      settled: 1,
      started: ["revision 1 by first"],
      turns: ["revision 1 by first", "revision 2 by second"],
      results: ["dropped: unavailable by runtime"],
    });
  });
});

describe("a call that waits for approval", () => {
  it("[THR-08, TOOL-05] runs once, as the later deployment has its tool", async () => {
    const thread = site.thread("asking");
    await waitingFor(thread, idOf("asking"), "approval");
    await decide("asking", "approve");
    expect(await shownTo(thread, idOf("asking"))).toEqual({
      instructions: [FIRST],
      tools: ["guarded"],
      results: ['guarded: {"type":"json","value":{"done":true}}'],
    });
    expect(site.callsOf("asking", "guarded")).toBe(1);
    expect((await logOf("asking")).turns).toEqual(["revision 1 by first", "revision 2 by second"]);
  });
});
