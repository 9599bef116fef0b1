// The HTTP surface of a thread, as a client sees it: admission, settlement, abort, operations, records, explanation.
import { env } from "cloudflare:test";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { ThreadClient, type ThreadNamespace } from "../../durable-objects/clients/thread-client.ts";
import { MAX_WAITERS } from "../../shared/limits.ts";
import { ExplanationSchema } from "../../shared/wire/explain.ts";
import { DecideResultSchema, OperationListSchema } from "../../shared/wire/operations.ts";
import { RecordPageSchema } from "../../shared/wire/progress.ts";
import { SettlementSchema } from "../../shared/wire/settlement.ts";
import {
  AbortResultSchema,
  SubmissionViewSchema,
  SubmitResultSchema,
} from "../../shared/wire/submission.ts";
import { expectSound } from "../support/expect-sound.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { TESTER, ThreadDriver } from "../support/thread-driver.ts";
import {
  command,
  expectProblem,
  expectRefusal,
  post,
  send,
  sendBare,
  submit,
  type Answer,
} from "./http-client.ts";

afterEach(resetOptions);

const namespace = z.custom<ThreadNamespace>().parse(env.THREADS);

const WaitedSchema = z.object({
  receipt: SubmitResultSchema.shape.receipt,
  replayed: z.boolean(),
  submission: SubmissionViewSchema,
});

function receiptOf(answer: Answer) {
  return SubmitResultSchema.parse(answer.json).receipt;
}

/** Submits and returns the id. */
async function admitted(
  thread: ThreadDriver,
  body: unknown,
  key = "k1",
): Promise<{ id: string; url: string }> {
  const answer = await submit(thread.threadId, key, body);
  expect(answer.status).toBe(202);
  const id = receiptOf(answer).submissionId;
  return { id, url: `/v1/threads/${thread.threadId}/submissions/${id}` };
}

describe("POST /v1/threads/{thread}/submissions", () => {
  it("[THR-01] answers 202 with the receipt and the address of what it accepted", async () => {
    const thread = new ThreadDriver("http-submit");
    const answer = await submit(thread.threadId, "first", command([{ text: "ok" }]));
    expect(answer.status).toBe(202);
    expect(answer.headers.get("content-type")).toContain("application/json");
    expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers.get("idempotency-replayed")).toBeNull();
    const { receipt, replayed } = SubmitResultSchema.parse(answer.json);
    expect(replayed).toBe(false);
    expect(receipt).toMatchObject({
      threadId: thread.threadId,
      queueSequence: 1,
      agentId: "plain",
    });
    const location = answer.headers.get("location") ?? "";
    expect(location).toBe(`/v1/threads/${thread.threadId}/submissions/${receipt.submissionId}`);
    const read = await send(location);
    expect(read.status).toBe(200);
    expect(SubmissionViewSchema.parse(read.json)).toMatchObject(receipt);
    await thread.settlement(receipt.submissionId);
    await expectSound(thread, { receipts: [{ key: "first", receipt }] });
  });

  it("[THR-03] answers a repeat with 200, the first receipt, and Idempotency-Replayed", async () => {
    const thread = new ThreadDriver("http-replay");
    const body = command([{ text: "ok" }]);
    const first = receiptOf(await submit(thread.threadId, "same", body));
    await thread.settlement(first.submissionId);
    await thread.quiet();
    const before = await thread.dump();
    // Another spelling of the same JSON is the same command.
    const respelled = { input: body.input, agent: body.agent };
    const again = await submit(thread.threadId, "same", respelled);
    expect(again.status).toBe(200);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.headers.get("location")).toContain(first.submissionId);
    expect(again.json).toEqual({ receipt: first, replayed: true });
    expect(await thread.dump()).toEqual(before);
    await expectSound(thread, {
      receipts: [
        { key: "same", receipt: first },
        { key: "same", receipt: receiptOf(again) },
      ],
    });
  });

  it.each([
    ["input", command([{ text: "other" }])],
    ["agent", command([{ text: "ok" }], "structured")],
    ["agent that does not exist", command([{ text: "ok" }], "nobody")],
    ["input that its schema refuses", { agent: "plain", input: { plan: 1 } }],
  ])("[THR-03] refuses the same key with another %s, and changes nothing", async (_what, other) => {
    const thread = new ThreadDriver("http-conflict");
    const first = receiptOf(await submit(thread.threadId, "same", command([{ text: "ok" }])));
    await thread.settlement(first.submissionId);
    await thread.quiet();
    const before = await thread.dump();
    const problem = expectRefusal(
      await submit(thread.threadId, "same", other),
      422,
      "IdempotencyConflict",
    );
    expect(problem.detail).toContain("new key");
    expect(await thread.dump()).toEqual(before);
  });

  it("[THR-03] takes the guard expectDefinitions for no part of the command", async () => {
    const thread = new ThreadDriver("http-guard");
    const body = command([{ text: "ok" }]);
    const first = receiptOf(await submit(thread.threadId, "same", body));
    const again = await submit(thread.threadId, "same", {
      ...body,
      expectDefinitions: { agent: "0".repeat(64) },
    });
    expect(again.status).toBe(200);
    expect(receiptOf(again)).toEqual(first);
  });

  it("[THR-10] refuses digests that this deployment does not have, and names the current one", async () => {
    const thread = new ThreadDriver("http-digests");
    const body = { ...command([{ text: "ok" }]), expectDefinitions: { tools: "0".repeat(64) } };
    const problem = expectRefusal(
      await submit(thread.threadId, "k", body),
      409,
      "DefinitionMismatch",
    );
    expect(problem).toMatchObject({ definition: "tools" });
    expect(problem["current"]).toMatch(/^[0-9a-f]{64}$/);
    expect((await thread.dump()).thread).toBeNull();
  });

  it("[THR-02] refuses a submission without a key, and says how to send one", async () => {
    const thread = new ThreadDriver("http-keyless");
    const path = `/v1/threads/${thread.threadId}/submissions`;
    const problem = expectRefusal(
      await post(path, command([{ text: "ok" }])),
      400,
      "IdempotencyKeyMissing",
    );
    expect(problem.detail).toContain("Idempotency-Key");
    expect((await thread.dump()).thread).toBeNull();
  });

  it("[THR-02] scopes a key to its principal: another one's same key is other work", async () => {
    const thread = new ThreadDriver("http-scope");
    const body = command([{ text: "ok" }]);
    const mine = receiptOf(await submit(thread.threadId, "shared", body));
    const other = new ThreadClient(namespace, { ...TESTER, principal: "someone-else" });
    const theirs = await other.call("submit", {
      threadId: thread.threadId,
      idempotencyKey: "shared",
      request: body,
    });
    expect(theirs.replayed).toBe(false);
    expect(theirs.receipt.submissionId).not.toBe(mine.submissionId);
    expect(receiptOf(await submit(thread.threadId, "shared", body))).toEqual(mine);
    await thread.settlement(theirs.receipt.submissionId);
    expect((await thread.dump()).submissions.map(({ principal }) => principal)).toEqual([
      "tester",
      "someone-else",
    ]);
  });

  it("[THR-02] scopes a key to its thread", async () => {
    const body = command([{ text: "ok" }]);
    const [one, two] = [new ThreadDriver("http-scope"), new ThreadDriver("http-scope")];
    const first = receiptOf(await submit(one.threadId, "shared", body));
    const second = await submit(two.threadId, "shared", body);
    expect(second.status).toBe(202);
    expect(receiptOf(second).submissionId).not.toBe(first.submissionId);
  });

  it("[THR-04] refuses input that the agent's schema does not accept, with pointers into the body", async () => {
    const thread = new ThreadDriver("http-schema");
    const body = { agent: "plain", input: { plan: [{ text: 7 }] } };
    const problem = expectRefusal(await submit(thread.threadId, "k", body), 422, "InvalidInput");
    expect(problem.errors?.map(({ pointer }) => pointer)).toEqual(["/input/plan/0/text"]);
    expect((await thread.dump()).thread).toBeNull();
  });

  it("[THR-05] refuses an agent that is not deployed, and says which are", async () => {
    const thread = new ThreadDriver("http-agent");
    const problem = expectRefusal(
      await submit(thread.threadId, "k", command([], "nobody")),
      404,
      "AgentNotFound",
    );
    expect(problem.detail).toContain("plain");
    expect((await thread.dump()).thread).toBeNull();
  });

  it("[THR-06] refuses work past the queue's depth with 429 and Retry-After, and keeps the queue", async () => {
    const thread = new ThreadDriver("http-depth");
    testOptions.limits = { maxQueueDepth: 1 };
    const gate = `${thread.threadId}-gate`;
    const { id } = await admitted(thread, command([{ gate, text: "ok" }]));
    const answer = await submit(thread.threadId, "k2", command([{ text: "no" }]));
    const problem = expectRefusal(answer, 429, "AdmissionLimitExceeded");
    expect(problem).toMatchObject({ limit: "maxQueueDepth", current: 1, maximum: 1 });
    expect(problem.retryable).toBe(true);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect((await thread.dump()).submissions).toHaveLength(1);
    await thread.arrival(gate);
    await thread.openGate(gate);
    await thread.settlement(id);
    await expectSound(thread);
  });

  it("[THR-06] refuses input past its bytes with 413, before anything is written", async () => {
    const thread = new ThreadDriver("http-bytes");
    const body = command([{ text: "x".repeat(256 * 1024) }]);
    const problem = expectRefusal(
      await submit(thread.threadId, "k", body),
      413,
      "AdmissionLimitExceeded",
    );
    expect(problem).toMatchObject({ limit: "maxInputBytes", maximum: 256 * 1024 });
    expect(problem.retryable).toBe(false);
    expect((await thread.dump()).thread).toBeNull();
  });

  it("[OBS-02] waits for the settlement where Prefer asks for it, and answers still 202", async () => {
    const thread = new ThreadDriver("http-wait");
    const body = command([{ text: "waited for" }]);
    const answer = await submit(thread.threadId, "k", body, { prefer: "wait=20" });
    expect(answer.status).toBe(202);
    const { receipt, submission } = WaitedSchema.parse(answer.json);
    expect(submission).toMatchObject({
      submissionId: receipt.submissionId,
      state: "settled",
      settlement: { outcome: "completed", output: "waited for" },
    });
    const again = await submit(thread.threadId, "k", body, { prefer: "respond-async, wait=20" });
    expect(again.status).toBe(200);
    expect(WaitedSchema.parse(again.json)).toEqual({ receipt, replayed: true, submission });
    await expectSound(thread, { receipts: [{ key: "k", receipt }] });
  });
});

describe("GET …/submissions/{id} and …/settlement", () => {
  it("[OBS-02] answers 202 with the state while a settlement is owed, and 200 with it afterwards", async () => {
    const thread = new ThreadDriver("http-settlement");
    const gate = `${thread.threadId}-gate`;
    const { id, url } = await admitted(thread, command([{ gate, text: "done" }]));
    await thread.arrival(gate);
    const owed = await send(`${url}/settlement`);
    expect([owed.status, owed.json]).toEqual([202, { state: "running" }]);
    const running = SubmissionViewSchema.parse((await send(url)).json);
    expect(running).toMatchObject({ submissionId: id, state: "running" });
    expect(running.settlement).toBeUndefined();
    await thread.openGate(gate);
    const settled = await send(`${url}/settlement`, { headers: { prefer: "wait=20" } });
    expect(settled.status).toBe(200);
    const settlement = SettlementSchema.parse(settled.json);
    expect(settlement).toMatchObject({
      outcome: "completed",
      output: "done",
      finishReason: "stop",
    });
    const view = SubmissionViewSchema.parse((await send(url)).json);
    expect(view).toMatchObject({ state: "settled", settlement, usage: settlement.usage });
    await expectSound(thread, { acknowledgedTail: settlement.sequence });
  });

  it("[OBS-02] says what owed work waits for", async () => {
    const thread = new ThreadDriver("http-owed");
    const { id, url } = await admitted(thread, command([{ calls: [{ tool: "guarded" }] }]));
    await thread.waitingFor(id, "approval");
    const owed = await send(`${url}/settlement`);
    expect(owed.status).toBe(202);
    expect(owed.json).toMatchObject({ state: "waiting", wait: { reason: "approval" } });
    await expectSound(thread);
  });
});

describe("a thread on which as many wait as may", () => {
  /** Takes every wait of the thread; they end when the submission that they wait for does. */
  async function crowded(label: string) {
    const thread = new ThreadDriver(label);
    const { id, url } = await admitted(thread, command([{ calls: [{ tool: "guarded" }] }]));
    await thread.waitingFor(id, "approval");
    const waits = Array.from({ length: MAX_WAITERS }, () => thread.settlement(id));
    // The object takes calls in order: when it answers this one, all of those wait.
    await thread.explain();
    const disperse = async () => {
      await thread.abort(id);
      await Promise.all(waits);
    };
    return { thread, url, disperse };
  }

  it("[OBS-02, UX-04] still answers one who polls: the refusal of a wait says to do that", async () => {
    const { url, disperse } = await crowded("http-crowd");
    const waited = await send(`${url}/settlement`, { headers: { prefer: "wait=20" } });
    const polled = await send(`${url}/settlement`);
    await disperse();
    expect(expectRefusal(waited, 503, "Overloaded").detail).toContain("Poll");
    expect(waited.headers.get("retry-after")).toBe("1");
    expect([polled.status, polled.json]).toMatchObject([202, { state: "waiting" }]);
  });

  it("[THR-01, UX-04] never says of work that it admitted that nothing was applied", async () => {
    const { thread, disperse } = await crowded("http-crowd");
    const body = command([{ text: "ok" }]);
    const answer = await submit(thread.threadId, "k2", body, { prefer: "wait=20" });
    const { submissions } = await thread.dump();
    await disperse();
    expect(submissions).toHaveLength(2);
    if (answer.status === 202) expect(receiptOf(answer).queueSequence).toBe(2);
    else expect(expectProblem(answer).outcome).not.toBe("not-applied");
  });
});

describe("POST …/submissions/{id}/abort", () => {
  it("[RUN-10] needs no body: a reason may be left out", async () => {
    const thread = new ThreadDriver("http-abort");
    const gate = `${thread.threadId}-gate`;
    const { id, url } = await admitted(thread, command([{ gate, text: "never said" }]));
    const answer = await send(`${url}/abort`, { method: "POST" });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ effect: expect.stringMatching(/signalled|dequeued/) });
    await thread.settlement(id);
  });

  it("[RUN-10] settles queued work at once and says dequeued, signals what runs, and then says it is settled", async () => {
    const thread = new ThreadDriver("http-abort");
    const gate = `${thread.threadId}-gate`;
    const head = await admitted(thread, command([{ gate, text: "never said" }]), "head");
    await thread.arrival(gate);
    const queued = await admitted(thread, command([{ text: "never run" }]), "queued");

    const dequeued = await post(`${queued.url}/abort`, { reason: "changed my mind" });
    expect(dequeued.status).toBe(200);
    expect(AbortResultSchema.parse(dequeued.json)).toMatchObject({
      effect: "dequeued",
      settlement: { outcome: "aborted" },
    });
    expect((await thread.submission(head.id)).state).toBe("running");

    const signalled = await post(`${head.url}/abort`, {});
    expect(signalled.status).toBe(200);
    expect(AbortResultSchema.parse(signalled.json).effect).toBe("signalled");
    const settlement = await thread.settlement(head.id);
    expect(settlement.outcome).toBe("aborted");
    await thread.openGate(gate);
    await thread.quiet();

    const before = await thread.dump();
    const again = await post(`${head.url}/abort`, { reason: "once more" });
    expect(again.status).toBe(200);
    expect(again.json).toEqual({ effect: "already-settled", settlement });
    expect(await thread.dump()).toEqual(before);
    await expectSound(thread);
  });

  it("[RUN-10] leaves the outcome of completed work alone", async () => {
    const thread = new ThreadDriver("http-abort");
    const { id, url } = await admitted(thread, command([{ text: "ok" }]));
    const settlement = await thread.settlement(id);
    await thread.quiet();
    const before = await thread.dump();
    const answer = await post(`${url}/abort`, {});
    expect(answer.json).toEqual({ effect: "already-settled", settlement });
    expect(await thread.dump()).toEqual(before);
  });
});

async function waitingOperation(thread: ThreadDriver, tool = "guarded") {
  const { id, url } = await admitted(
    thread,
    command([{ calls: [{ tool, input: { value: "went ahead" } }] }, { text: "ok" }]),
  );
  await thread.waitingFor(id, "approval");
  const answer = await send(`/v1/threads/${thread.threadId}/operations`);
  expect(answer.status).toBe(200);
  const { operations } = OperationListSchema.parse(answer.json);
  expect(operations).toHaveLength(1);
  const [operation] = operations;
  if (operation === undefined) throw new Error("no operation waits");
  return { id, url, operation };
}

function decide(thread: ThreadDriver, decision: Readonly<Record<string, unknown>>) {
  return post(`/v1/threads/${thread.threadId}/operations/decide`, { decisions: [decision] });
}

describe("operations", () => {
  it("[TOOL-05] lists what waits for approval, with the arguments and their digest", async () => {
    const thread = new ThreadDriver("http-operations");
    const { id, operation } = await waitingOperation(thread);
    expect(operation).toMatchObject({
      kind: "approval",
      submissionId: id,
      turn: 1,
      toolName: "guarded",
      arguments: { value: "went ahead" },
    });
    expect(operation.argumentsDigest).toMatch(/^[0-9a-f]{64}$/);
    await expectSound(thread);
  });

  it("[TOOL-05] runs the call once it is approved; the same approval again is a replay, a denial a conflict", async () => {
    const thread = new ThreadDriver("http-approve");
    const { id, operation } = await waitingOperation(thread);
    const { operationId, argumentsDigest } = operation;
    const approval = { operationId, decision: "approve", reason: "looks right", argumentsDigest };
    const applied = await decide(thread, approval);
    expect(applied.status).toBe(200);
    expect(DecideResultSchema.parse(applied.json)).toEqual({
      results: [{ operationId, status: "applied" }],
    });
    const settlement = await thread.settlement(id);
    expect(settlement).toMatchObject({ outcome: "completed", output: "ok" });
    await thread.quiet();

    const before = await thread.dump();
    const replayed = await decide(thread, { ...approval, reason: "said again" });
    expect(replayed.status).toBe(200);
    expect(replayed.json).toEqual({ results: [{ operationId, status: "replayed" }] });
    const problem = expectRefusal(
      await decide(thread, { ...approval, decision: "deny" }),
      409,
      "DecisionConflict",
    );
    expect(problem.detail).toContain("approve");
    expect(await thread.dump()).toEqual(before);
    const decided = before.records.find((record) => record.type === "OperationDecided");
    expect(decided?.payload).toMatchObject({ author: "tester", reason: "looks right" });
    await expectSound(thread);
  });

  it("[TOOL-05] tells the model of a denial, and the run goes on", async () => {
    const thread = new ThreadDriver("http-deny");
    const { id, operation } = await waitingOperation(thread);
    const { operationId } = operation;
    await decide(thread, { operationId, decision: "deny", reason: "not today" });
    expect(await thread.settlement(id)).toMatchObject({ outcome: "completed", output: "ok" });
    const settled = (await thread.records()).find((record) => record.type === "ToolSettled");
    expect(settled?.payload.outcome).toBe("denied");
    await expectSound(thread);
  });

  it("[TOOL-05] refuses a decision about other arguments than were shown", async () => {
    const thread = new ThreadDriver("http-digest");
    const { operation } = await waitingOperation(thread);
    await thread.quiet();
    const before = await thread.dump();
    expectRefusal(
      await decide(thread, {
        operationId: operation.operationId,
        decision: "approve",
        reason: "looks right",
        argumentsDigest: "0".repeat(64),
      }),
      409,
      "DecisionConflict",
    );
    expect(await thread.dump()).toEqual(before);
  });

  it("[TOOL-04] refuses for an approval what only an unknown outcome takes, and says what it takes", async () => {
    const thread = new ThreadDriver("http-kind");
    const { operation } = await waitingOperation(thread);
    await thread.quiet();
    const before = await thread.dump();
    const problem = expectRefusal(
      await decide(thread, {
        operationId: operation.operationId,
        decision: "safe-to-retry",
        reason: "wrong kind",
      }),
      409,
      "InvalidState",
    );
    expect(problem.detail).toContain("approve");
    expect(await thread.dump()).toEqual(before);
  });

  it("[TOOL-04] shows an unknown outcome, takes what a person knows of it once, and settles", async () => {
    const thread = new ThreadDriver("http-unknown");
    const gate = `${thread.threadId}-gate`;
    const input = { behave: "deaf-gate", gate };
    const { id, url } = await admitted(
      thread,
      command([{ calls: [{ tool: "hasty_act", input }] }, { text: "ok" }]),
    );
    await thread.waitingFor(id, "unknown-outcome");
    const listed = await send(`/v1/threads/${thread.threadId}/operations`);
    const [operation] = OperationListSchema.parse(listed.json).operations;
    expect(operation).toMatchObject({ kind: "unknown", submissionId: id, toolName: "hasty_act" });
    expect((await send(`${url}/settlement`)).json).toMatchObject({
      state: "waiting",
      wait: { reason: "unknown-outcome", deadline: null },
    });
    const operationId = operation?.operationId;
    const known = { operationId, decision: "completed", result: { value: "seen" }, reason: "log" };
    expect((await decide(thread, known)).json).toEqual({
      results: [{ operationId, status: "applied" }],
    });
    expect(await thread.settlement(id)).toMatchObject({ outcome: "completed", output: "ok" });
    expect((await decide(thread, known)).json).toEqual({
      results: [{ operationId, status: "replayed" }],
    });
    expectRefusal(
      await decide(thread, { operationId, decision: "never-started", reason: "log" }),
      409,
      "DecisionConflict",
    );
    await thread.openGate(gate);
    await expectSound(thread);
  });
});

describe("GET …/records", () => {
  async function page(thread: ThreadDriver, query: string) {
    const answer = await send(`/v1/threads/${thread.threadId}/records${query}`);
    expect(answer.status).toBe(200);
    return RecordPageSchema.parse(answer.json);
  }

  it("[OBS-01] pages through the whole log without a gap, whatever the limit", async () => {
    const thread = new ThreadDriver("http-records");
    for (const value of ["one", "two", "three"]) {
      await thread.run([{ calls: [{ tool: "act", input: { value } }] }, { text: value }]);
    }
    const { records } = await thread.dump();
    for (const limit of [1, 2, 5, 256]) {
      const seen = [];
      let after = 0;
      for (;;) {
        const { records: read, next, tail } = await page(thread, `?after=${after}&limit=${limit}`);
        expect(tail).toBe(records.length);
        expect(read.length).toBeLessThanOrEqual(limit);
        expect(next).toBe(after + read.length);
        seen.push(...read);
        after = next;
        if (next === tail) break;
      }
      expect(seen).toEqual(records);
    }
    expect((await page(thread, "")).records).toEqual(records);
    await expectSound(thread, { acknowledgedTail: records.length });
  });

  it("[OBS-01] leaves other types out of a page, and its cursor still advances", async () => {
    const thread = new ThreadDriver("http-types");
    await thread.run([{ calls: [{ tool: "look" }] }, { text: "ok" }]);
    const settled = await page(thread, "?types=ToolSettled,SubmissionSettled");
    expect(settled.records.map(({ type }) => type)).toEqual(["ToolSettled", "SubmissionSettled"]);
    expect(settled.next).toBe(settled.tail);
    const nothing = await page(thread, "?types=AbortRequested&limit=2");
    expect(nothing).toMatchObject({ records: [], next: 2 });
  });

  it("[OBS-01] answers an empty page at the tail and past it", async () => {
    const thread = new ThreadDriver("http-tail");
    await thread.run([{ text: "ok" }]);
    const { tail } = await page(thread, "");
    expect(await page(thread, `?after=${tail}`)).toEqual({ records: [], next: tail, tail });
    expect(await page(thread, `?after=${tail + 1000}`)).toEqual({ records: [], next: tail, tail });
  });
});

describe("GET …/explain and /healthz", () => {
  it("[OBS-04] explains an idle thread and one that waits, in words and as data", async () => {
    const thread = new ThreadDriver("http-explain");
    await thread.run([{ text: "ok" }]);
    await thread.quiet();
    const path = `/v1/threads/${thread.threadId}/explain`;
    const idle = ExplanationSchema.parse((await send(path)).json);
    expect(idle).toMatchObject({ threadId: thread.threadId, state: "idle", queueDepth: 0 });
    expect(idle.summary).toContain("Nothing is owed");
    expect(idle.alarm.dueAt).toBeNull();

    const { operation } = await waitingOperation(thread);
    await thread.quiet();
    const before = await thread.dump();
    const waiting = ExplanationSchema.parse((await send(path)).json);
    expect(waiting).toMatchObject({ state: "waiting", queueDepth: 1, operations: [operation] });
    expect(waiting.summary).toContain(operation.operationId);
    expect(waiting.submissions[0]?.next).toContain(
      `POST /v1/threads/${thread.threadId}/operations/decide`,
    );
    expect(await thread.dump()).toEqual(before);
  });

  it("[OBS-04] answers that retry of what is not parked did nothing", async () => {
    const thread = new ThreadDriver("http-repair");
    const { id } = await admitted(thread, command([{ text: "ok" }]));
    await thread.settlement(id);
    await thread.quiet();
    const before = await thread.dump();
    const answer = await post(`/v1/threads/${thread.threadId}/repair`, {
      action: "retry",
      target: id,
      reason: "to see",
    });
    expect([answer.status, answer.json]).toEqual([200, { effect: "not-parked" }]);
    expect(await thread.dump()).toEqual(before);
  });

  it("answers /healthz without a credential", async () => {
    const answer = await sendBare("/healthz");
    expect([answer.status, answer.json]).toEqual([200, { status: "ok" }]);
  });
});
