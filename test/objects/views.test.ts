// The views of a thread over a real object: the thread at a glance, the list of its submissions, and what it spent.
import { afterEach, describe, expect, it } from "vitest";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { toIsoInstant } from "../../shared/time.ts";
import type { SubmissionState, SubmissionSummary } from "../../shared/wire/submission.ts";
import { addUsage, NO_RUN_USAGE, NO_USAGE } from "../../shared/wire/usage.ts";
import { expectSound } from "../support/expect-sound.ts";
import { meter } from "../support/storage-meter.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

const HOURS = 3_600_000;
const done = { text: "done" };

async function everySubmission(thread: ThreadDriver): Promise<SubmissionSummary[]> {
  const { submissions, next } = await thread.list({ limit: 100 });
  expect(next).toBeNull();
  return submissions;
}

/** Expects that the views agree: with one another, with each submission's own view, and with the explanation. */
async function expectAgreement(thread: ThreadDriver): Promise<void> {
  const listed = await everySubmission(thread);
  const views = await Promise.all(
    listed.map(({ submissionId }) => thread.submission(submissionId)),
  );
  expect(listed).toEqual(
    views.map(({ usage: _usage, settlement, ...view }) => ({
      ...view,
      ...(settlement === undefined ? {} : { outcome: settlement.outcome }),
    })),
  );
  const owed = views.filter(({ settlement }) => settlement === undefined);
  const explanation = await thread.explain();
  const view = await thread.view();
  expect(view).toMatchObject({
    threadId: thread.threadId,
    tail: (await thread.records()).length,
    state: explanation.state,
    queueDepth: owed.length,
  });
  expect(explanation).toMatchObject({ tail: view.tail, queueDepth: view.queueDepth });
  expect(view.attention).toEqual(
    owed.flatMap(({ submissionId, wait }) => {
      if (wait === undefined || wait.reason === "retry-backoff") return [];
      const { attempts: _attempts, ...shown } = wait;
      return [{ submissionId, ...shown }];
    }),
  );
  expect(await thread.usage()).toEqual({
    threadId: thread.threadId,
    usage: views.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE),
    settled: views.length - owed.length,
    owed: owed.map(({ submissionId, usage }) => ({ submissionId, usage })),
  });
}

/** A run that waits at a gate of its model, in its first turn. */
async function running(thread: ThreadDriver, gate: string): Promise<string> {
  const { receipt } = await thread.submit([{ ...done, gate }]);
  await thread.arrival(gate);
  return receipt.submissionId;
}

async function awaitingApproval(thread: ThreadDriver): Promise<string> {
  const { receipt } = await thread.submit([{ calls: [{ tool: "guarded" }] }, done]);
  await thread.waitingFor(receipt.submissionId, "approval");
  await thread.quiet();
  return receipt.submissionId;
}

/** A run that is parked because its external call was in flight when its object died. */
async function parked(thread: ThreadDriver): Promise<string> {
  const gate = `${thread.threadId}-flight`;
  const flight = { tool: "act", input: { behave: "deaf-gate", gate } };
  const { receipt } = await thread.submit([{ calls: [flight] }, done]);
  await thread.arrival(gate);
  await thread.crash();
  await thread.runAlarms(5, 60_000);
  await thread.waitingFor(receipt.submissionId, "unknown-outcome");
  await thread.quiet();
  return receipt.submissionId;
}

describe("a thread at a glance", () => {
  it("[API-02, THR-13] is not found before its first submission, and looking creates nothing", async () => {
    const thread = new ThreadDriver("views");
    for (const look of [() => thread.view(), () => thread.list(), () => thread.usage()]) {
      const refused: unknown = await look().catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(HoldfastError);
      expect(refused).toMatchObject({ code: "ThreadNotFound" });
    }
    const tables = await thread.inObject((storage) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'threads'").toArray(),
    );
    expect(tables).toEqual([]);
    expect(await thread.alarmAt()).toBeNull();
  });

  it("[API-02] is idle when all is settled, and says since when it exists", async () => {
    const thread = new ThreadDriver("views");
    const createdAt = toIsoInstant(world.now);
    await thread.run([done]);
    world.advance(1_000);
    await thread.run([done]);
    await thread.quiet();
    const idle = {
      threadId: thread.threadId,
      tail: 9,
      state: "idle",
      queueDepth: 0,
      attention: [],
      createdAt,
    };
    expect(await thread.view()).toEqual(idle);
    await thread.evict();
    expect(await thread.view()).toEqual(idle);
    await expectAgreement(thread);
  });

  it("[API-02] names the run that is active, and counts what is queued behind it", async () => {
    const thread = new ThreadDriver("views");
    const gate = `${thread.threadId}-gate`;
    const createdAt = toIsoInstant(world.now);
    const active = await running(thread, gate);
    const { receipt } = await thread.submit([done]);
    expect(await thread.view()).toEqual({
      threadId: thread.threadId,
      tail: 3,
      state: "running",
      queueDepth: 2,
      activeSubmission: active,
      attention: [],
      createdAt,
    });
    await expectAgreement(thread);
    await thread.openGate(gate);
    await thread.settlement(receipt.submissionId);
    await thread.quiet();
    expect(await thread.view()).toMatchObject({ state: "idle", queueDepth: 0 });
    await expectSound(thread);
  });

  it("[API-02] names work that nobody took up yet as the active one: it is next", async () => {
    const thread = new ThreadDriver("views");
    await thread.run([done]);
    await thread.quiet();
    // The pass fails before it claims anything, and backs off.
    world.armCrashes({ point: "claim:before", mode: "throw" });
    const { receipt } = await thread.submit([done]);
    await thread.quiet();
    expect(world.disarm()).toBe(0);
    const [, queued] = await everySubmission(thread);
    expect(queued).toMatchObject({ submissionId: receipt.submissionId, state: "queued" });
    expect(await thread.view()).toMatchObject({
      state: "running",
      queueDepth: 1,
      activeSubmission: receipt.submissionId,
      attention: [],
    });
    await thread.runAlarms(3, 60_000);
    await thread.settlement(receipt.submissionId);
    await expectAgreement(thread);
    await expectSound(thread);
  });

  it("[API-02] waits for approval with the run that the others are behind, and calls attention to it", async () => {
    const thread = new ThreadDriver("views");
    const createdAt = toIsoInstant(world.now);
    const deadline = toIsoInstant(world.now + 2 * HOURS);
    const asking = await awaitingApproval(thread);
    const { receipt } = await thread.submit([done]);
    await thread.quiet();
    const [operation] = await thread.operations();
    expect(await thread.view()).toEqual({
      threadId: thread.threadId,
      tail: 5,
      state: "waiting",
      queueDepth: 2,
      activeSubmission: asking,
      attention: [
        {
          submissionId: asking,
          reason: "approval",
          since: createdAt,
          deadline,
          operationIds: [operation?.operationId],
        },
      ],
      createdAt,
    });
    await expectAgreement(thread);
    await thread.decide(operation?.operationId ?? "", "deny");
    await thread.settlement(receipt.submissionId);
    await expectAgreement(thread);
    await expectSound(thread);
  });

  it("[API-02] waits to call a model again, which needs nobody's attention", async () => {
    const thread = new ThreadDriver("views");
    const fail = { how: "http", status: 503, times: 1 } as const;
    const { receipt } = await thread.submit([{ ...done, fail }], { note: thread.threadId });
    await thread.waitingFor(receipt.submissionId, "retry-backoff");
    await thread.quiet();
    expect(await thread.view()).toMatchObject({
      state: "waiting",
      queueDepth: 1,
      activeSubmission: receipt.submissionId,
      attention: [],
    });
    await expectAgreement(thread);
    await thread.runAlarms(3, 60_000);
    await thread.settlement(receipt.submissionId);
    await expectAgreement(thread);
    await expectSound(thread);
  });

  it("[API-02, RUN-17] has no active run while all that is owed is parked, and runs what comes later", async () => {
    const thread = new ThreadDriver("views");
    const createdAt = toIsoInstant(world.now);
    const submissionId = await parked(thread);
    const [operation] = await thread.operations();
    const attention = [
      {
        submissionId,
        reason: "unknown-outcome",
        since: toIsoInstant(world.now),
        deadline: null,
        operationIds: [operation?.operationId],
      },
    ];
    expect(await thread.view()).toEqual({
      threadId: thread.threadId,
      tail: 6,
      state: "waiting",
      queueDepth: 1,
      attention,
      createdAt,
    });
    await expectAgreement(thread);
    const gate = `${thread.threadId}-later`;
    const later = await running(thread, gate);
    expect(await thread.view()).toMatchObject({
      state: "running",
      queueDepth: 2,
      activeSubmission: later,
      attention,
    });
    await expectAgreement(thread);
    // Resolved while the later one is active, it is queued: it has no wait, and needs no attention any more.
    await thread.decide(operation?.operationId ?? "", "completed", { result: "yes" });
    expect(await thread.view()).toMatchObject({
      state: "running",
      queueDepth: 2,
      activeSubmission: later,
      attention: [],
    });
    expect((await everySubmission(thread)).map(({ state }) => state)).toEqual([
      "queued",
      "running",
    ]);
    await expectAgreement(thread);
    await thread.openGate(gate);
    await thread.settlement(submissionId);
    await expectAgreement(thread);
    await expectSound(thread);
  });

  it("[API-02, REC-10] calls attention to a run whose attempts came to nothing", async () => {
    const thread = new ThreadDriver("views");
    testOptions.authorize = () => Promise.reject(new Error("the authorizer is down"));
    const { receipt } = await thread.submit([{ calls: [{ tool: "act" }] }, done]);
    await thread.runAlarms(20, 60_000);
    const { submissionId } = receipt;
    await thread.waitingFor(submissionId, "attempts-exhausted");
    await thread.quiet();
    const view = await thread.view();
    expect(view).toMatchObject({ state: "waiting", queueDepth: 1 });
    expect(view.activeSubmission).toBeUndefined();
    expect(view.attention).toEqual([
      {
        submissionId,
        reason: "attempts-exhausted",
        since: expect.any(String),
        deadline: null,
      },
    ]);
    await expectAgreement(thread);
    testOptions.authorize = () => true;
    await thread.retry(submissionId);
    await thread.settlement(submissionId);
    await expectAgreement(thread);
    await expectSound(thread);
  });

  it("[API-02, THR-09] calls attention to work whose agent this deployment does not have", async () => {
    const thread = new ThreadDriver("views");
    const asking = await awaitingApproval(thread);
    testOptions.agents = (all) => all.filter(({ id }) => id !== "plain");
    await thread.evict();
    const [operation] = await thread.operations();
    await thread.decide(operation?.operationId ?? "", "approve");
    await thread.waitingFor(asking, "binding");
    expect(await thread.view()).toMatchObject({
      state: "waiting",
      queueDepth: 1,
      activeSubmission: asking,
      attention: [{ submissionId: asking, reason: "binding", deadline: expect.any(String) }],
    });
    expect((await thread.list({ state: "waiting" })).submissions).toHaveLength(1);
    await expectAgreement(thread);
    resetOptions();
    await thread.evict();
    await thread.toQuiescence();
    await thread.settlement(asking);
    await expectAgreement(thread);
    await expectSound(thread);
  });
});

describe("the list of submissions", () => {
  /** One of everything: completed, failed, parked, aborted in the queue, running, and two that are queued. */
  async function mixed() {
    const thread = new ThreadDriver("views");
    await thread.run([{ calls: [{ tool: "look" }] }, done]);
    await thread.run([{ fail: { how: "http", status: 400 } }]);
    await parked(thread);
    const gate = `${thread.threadId}-gate`;
    const active = await running(thread, gate);
    const dequeued = await thread.submit([done]);
    await thread.submit([done]);
    const last = await thread.submit([done]);
    await thread.abort(dequeued.receipt.submissionId);
    return { thread, gate, active, last: last.receipt.submissionId };
  }

  it("[API-02] goes by queue sequence, and shows each as its own view does", async () => {
    const { thread, gate, last } = await mixed();
    const all = await everySubmission(thread);
    expect(
      all.map(({ queueSequence, state, outcome, wait }) => [
        queueSequence,
        state,
        outcome ?? wait?.reason,
      ]),
    ).toEqual([
      [1, "settled", "completed"],
      [2, "settled", "failed"],
      [3, "waiting", "unknown-outcome"],
      [4, "running", undefined],
      [5, "settled", "aborted"],
      [6, "queued", undefined],
      [7, "queued", undefined],
    ]);
    await expectAgreement(thread);
    await thread.openGate(gate);
    await thread.settlement(last);
    await expectAgreement(thread);
    await expectSound(thread);
  });

  it("[API-02] pages at every boundary, over all of them and over each state", async () => {
    const { thread, gate, last } = await mixed();
    const all = await everySubmission(thread);
    const states: (SubmissionState | undefined)[] = [
      undefined,
      "queued",
      "running",
      "waiting",
      "settled",
    ];
    for (const state of states) {
      const of = state === undefined ? {} : { state };
      const fitting = all.filter((each) => state === undefined || each.state === state);
      for (let after = 0; after <= all.length + 1; after += 1) {
        const rest = fitting.filter(({ queueSequence }) => queueSequence > after);
        for (let limit = 1; limit <= all.length + 1; limit += 1) {
          const submissions = rest.slice(0, limit);
          const next = rest.length > limit ? submissions.at(-1)?.queueSequence : null;
          const page = await thread.list({ ...of, after, limit });
          expect({ state, after, limit, ...page }).toEqual({
            state,
            after,
            limit,
            submissions,
            next,
          });
        }
      }
    }
    await thread.openGate(gate);
    await thread.settlement(last);
  });

  it("[API-02] takes 50 to a page where no limit is asked for", async () => {
    const thread = new ThreadDriver("views");
    const gate = `${thread.threadId}-gate`;
    const active = await running(thread, gate);
    for (let more = 0; more < 50; more += 1) await thread.submit([done]);
    const first = await thread.list();
    expect(first.submissions.map(({ queueSequence }) => queueSequence)).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
    expect(first.next).toBe(50);
    const second = await thread.list({ after: 50 });
    expect(second.submissions.map(({ queueSequence }) => queueSequence)).toEqual([51]);
    expect(second.next).toBeNull();
    const queued = await thread.list({ state: "queued" });
    expect(queued.submissions).toHaveLength(50);
    expect(queued.next).toBeNull();
    for (const { submissionId } of [...second.submissions, ...first.submissions.slice(1)]) {
      await thread.abort(submissionId);
    }
    await thread.openGate(gate);
    await thread.settlement(active);
    expect((await thread.list({ state: "settled" })).next).toBe(50);
    await expectSound(thread);
  });

  it("[API-02] neither repeats nor leaves out what settles while one turns the pages", async () => {
    const { thread, gate, last } = await mixed();
    const first = await thread.list({ limit: 3 });
    await thread.openGate(gate);
    await thread.settlement(last);
    const second = await thread.list({ after: first.next ?? 0 });
    expect(
      [...first.submissions, ...second.submissions].map(({ queueSequence }) => queueSequence),
    ).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it("[API-02] ends behind the last, however far behind, and refuses what is no page", async () => {
    const { thread, gate, last } = await mixed();
    for (const after of [7, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) {
      for (const of of [{}, { state: "settled" }, { state: "queued" }] as const) {
        expect(await thread.list({ ...of, after })).toEqual({ submissions: [], next: null });
      }
    }
    for (const page of [
      { limit: 0 },
      { limit: 101 },
      { limit: 1.5 },
      { after: -1 },
      { after: 0.5 },
      { after: Number.MAX_SAFE_INTEGER + 1 },
    ]) {
      const refused: unknown = await thread.list(page).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: "MalformedRequest" });
    }
    await thread.openGate(gate);
    await thread.settlement(last);
  });
});

describe("usage", () => {
  it("[API-02, RUN-08] sums settled and open runs, through failures, aborts, crashes and evictions", async () => {
    const thread = new ThreadDriver("views");
    // Two turns and two tool calls.
    await thread.run([
      { calls: [{ tool: "look" }, { tool: "act" }], inputTokens: 100, outputTokens: 7 },
      { ...done, inputTokens: 11, outputTokens: 3 },
    ]);
    await expectAgreement(thread);
    // A model call that failed in passing, and one that failed for good.
    const passing = { how: "error-part", status: 503, times: 1 } as const;
    const { receipt: retried } = await thread.submit([{ ...done, fail: passing }], {
      note: thread.threadId,
    });
    await thread.waitingFor(retried.submissionId, "retry-backoff");
    await expectAgreement(thread);
    await thread.runAlarms(3, 60_000);
    await thread.settlement(retried.submissionId);
    await thread.run([{ fail: { how: "http", status: 400 } }]);
    await expectAgreement(thread);
    // An abort in the second turn keeps what the first one spent.
    const gate = `${thread.threadId}-abort`;
    const { receipt: aborted } = await thread.submit([
      { calls: [{ tool: "look" }], inputTokens: 1_000 },
      { ...done, gate },
    ]);
    await thread.arrival(gate);
    await expectAgreement(thread);
    await thread.abort(aborted.submissionId);
    await thread.settlement(aborted.submissionId);
    await expectAgreement(thread);
    // A model call that a crash took is counted as interrupted, once it is repeated.
    const lost = `${thread.threadId}-lost`;
    const { receipt: interrupted } = await thread.submit([
      { calls: [{ tool: "bump" }] },
      { ...done, gate: lost },
    ]);
    await thread.arrival(lost);
    await thread.crash();
    await expectAgreement(thread);
    await thread.resume(lost);
    await thread.settlement(interrupted.submissionId);
    await thread.quiet();
    await expectAgreement(thread);
    // A parked run and one that waits stay owed over an eviction.
    const owed = [await parked(thread), await awaitingApproval(thread)];
    const before = await thread.usage();
    expect(before.owed.map(({ submissionId }) => submissionId)).toEqual(owed);
    await expectAgreement(thread);
    await thread.evict();
    expect(await thread.usage()).toEqual(before);
    expect(before.usage).toEqual({
      inputTokens: 100 + 11 + 10 + 1_000 + 10 + 10 + 10 + 10,
      outputTokens: 7 + 3 + 5 + 5 + 5 + 5 + 5 + 5,
      cacheReadInputTokens: 0,
      cacheWriteInputTokens: 0,
      turns: 8,
      toolCalls: 2 + 1 + 1 + 1,
      failedModelCalls: 2,
      interruptedModelCalls: 1,
      costMicrousd: 1_161 * 2 + 40 * 10,
      unpricedModelCalls: 0,
    });
    expect(before.settled).toBe(5);
    await expectSound(thread);
  });

  it("[API-02] is nothing of work that never ran", async () => {
    const thread = new ThreadDriver("views");
    const asking = await awaitingApproval(thread);
    const { receipt } = await thread.submit([done]);
    await thread.quiet();
    const { usage, owed } = await thread.usage();
    const asked = { ...usage, lastInputTokens: 10, lastOutputTokens: 5 };
    expect(owed).toEqual([
      { submissionId: asking, usage: asked },
      { submissionId: receipt.submissionId, usage: NO_RUN_USAGE },
    ]);
    await thread.abort(receipt.submissionId);
    expect(await thread.usage()).toEqual({
      threadId: thread.threadId,
      usage,
      settled: 1,
      owed: [{ submissionId: asking, usage: asked }],
    });
    await expectAgreement(thread);
  });

  it("[API-02] stops at the largest count that is exact, whatever a provider says that a call used", async () => {
    const thread = new ThreadDriver("views");
    const absurd = { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: 1 };
    const { receipt } = await thread.submit([
      { calls: [{ tool: "look" }], ...absurd },
      { ...done, ...absurd },
    ]);
    const settlement = await thread.settlement(receipt.submissionId);
    expect(settlement.usage).toMatchObject({ ...absurd, outputTokens: 2, turns: 2 });
    await expectAgreement(thread);
    // The log is whole, and so the thread goes on, also from the log alone.
    await thread.quiet();
    await thread.evict();
    expect(await thread.run([{ ...done, ...absurd }])).toMatchObject({ outcome: "completed" });
    expect((await thread.usage()).usage).toMatchObject({ ...absurd, outputTokens: 3, turns: 3 });
    await expectAgreement(thread);
    await expectSound(thread);
  });

  it("[API-02] is not stopped by a run whose records cannot be read, and nor are the other views", async () => {
    const thread = new ThreadDriver("views");
    await thread.run([done]);
    const asking = await awaitingApproval(thread);
    const before = await thread.usage();
    await thread.inObject((storage) => {
      storage.sql.exec("UPDATE batches SET records = '{}' WHERE run = 2");
    });
    await thread.evict();
    expect(await thread.usage()).toEqual({
      ...before,
      usage: before.owed.reduce(
        (sum, { usage }) => ({
          ...sum,
          turns: sum.turns - usage.turns,
          inputTokens: sum.inputTokens - usage.inputTokens,
          outputTokens: sum.outputTokens - usage.outputTokens,
          costMicrousd: sum.costMicrousd - usage.costMicrousd,
        }),
        before.usage,
      ),
      owed: [{ submissionId: asking, usage: NO_RUN_USAGE }],
    });
    expect(await thread.view()).toMatchObject({ state: "waiting", activeSubmission: asking });
    expect((await thread.list({ state: "waiting" })).submissions).toMatchObject([
      { submissionId: asking, wait: { reason: "approval" } },
    ]);
  });

  it("[API-02, PERF-04] asks as few statements of an old thread as of a young one, and writes nothing", async () => {
    const costs = async (thread: ThreadDriver) => {
      await thread.quiet();
      const all = [];
      for (const look of [
        () => thread.usage(),
        () => thread.view(),
        () => thread.list({ limit: 1 }),
        () => thread.list({ state: "queued" }),
      ]) {
        await thread.evict();
        all.push(await meter(thread, look));
      }
      return all;
    };
    const thread = new ThreadDriver("views");
    await thread.run([done]);
    await thread.run([done]);
    const young = await costs(thread);
    for (let run = 0; run < 20; run += 1) await thread.run([done]);
    const old = await costs(thread);
    expect(old.map(({ statements }) => statements)).toEqual(
      young.map(({ statements }) => statements),
    );
    for (const { rowsWritten, alarmWrites, statements } of old) {
      expect({ rowsWritten, alarmWrites }).toEqual({ rowsWritten: 0, alarmWrites: 0 });
      expect(statements).toBeLessThanOrEqual(12);
    }
    // All but the sum read the same rows too: they look at what is owed, or at one page.
    expect(old.slice(1)).toEqual(young.slice(1));
  });
});
