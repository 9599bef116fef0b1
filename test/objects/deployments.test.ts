// Work that one deployment accepted and another one runs: other revisions, agents that are gone, doubled or selected, and storage that this
// code must not touch.
import { afterEach, describe, expect, it, vi } from "vitest";
import { defineAgent, type Agent } from "../../shared/define/index.ts";
import { expectSound } from "../support/expect-sound.ts";
import { ScriptedInputSchema } from "../support/scripted-model.ts";
import { plainAgent, tools } from "../support/test-agents.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

/** How often it was said that the thread's work has no agent here. */
function reportsOf(warned: { mock: { calls: unknown[][] } }, { threadId }: ThreadDriver): number {
  return warned.mock.calls
    .map(([line]) => String(line))
    .filter((line) => line.includes('"binding-missing"') && line.includes(`"${threadId}"`)).length;
}

const without = (id: string) => (all: readonly Agent[]) => all.filter((agent) => agent.id !== id);

/** The plain agent as a later deployment has it. */
const revised = defineAgent({
  id: "plain",
  revision: 2,
  description: "An agent of the tests, later.",
  input: ScriptedInputSchema,
  instructions: "Follow the plan, as of later.",
  model: "test/scripted",
  tools,
  policy: { maxDuration: "2 hours" },
});

async function deploy(
  thread: ThreadDriver,
  agents: (all: readonly Agent[]) => readonly Agent[],
): Promise<void> {
  testOptions.agents = agents;
  await thread.evict();
}

/** A run that waits for approval after one turn. */
async function asking() {
  const thread = new ThreadDriver("deployed");
  const { receipt } = await thread.submit([{ calls: [{ tool: "guarded" }] }, { text: "done" }]);
  await thread.waitingFor(receipt.submissionId, "approval");
  await thread.quiet();
  const [operation] = await thread.operations();
  return { thread, submissionId: receipt.submissionId, operationId: operation?.operationId ?? "" };
}

describe("a later revision", () => {
  it("[THR-08] goes on with accepted work, and each turn says which revision ran it", async () => {
    const { thread, submissionId, operationId } = await asking();
    await deploy(thread, (all) => [...without("plain")(all), revised]);
    await thread.decide(operationId, "approve");
    expect(await thread.settlement(submissionId)).toMatchObject({ output: "done" });
    const records = await thread.records();
    expect(
      records.flatMap((record) =>
        record.type === "ModelResponded" ? [record.payload.revision] : [],
      ),
    ).toEqual([1, 2]);
    const start = records.find(({ type }) => type === "RunStarted");
    expect(start).toMatchObject({ payload: { revision: 1, instructions: "Follow the plan." } });
    expect(new Set(records.map(({ deploymentId }) => deploymentId)).size).toBe(1);
    await expectSound(thread);
  });
});

describe("an agent that is gone", () => {
  it("[THR-09] parks its work once, with a reason and no alarm but the run's deadline", async () => {
    const warned = vi.spyOn(console, "warn").mockReturnValue();
    const { thread, submissionId, operationId } = await asking();
    await deploy(thread, without("plain"));
    await thread.decide(operationId, "approve");
    const view = await thread.waitingFor(submissionId, "binding");
    await thread.quiet();
    expect(await thread.alarmAt()).toBe(Date.parse(view.wait?.deadline ?? ""));
    const explained = await thread.explain();
    expect(explained.submissions[0]?.why).toContain("no agent plain");
    expect(reportsOf(warned, thread)).toBe(1);
    // It survives an eviction, and is not reported again.
    await thread.evict();
    await thread.waitingFor(submissionId, "binding");
    await thread.quiet();
    expect(reportsOf(warned, thread)).toBe(1);
    warned.mockRestore();
    await deploy(thread, (all) => all);
    await thread.toQuiescence();
    expect(await thread.settlement(submissionId)).toMatchObject({ output: "done" });
    await expectSound(thread);
  });

  it("[THR-09] arms nothing for work that never ran, and the next deployment's first call runs it", async () => {
    const thread = new ThreadDriver("deployed");
    world.armCrashes({ point: "submit:after", mode: "sync-abort" });
    await expect(thread.submit([{ text: "ok" }], { key: "k" })).rejects.toThrow();
    testOptions.agents = without("plain");
    await thread.runAlarms(1);
    const [owed] = (await thread.list()).submissions;
    expect(owed).toMatchObject({ state: "waiting", wait: { reason: "binding", deadline: null } });
    expect(await thread.alarmAt()).toBeNull();
    // The receipt is still that of the key; new work for it is refused.
    const replay = await thread.submit([{ text: "ok" }], { key: "k" });
    expect(replay.replayed).toBe(true);
    await expect(thread.submit([{ text: "no" }])).rejects.toMatchObject({ code: "AgentNotFound" });
    await deploy(thread, (all) => all);
    await thread.view();
    await thread.toQuiescence();
    expect(await thread.settlement(owed?.submissionId ?? "")).toMatchObject({ output: "ok" });
    await expectSound(thread);
  });

  it("[THR-09, RUN-07] still ends a run at its deadline", async () => {
    const { thread, submissionId, operationId } = await asking();
    await deploy(thread, without("plain"));
    await thread.decide(operationId, "approve");
    await thread.waitingFor(submissionId, "binding");
    await thread.quiet();
    await thread.runAlarms(1);
    expect(await thread.settlement(submissionId)).toMatchObject({
      outcome: "failed",
      failure: { tag: "PolicyLimitError" },
      limit: "duration",
    });
    expect(await thread.alarmAt()).toBeNull();
    await expectSound(thread);
  });

  it("[THR-09] can be aborted", async () => {
    const { thread, submissionId, operationId } = await asking();
    await deploy(thread, without("plain"));
    await thread.decide(operationId, "approve");
    await thread.waitingFor(submissionId, "binding");
    expect(await thread.abort(submissionId)).toMatchObject({
      effect: "signalled",
      settlement: { outcome: "aborted" },
    });
    await expectSound(thread);
  });
});

describe("two definitions of one id", () => {
  const both = (all: readonly Agent[]) => [...all, revised];

  it("[THR-09] park its work where nothing selects, and admit none", async () => {
    const { thread, submissionId, operationId } = await asking();
    await deploy(thread, both);
    await thread.decide(operationId, "approve");
    await thread.waitingFor(submissionId, "binding");
    await expect(thread.submit([{ text: "no" }])).rejects.toMatchObject({
      code: "Unavailable",
      fields: { reason: "binding" },
    });
    // A deployment that selects has another key, and goes on.
    testOptions.selectBinding = { key: "first", select: () => plainAgent };
    await thread.evict();
    await thread.toQuiescence();
    expect(await thread.settlement(submissionId)).toMatchObject({ output: "done" });
    await expectSound(thread);
  });

  it("[THR-08, THR-11] are selected by the submission and its metadata, at admission and in recovery", async () => {
    const asked: unknown[] = [];
    testOptions.agents = both;
    testOptions.selectBinding = {
      key: "by-note",
      select: (submission) => {
        asked.push(submission);
        return JSON.stringify(submission.input).includes('"note":"new"') ? revised : plainAgent;
      },
    };
    const thread = new ThreadDriver("deployed");
    const plan = [{ calls: [{ tool: "guarded" }] }, { text: "done" }];
    const { receipt } = await thread.submit(plan, { note: "new" });
    const { submissionId } = receipt;
    await thread.waitingFor(submissionId, "approval");
    await thread.quiet();
    await thread.evict();
    const [operation] = await thread.operations();
    await thread.decide(operation?.operationId ?? "", "approve");
    await thread.settlement(submissionId);
    const revisions = (await thread.records()).flatMap((record) =>
      record.type === "ModelResponded" ? [record.payload.revision] : [],
    );
    expect(revisions).toEqual([2, 2]);
    const { threadId } = thread;
    expect(asked[0]).toMatchObject({ threadId, submissionId: null, principal: "tester" });
    expect(asked.at(-1)).toMatchObject({ submissionId, agentId: "plain", metadata: null });
    await expectSound(thread);
  });
});

describe("input that waits to join, of a definition that is gone", () => {
  it("[RUN-09, THR-09] waits for its own binding once its host is parked, and joins no more", async () => {
    const thread = new ThreadDriver("deployed");
    const gate = `${thread.threadId}-host`;
    const call = { tool: "act", input: { behave: "gate", gate } };
    const host = await thread.submit([{ calls: [call] }, { text: "host" }]);
    await thread.arrival(gate);
    const joiner = await thread.submit([{ text: "own" }], { onBusy: "join", note: "new" });
    testOptions.selectBinding = {
      key: "old-alone",
      select: ({ input }) =>
        JSON.stringify(input).includes('"note":"new"') ? undefined : plainAgent,
    };
    testOptions.agents = (all) => [...all, revised];
    await thread.crash();
    await thread.toQuiescence();
    const { submissionId } = joiner.receipt;
    await thread.waitingFor(submissionId, "binding");
    const [operation] = await thread.operations();
    await thread.decide(operation?.operationId ?? "", "completed", { result: "seen" });
    expect(await thread.settlement(host.receipt.submissionId)).toMatchObject({ output: "host" });
    expect(await thread.submission(submissionId)).toMatchObject({
      state: "waiting",
      wait: { reason: "binding" },
    });
    testOptions.selectBinding = { key: "both", select: () => revised };
    await thread.quiet();
    await thread.evict();
    await thread.toQuiescence();
    expect(await thread.settlement(submissionId)).toMatchObject({ output: "own" });
    await expectSound(thread);
  });
});

describe("storage that this code must not touch", () => {
  it("[RTM-02, THR-13] is refused where the accounting of its tables is missing, and nothing of it changes", async () => {
    const thread = new ThreadDriver("deployed");
    await thread.run([{ text: "ok" }]);
    await thread.quiet();
    const { batches } = await thread.dump();
    await thread.inObject(({ sql }) => {
      sql.exec("DROP TABLE schema_migrations");
    });
    await thread.evict();
    await expect(thread.view()).rejects.toMatchObject({
      code: "Unavailable",
      fields: { reason: "schema" },
    });
    await expect(thread.submit([{ text: "no" }])).rejects.toMatchObject({ code: "Unavailable" });
    expect(
      (await thread.inObject(({ sql }) => sql.exec("SELECT * FROM batches").toArray())).length,
    ).toBe(batches.length);
    expect(await thread.alarmAt()).not.toBeNull();
  });
});
