// What others' users reported about inputs and their queue, as kinds of fault: lost, doubled, stuck behind one another, racing.
import { afterEach, describe, expect, it } from "vitest";
import { must } from "../../../shared/assert.ts";
import { unwrap } from "../../../shared/wire/rpc.ts";
import { expectSound } from "../../support/expect-sound.ts";
import { resetOptions } from "../../support/test-options.ts";
import { TESTER, ThreadDriver } from "../../support/thread-driver.ts";
import { world, type CrashMode } from "../../support/world.ts";
import {
  awaitingApproval,
  exhausted,
  modelCallsOf,
  only,
  persistently,
  promptsOf,
  refusalOf,
  submit,
  unknownOutcome,
} from "./situations.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

describe("an item that cannot go on", () => {
  it.each([
    ["unknown-outcome", unknownOutcome],
    ["attempts-exhausted", exhausted],
  ] as const)(
    "field report 4: parked for %s leaves the lane: those behind it run, and it is listed wherever one looks",
    async (reason, park) => {
      const { thread, submissionId } = await park();
      for (const text of ["second", "third"]) {
        expect(await thread.run([{ text }])).toMatchObject({ output: text });
      }
      await thread.quiet();
      const { submissions } = await thread.list({ state: "waiting" });
      expect(submissions).toMatchObject([{ submissionId, wait: { reason } }]);
      expect((await thread.view()).attention).toMatchObject([{ submissionId, reason }]);
      const explained = (await thread.explain()).submissions;
      expect(explained.map((each) => each.submissionId)).toEqual([submissionId]);
      expect(explained[0]?.next).not.toBe("");
      await expectSound(thread);
    },
  );
});

describe("status", () => {
  it.each([
    "submit:after",
    "claim:after",
    "model:before-call",
    "turn:after",
    "intents:after",
    "results:after",
    "settle:inside",
    "settle:after",
    "finish-pass:after",
  ] as const)(
    "field report 8: is derived, so that after a death at %s no status outlives its turn, and what is owed has an alarm",
    async (point) => {
      const thread = new ThreadDriver("report");
      world.armCrashes({ point, mode: "sync-abort" });
      const ask = () =>
        submit(thread, [{ calls: [{ tool: "bump" }] }, { text: "ok" }], { key: "k" });
      await ask().catch(() => undefined);
      await expect.poll(() => world.disarm()).toBe(0);
      // As whoever comes first finds it, before any alarm: all views say the same, and it is what the rows say.
      const { submissions, alarm } = await thread.dump();
      const [row] = submissions;
      if (row !== undefined) {
        const isOwed = row.outcome === null;
        const { state } = await thread.submission(row.submissionId);
        const listed = await thread.list();
        expect(listed.submissions.map((each) => each.state)).toEqual([state]);
        expect(state === "settled").toBe(!isOwed);
        expect((await thread.view()).state).toBe(isOwed ? "running" : "idle");
        if (isOwed) expect(alarm).not.toBe(null);
      }
      const { receipt } = await persistently(ask);
      await thread.toQuiescence();
      expect(await thread.submission(receipt.submissionId)).toMatchObject({ state: "settled" });
      expect(await thread.view()).toMatchObject({ state: "idle", queueDepth: 0, attention: [] });
      await expectSound(thread);
    },
  );
});

describe("an admission whose answer was lost", () => {
  const modes: readonly CrashMode[] = ["throw", "abort", "sync-abort"];
  const points = ["submit:before", "submit:inside", "submit:after", "migrate:after"] as const;

  it.each(points.flatMap((point) => modes.map((mode) => [point, mode] as const)))(
    "field report 25: at %s (%s) is cleared up by the same key: one submission, one receipt, one run",
    async (point, mode) => {
      const thread = new ThreadDriver("report");
      const ask = () =>
        submit(thread, [{ calls: [{ tool: "act" }] }, { text: "ok" }], { key: "k" });
      world.armCrashes({ point, mode });
      await expect(ask()).rejects.toThrow();
      const first = await persistently(ask);
      const again = await ask();
      expect(again).toEqual({ receipt: first.receipt, replayed: true });
      await thread.toQuiescence();
      const settlement = await thread.settlement(first.receipt.submissionId);
      expect(settlement).toMatchObject({ outcome: "completed", usage: { turns: 2, toolCalls: 1 } });
      expect((await thread.dump()).submissions).toHaveLength(1);
      expect(modelCallsOf(thread)).toBe(2);
      await expectSound(thread);
    },
  );

  it("field report 25: has its receipt before any model work, so that a slow model makes no answer ambiguous", async () => {
    const thread = new ThreadDriver("report");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await submit(thread, [{ text: "ok", gate }], { key: "k" });
    await thread.arrival(gate);
    expect((await submit(thread, [{ text: "ok", gate }], { key: "k" })).receipt).toEqual(receipt);
    await thread.openGate(gate);
    await thread.settlement(receipt.submissionId);
    expect(modelCallsOf(thread)).toBe(1);
  });

  it("field report: the same key with another payload is refused, and neither answers with the old submission nor admits", async () => {
    const thread = new ThreadDriver("report");
    const plan = [{ text: "ok" }];
    const { receipt } = await submit(thread, plan, { key: "k" });
    await thread.settlement(receipt.submissionId);
    await thread.quiet();
    const before = await thread.dump();
    for (const other of [
      () => submit(thread, [{ text: "other" }], { key: "k" }),
      () => submit(thread, plan, { key: "k", agent: "frugal" }),
      () => thread.submit(plan, { key: "k" }),
    ]) {
      expect(await refusalOf(other())).toBe("IdempotencyConflict");
    }
    expect(await thread.dump()).toEqual(before);
    expect((await submit(thread, plan, { key: "k" })).receipt).toEqual(receipt);
  });
});

describe("waiting for a submission", () => {
  it("field report 26: needs no polling: a bounded wait ends with the settlement, or with what is the case by then", async () => {
    const thread = new ThreadDriver("report");
    const gate = `${thread.threadId}-model`;
    const { receipt } = await submit(thread, [{ text: "ok", gate }]);
    await thread.arrival(gate);
    const { stub, threadId } = thread;
    const of = { threadId, caller: TESTER, submissionId: receipt.submissionId };
    // Nothing yet: the waits end by themselves and say so.
    expect(unwrap(await stub.awaitSettlement({ ...of, timeoutMillis: 1 }))).toBe(null);
    const view = unwrap(await stub.getSubmission({ ...of, timeoutMillis: 1 }));
    expect(view.state).toBe("running");
    const tail = (await thread.records()).length;
    // Before the outcome is there: each way to wait is woken by it.
    const [metadata, record, submission, progress] = [
      stub.awaitSettlement({ ...of, timeoutMillis: 60_000 }),
      stub.awaitSettlementRecord({ ...of, timeoutMillis: 60_000 }),
      stub.getSubmission({ ...of, timeoutMillis: 60_000 }),
      stub.awaitProgress({ threadId, caller: TESTER, after: tail, timeoutMillis: 60_000 }),
    ];
    await thread.openGate(gate);
    expect(unwrap(await metadata)).toMatchObject({ outcome: "completed" });
    expect(unwrap(await record)).toMatchObject({ outcome: "completed", output: "ok" });
    expect(unwrap(await submission)).toMatchObject({ state: "settled" });
    expect(unwrap(await progress).tail).toBeGreaterThan(tail);
    // Afterwards it is there at once, also for an object that was not awake when it came.
    await thread.evict();
    expect(unwrap(await thread.stub.awaitSettlement(of))).toMatchObject({ outcome: "completed" });
  });
});

describe("several inputs at once", () => {
  it("field report 27: run one after the other in the order of their receipts, each whole, through a crash as well", async () => {
    const thread = new ThreadDriver("report");
    const gate = `${thread.threadId}-first`;
    const plan = (text: string) => [
      { calls: [{ tool: "bump", input: { value: text } }], text: `${text} begins` },
      { text },
    ];
    const first = await submit(thread, [{ gate, calls: [{ tool: "look" }] }, { text: "first" }]);
    await thread.arrival(gate);
    const texts = ["a", "b", "c", "d", "e", "f"];
    const accepted = await Promise.all(texts.map((text) => submit(thread, plan(text))));
    // All are durable and queued; one runs.
    const { submissions } = await thread.list();
    expect(submissions.map(({ state }) => state)).toEqual([
      "running",
      ...texts.map(() => "queued"),
    ]);
    expect(modelCallsOf(thread)).toBe(1);
    await thread.crash();
    world.armCrashes({ point: "results:after", mode: "sync-abort", hit: 4 });
    await thread.openGate(gate);
    await thread.fireAlarm().catch(() => false);
    await thread.toQuiescence();
    expect(world.disarm()).toBe(0);
    const order = [first, ...accepted]
      .map(({ receipt }) => receipt)
      .toSorted((one, other) => one.queueSequence - other.queueSequence)
      .map(({ submissionId }) => submissionId);
    // The log is one run after the other: no record of one stands among another's.
    const owners = (await thread.records()).flatMap((record) =>
      record.type === "ThreadCreated" ? [] : [record.submissionId],
    );
    expect(owners.filter((owner, index) => owner !== owners[index - 1])).toEqual(order);
    for (const submissionId of order) {
      expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    }
    await expectSound(thread);
  });
});

describe("history", () => {
  it("field report 34: is the thread's own: a submission is its new input alone, and a caller who never read the thread loses nothing of it", async () => {
    const thread = new ThreadDriver("report");
    const answers = ["one", "two", "three", "four"].map((word) => `${word} ${"x".repeat(500)}`);
    for (const [index, text] of answers.entries()) {
      const { receipt } = await thread.submit([{ text }], {
        note: thread.threadId,
        principal: `caller-${index}`,
      });
      await thread.settlement(receipt.submissionId);
    }
    const inputs = only(await thread.records(), "InputRecorded").map(({ payload }) =>
      JSON.stringify(payload.input),
    );
    expect(inputs).toHaveLength(answers.length);
    for (const input of inputs) {
      expect(answers.filter((answer) => input.includes(answer))).toHaveLength(1);
    }
    const newest = JSON.stringify(must(promptsOf(thread).at(-1), "the model was asked"));
    for (const answer of answers) expect(newest).toContain(answer);
    await expectSound(thread);
  });
});

describe("a run that waits for a person", () => {
  it("field report: is not completed: it is owed, says for what, and ends no wait and no stream as settled", async () => {
    const { thread, submissionId, operation } = await awaitingApproval();
    for (const look of [() => Promise.resolve(), () => thread.evict(), () => thread.crash()]) {
      await look();
      const view = await thread.submission(submissionId);
      expect(view.state).toBe("waiting");
      expect(view.settlement).toBeUndefined();
      expect(view.wait).toMatchObject({
        reason: "approval",
        operationIds: [operation.operationId],
      });
      const of = { threadId: thread.threadId, caller: TESTER, submissionId };
      expect(unwrap(await thread.stub.awaitSettlement({ ...of, timeoutMillis: 1 }))).toBe(null);
      expect((await thread.list({ state: "settled" })).submissions).toEqual([]);
      expect((await thread.explain()).submissions[0]).toMatchObject({ state: "waiting" });
      expect(only(await thread.records(), "SubmissionSettled")).toEqual([]);
    }
    await thread.abort(submissionId);
  });
});
