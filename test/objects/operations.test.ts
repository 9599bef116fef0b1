// Approvals, unknown outcomes and aborts over a real object.
import { afterEach, describe, expect, it } from "vitest";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { expectSound } from "../support/expect-sound.ts";
import { seenPrompts } from "../support/scripted-model.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(resetOptions);

const guarded = [{ calls: [{ tool: "guarded" }] }, { text: "ok" }];

/** A thread whose run waits for approval of its one call. */
async function awaitingApproval() {
  const thread = new ThreadDriver("approval");
  const { receipt } = await thread.submit(guarded);
  await thread.waitingFor(receipt.submissionId, "approval");
  const [operation] = await thread.operations();
  if (operation === undefined) throw new Error("no operation");
  return { thread, submissionId: receipt.submissionId, operation };
}

/** A thread whose external call was in flight when its object died. */
async function unknownOutcome(plan?: { tool: string }[]) {
  const thread = new ThreadDriver("unknown");
  const gate = `${thread.threadId}-flight`;
  const flight = { tool: "act", input: { behave: "deaf-gate", gate } };
  const { receipt } = await thread.submit([{ calls: [flight, ...(plan ?? [])] }, { text: "ok" }]);
  await thread.arrival(gate);
  await thread.crash();
  await thread.runAlarms();
  await thread.waitingFor(receipt.submissionId, "unknown-outcome");
  const [operation] = await thread.operations();
  if (operation === undefined) throw new Error("no operation");
  return { thread, submissionId: receipt.submissionId, operation, gate };
}

async function code(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "accepted",
    (error: unknown) => (error instanceof HoldfastError ? error.code : "not ours"),
  );
}

const byFirst = (left: string[], right: string[]) =>
  String(left[0]).localeCompare(String(right[0]));

describe("approvals", () => {
  it("[TOOL-05] asks before anything of the batch runs, and shows the exact arguments", async () => {
    const { thread, operation, submissionId } = await awaitingApproval();
    expect(operation).toMatchObject({ kind: "approval", toolName: "guarded", submissionId });
    expect(world.executions.get(operation.operationId)).toBeUndefined();
    const types = (await thread.records()).map((record) => record.type);
    expect(types).not.toContain("ToolsPrepared");
    await expectSound(thread);
  });

  it("[TOOL-05] runs the call once a person approved, with the decision in the log before it", async () => {
    const { thread, operation, submissionId } = await awaitingApproval();
    const { argumentsDigest } = operation;
    expect(await thread.decide(operation.operationId, "approve", { argumentsDigest })).toBe(
      "applied",
    );
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    const types = (await thread.records()).map((record) => record.type);
    expect(types.indexOf("OperationDecided")).toBeLessThan(types.indexOf("ToolsPrepared"));
    expect(world.executions.get(operation.operationId)).toBe(1);
    await expectSound(thread);
  });

  it("[TOOL-05] shows a denial to the model, which goes on", async () => {
    const { thread, operation, submissionId } = await awaitingApproval();
    await thread.decide(operation.operationId, "deny", { reason: "not on a Friday" });
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    expect(world.executions.get(operation.operationId)).toBeUndefined();
    expect(JSON.stringify(seenPrompts.at(-1)?.prompt.at(-1))).toContain("not on a Friday");
    await expectSound(thread);
  });

  it("[TOOL-05] replays the same decision, and refuses another one", async () => {
    const { thread, operation, submissionId } = await awaitingApproval();
    await thread.decide(operation.operationId, "approve");
    expect(await thread.decide(operation.operationId, "approve")).toBe("replayed");
    expect(await code(thread.decide(operation.operationId, "deny"))).toBe("DecisionConflict");
    await thread.settlement(submissionId);
    expect(await thread.decide(operation.operationId, "approve")).toBe("replayed");
    expect(await code(thread.decide(operation.operationId, "deny"))).toBe("DecisionConflict");
    await expectSound(thread);
  });

  it("[TOOL-05] refuses a decision about other arguments than the ones shown", async () => {
    const { thread, operation } = await awaitingApproval();
    const wrong = thread.decide(operation.operationId, "approve", {
      argumentsDigest: "0".repeat(64),
    });
    expect(await code(wrong)).toBe("DecisionConflict");
    await thread.quiet();
    expect((await thread.records()).map((record) => record.type)).not.toContain("OperationDecided");
  });

  it("[TOOL-05] counts a decision that arrives before the question was asked", async () => {
    const thread = new ThreadDriver("approval");
    const gate = `${thread.threadId}-authorizing`;
    testOptions.authorize = async () => {
      await world.passGate(gate);
      return true;
    };
    const { receipt } = await thread.submit(guarded);
    const response = await thread.recordThat((record) => record.type === "ModelResponded");
    await thread.arrival(gate);
    if (response.type !== "ModelResponded") throw new Error("no response");
    expect(await thread.decide(`${response.runId}.t1.c0`, "approve")).toBe("applied");
    await thread.openGate(gate);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "completed" });
    const types = (await thread.records()).map((record) => record.type);
    expect(types).not.toContain("ApprovalRequested");
    await expectSound(thread);
  });

  it("[TOOL-05, ALM-05] arms only the run's deadline, and fails at it with its operations closed", async () => {
    const { thread, submissionId } = await awaitingApproval();
    await thread.quiet();
    const started = world.now;
    expect(await thread.alarmAt()).toBe(started + 2 * 3_600_000);
    await thread.runAlarms(1);
    expect(await thread.settlement(submissionId)).toMatchObject({
      outcome: "failed",
      limit: "duration",
    });
    expect(await thread.operations()).toEqual([]);
    await expectSound(thread);
  });

  it("[RUN-06] blocks later input while a person decides", async () => {
    const { thread, operation, submissionId } = await awaitingApproval();
    const later = await thread.submit([{ text: "later" }]);
    await thread.quiet();
    expect((await thread.submission(later.receipt.submissionId)).state).toBe("queued");
    const { submissions } = await thread.explain();
    expect(submissions[1]?.why).toContain("queued behind");
    await thread.decide(operation.operationId, "approve");
    await thread.settlement(submissionId);
    await thread.settlement(later.receipt.submissionId);
    await expectSound(thread);
  });

  it("waits for every question of a turn, and runs nothing in between", async () => {
    const thread = new ThreadDriver("approval");
    const { receipt } = await thread.submit([
      { calls: [{ tool: "guarded" }, { tool: "look" }, { tool: "guarded" }] },
      { text: "ok" },
    ]);
    await thread.waitingFor(receipt.submissionId, "approval");
    const [first, second] = await thread.operations();
    if (first === undefined || second === undefined) throw new Error("two were asked");
    await thread.decide(second.operationId, "approve");
    await thread.quiet();
    expect((await thread.submission(receipt.submissionId)).wait?.operationIds).toEqual([
      first.operationId,
    ]);
    expect(world.executions.get(second.operationId)).toBeUndefined();
    await thread.decide(first.operationId, "deny");
    const settlement = await thread.settlement(receipt.submissionId);
    expect(settlement.outcome).toBe("completed");
    await expectSound(thread);
  });
});

describe("unknown outcomes", () => {
  it("[TOOL-02, TOOL-04] never repeats an external call whose result was lost: it is listed and explained", async () => {
    const { thread, submissionId, operation } = await unknownOutcome();
    expect(world.executions.get(operation.operationId)).toBe(1);
    expect(operation).toMatchObject({ kind: "unknown", toolName: "act", submissionId });
    const explanation = await thread.explain();
    expect(explanation.state).toBe("waiting");
    expect(explanation.submissions[0]?.next).toContain("never-started");
    expect(await thread.alarmAt()).toBe(null);
    await expectSound(thread);
  });

  it.each([
    ["completed", { result: { value: "found out" } }, "success", 1],
    ["failed", {}, "failure", 1],
    ["never-started", {}, "success", 2],
    ["safe-to-retry", {}, "success", 2],
  ] as const)("[TOOL-04] goes on after the decision %s", async (decision, more, outcome, ran) => {
    const { thread, submissionId, operation, gate } = await unknownOutcome();
    await thread.openGate(gate);
    expect(await thread.decide(operation.operationId, decision, more)).toBe("applied");
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    const result = (await thread.records()).find((record) => record.type === "ToolSettled");
    expect(result).toMatchObject({ payload: { outcome } });
    expect(world.executions.get(operation.operationId)).toBe(ran);
    expect(await thread.decide(operation.operationId, decision, more)).toBe("replayed");
    expect(
      await code(
        thread.decide(operation.operationId, decision === "failed" ? "never-started" : "failed"),
      ),
    ).toBe("DecisionConflict");
    await expectSound(thread);
  });

  it("[TOOL-04] records who decided and why", async () => {
    const { thread, submissionId, operation } = await unknownOutcome();
    await thread.decide(operation.operationId, "failed", { reason: "the log has no trace of it" });
    await thread.settlement(submissionId);
    const decided = (await thread.records()).find((record) => record.type === "OperationDecided");
    expect(decided).toMatchObject({
      payload: { author: "tester", reason: "the log has no trace of it", decision: "failed" },
    });
  });

  it("[TOOL-04] ends the run with the decision abort, and keeps the outcome as evidence", async () => {
    const { thread, submissionId, operation } = await unknownOutcome();
    await thread.decide(operation.operationId, "abort");
    expect(await thread.settlement(submissionId)).toMatchObject({
      outcome: "aborted",
      unknowns: [operation.operationId],
    });
    expect(await thread.operations()).toEqual([]);
    await expectSound(thread);
  });

  it("[TOOL-04, RUN-17] lets later submissions run, and continues once resolved", async () => {
    const { thread, submissionId, operation } = await unknownOutcome();
    const later = await thread.run([{ text: "later" }]);
    expect(later.output).toBe("later");
    // The open batch is left out of the later prompt; what was said stays.
    const prompt = JSON.stringify(seenPrompts.at(-1)?.prompt);
    expect(prompt).not.toContain('"type":"tool-call"');
    await thread.decide(operation.operationId, "completed", { result: "it had happened" });
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    // It continued with the history as of its own start: the later run is not in it.
    expect(JSON.stringify(seenPrompts.at(-1)?.prompt)).not.toContain("later");
    await expectSound(thread);
  });

  it("[RUN-17] comes before unclaimed input once resolved, and counts in the queue's depth", async () => {
    const { thread, submissionId, operation } = await unknownOutcome();
    const gate = `${thread.threadId}-active`;
    const active = await thread.submit([{ text: "active", gate }]);
    const waiting = await thread.submit([{ text: "unclaimed" }]);
    await thread.arrival(gate);
    await thread.decide(operation.operationId, "completed", { result: "yes" });
    expect((await thread.explain()).queueDepth).toBe(3);
    await thread.openGate(gate);
    await thread.settlement(waiting.receipt.submissionId);
    const settled = (await thread.records()).flatMap((record) =>
      record.type === "SubmissionSettled" ? [record.submissionId] : [],
    );
    expect(settled).toEqual([
      active.receipt.submissionId,
      submissionId,
      waiting.receipt.submissionId,
    ]);
    await expectSound(thread);
  });

  it("[RUN-17] records a resolution that comes past the deadline, then fails with limit duration", async () => {
    const { thread, submissionId, operation } = await unknownOutcome();
    world.advance(3 * 3_600_000);
    await thread.decide(operation.operationId, "completed", { result: "too late" });
    expect(await thread.settlement(submissionId)).toMatchObject({
      outcome: "failed",
      limit: "duration",
    });
    expect((await thread.records()).map((record) => record.type)).toContain("OperationDecided");
    await expectSound(thread);
  });

  it("[TOOL-04] makes a second loss another operation, so that a late repeat of the first decision does nothing", async () => {
    const { thread, submissionId, operation, gate } = await unknownOutcome();
    await thread.decide(operation.operationId, "safe-to-retry");
    await thread.arrival(gate);
    await thread.crash();
    await thread.runAlarms();
    await thread.waitingFor(submissionId, "unknown-outcome");
    const [second] = await thread.operations();
    expect(second?.operationId).toBe(`${operation.operationId}.d2`);
    expect(await thread.decide(operation.operationId, "safe-to-retry")).toBe("replayed");
    await thread.quiet();
    expect(world.executions.get(operation.operationId)).toBe(2);
    await thread.decide(`${operation.operationId}.d2`, "completed", { result: "done" });
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    await expectSound(thread);
  });

  it("[TOOL-08] makes a call past its timeout unknown if it is external, and settles it otherwise", async () => {
    const thread = new ThreadDriver("timeout");
    const gate = `${thread.threadId}-never`;
    const slow = { behave: "deaf-gate", gate };
    const { receipt } = await thread.submit([
      {
        calls: [
          { tool: "hasty_look", input: slow },
          { tool: "hasty_bump", input: slow },
          { tool: "hasty_act", input: slow },
        ],
      },
      { text: "ok" },
    ]);
    await thread.recordThat((record) => record.type === "ToolUnknown");
    await thread.waitingFor(receipt.submissionId, "unknown-outcome");
    const outcomes = (await thread.records()).flatMap((record) =>
      record.type === "ToolSettled" ? [[record.payload.toolName, record.payload.outcome]] : [],
    );
    expect(outcomes.toSorted(byFirst)).toEqual([
      ["hasty_bump", "timeout"],
      ["hasty_look", "timeout"],
    ]);
    expect((await thread.operations()).map(({ toolName, kind }) => [toolName, kind])).toEqual([
      ["hasty_act", "unknown"],
    ]);
    await expectSound(thread);
  });

  it("[TOOL-02] repeats an interrupted read and an idempotent call, with the same key", async () => {
    const thread = new ThreadDriver("repeat");
    const gate = `${thread.threadId}-flight`;
    const flight = { behave: "deaf-gate", gate };
    const { receipt } = await thread.submit([
      {
        calls: [
          { tool: "look", input: flight },
          { tool: "bump", input: flight },
        ],
      },
      { text: "ok" },
    ]);
    await thread.arrival(gate);
    await thread.crash();
    const done = thread.runAlarms();
    await thread.arrival(gate);
    await thread.openGate(gate);
    await done;
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "completed" });
    const run = receipt.submissionId.replace("sub", "run");
    expect(world.executions.get(`${run}.t1.c0`)).toBe(2);
    expect(world.executions.get(`${run}.t1.c1`)).toBe(2);
    await expectSound(thread);
  });
});

describe("handlers that misbehave", () => {
  it.each([
    ["throws", "throw", "the service said no"],
    ["throws an object that imitates our signals", "imitate", "not an error"],
    ["throws a hostile proxy", "hostile", "not an error"],
    ["returns what its schema forbids", "wrong-shape", "schema"],
  ])("[TOOL-08] a handler that %s has answered with a failure", async (_what, behave, says) => {
    const thread = new ThreadDriver("misbehave");
    const settlement = await thread.run([
      { calls: [{ tool: "act", input: { behave } }] },
      { text: "went on" },
    ]);
    expect(settlement).toMatchObject({ outcome: "completed", output: "went on" });
    const result = (await thread.records()).find((record) => record.type === "ToolSettled");
    expect(result).toMatchObject({ payload: { outcome: "failure" } });
    expect(JSON.stringify(result?.payload)).toContain(says);
    await expectSound(thread);
  });

  it("[TOOL-01] shows progress while the call is in flight, and gives the handler its identities", async () => {
    const thread = new ThreadDriver("progress");
    const gate = `${thread.threadId}-gate`;
    const { receipt } = await thread.submit([
      { calls: [{ tool: "look", input: { behave: "progress", gate } }] },
      { text: "ok" },
    ]);
    await thread.arrival(gate);
    const { activeRun } = await thread.explain();
    const run = receipt.submissionId.replace("sub", "run");
    expect(activeRun?.inFlight).toEqual([
      expect.objectContaining({
        operationId: `${run}.t1.c0`,
        toolName: "look",
        progress: { done: 1, of: 2 },
      }),
    ]);
    await thread.openGate(gate);
    await thread.settlement(receipt.submissionId);
  });
});

describe("authorization", () => {
  it("[TOOL-06] fails the run before any handler of the batch starts", async () => {
    const thread = new ThreadDriver("denied");
    testOptions.authorize = ({ toolName }) => toolName !== "act";
    const { receipt } = await thread.submit([
      { calls: [{ tool: "look" }, { tool: "act" }] },
      { text: "never" },
    ]);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({
      outcome: "failed",
      failure: { tag: "ToolDenied" },
    });
    const run = receipt.submissionId.replace("sub", "run");
    expect(world.executions.get(`${run}.t1.c0`)).toBeUndefined();
    expect((await thread.records()).map((record) => record.type)).not.toContain("ToolsPrepared");
    await expectSound(thread);
  });

  it("[TOOL-06] asks again on every attempt, with the canonical input and the exact call", async () => {
    const asked: unknown[] = [];
    testOptions.authorize = ({ toolName, input, arguments: args }) => {
      asked.push([toolName, input, args]);
      return true;
    };
    const { thread, operation, submissionId } = await awaitingApproval();
    await thread.decide(operation.operationId, "approve");
    await thread.settlement(submissionId);
    expect(asked).toHaveLength(2);
    expect(asked[0]).toEqual(["guarded", { plan: guarded.map((turn) => turn) }, {}]);
  });
});

describe("abort", () => {
  it("[RUN-10] settles queued work at once, without waiting for its turn", async () => {
    const { thread } = await awaitingApproval();
    const later = await thread.submit([{ text: "later" }]);
    const { submissionId } = later.receipt;
    const result = await thread.abort(submissionId);
    expect(result).toMatchObject({ effect: "dequeued", settlement: { outcome: "aborted" } });
    expect(await thread.abort(submissionId)).toMatchObject({ effect: "already-settled" });
    await expectSound(thread);
  });

  it("[RUN-10] records the abort before it interrupts a model call, and settles aborted", async () => {
    const thread = new ThreadDriver("abort");
    const gate = `${thread.threadId}-never`;
    const { receipt } = await thread.submit([{ text: "ok", gate }]);
    await thread.arrival(gate);
    expect(await thread.abort(receipt.submissionId)).toMatchObject({ effect: "signalled" });
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "aborted" });
    const types = (await thread.records()).map((record) => record.type);
    expect(types.slice(-2)).toEqual(["AbortRequested", "SubmissionSettled"]);
    await expectSound(thread);
  });

  it("[RUN-10] records an external call in flight as unknown, and closes it as an operation", async () => {
    const thread = new ThreadDriver("abort");
    const gate = `${thread.threadId}-never`;
    const { receipt } = await thread.submit([
      { calls: [{ tool: "act", input: { behave: "deaf-gate", gate } }] },
      { text: "never" },
    ]);
    await thread.arrival(gate);
    await thread.abort(receipt.submissionId);
    const settlement = await thread.settlement(receipt.submissionId);
    expect(settlement).toMatchObject({ outcome: "aborted" });
    const [operationId] = settlement.unknowns ?? [];
    if (operationId === undefined) throw new Error("no unknown");
    expect(await thread.operations()).toEqual([]);
    // It may still be annotated, which changes nothing of the settlement.
    expect(await thread.decide(operationId, "completed", { result: "it happened" })).toBe(
      "applied",
    );
    expect(await thread.decide(operationId, "completed", { result: "it happened" })).toBe(
      "replayed",
    );
    expect(await code(thread.decide(operationId, "failed"))).toBe("DecisionConflict");
    expect(await code(thread.decide(operationId, "abort"))).toBe("InvalidState");
    expect(await thread.settlement(receipt.submissionId)).toEqual(settlement);
    await expectSound(thread);
  });

  it("[RUN-10] settles a run that waits at once", async () => {
    const { thread, submissionId } = await awaitingApproval();
    expect(await thread.abort(submissionId)).toMatchObject({
      effect: "signalled",
      settlement: { outcome: "aborted" },
    });
    await expectSound(thread);
  });

  it("[RUN-10] says SubmissionNotFound for what this thread does not have", async () => {
    const { thread } = await awaitingApproval();
    const other = await awaitingApproval();
    expect(await code(thread.abort(other.submissionId))).toBe("SubmissionNotFound");
    expect(await code(thread.decide(other.operation.operationId, "approve"))).toBe(
      "OperationNotFound",
    );
    expect(await code(thread.decide("nonsense", "approve"))).toBe("OperationNotFound");
  });
});
