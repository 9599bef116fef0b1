// Decisions over HTTP: what an edit and a batch answer, how their refusals point into the body, and whose permission a batch needs.
import { afterEach, describe, expect, it } from "vitest";
import { MAX_EDITED_ARGUMENTS_BYTES } from "../../shared/limits.ts";
import type { Permission } from "../../shared/wire/access.ts";
import type { Operation } from "../../shared/wire/operations.ts";
import { expectSound } from "../support/expect-sound.ts";
import { resetOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";
import { KEY_TEXT, keyOf, sendTo } from "./deployments.ts";
import { expectRefusal, post, send, type Answer } from "./http-client.ts";
import { NO_OPERATION } from "./routes.ts";

afterEach(resetOptions);

const ASKED = { value: "as the model asked" };
const WRITTEN = { value: "as the person wrote" };

type Body = Readonly<Record<string, unknown>>;

/** A thread with a parked unknown outcome and, of a later run, two approvals. */
async function waitingForPeople() {
  const thread = new ThreadDriver("http-decisions");
  const gate = `${thread.threadId}-flight`;
  const flight = { tool: "act", input: { behave: "deaf-gate", gate } };
  const parked = await thread.submit([{ calls: [flight] }, { text: "ok" }]);
  await thread.arrival(gate);
  await thread.crash();
  await thread.runAlarms(5, 60_000);
  await thread.waitingFor(parked.receipt.submissionId, "unknown-outcome");
  const guarded = { tool: "guarded", input: ASKED };
  const asking = await thread.submit([{ calls: [guarded, guarded] }, { text: "ok" }]);
  await thread.waitingFor(asking.receipt.submissionId, "approval");
  await thread.quiet();
  const [unknown, first, second] = await thread.operations();
  if (unknown === undefined || first === undefined || second === undefined) {
    throw new Error("three operations wait");
  }
  const settle = async () => {
    for (const { receipt } of [parked, asking]) {
      expect(await thread.settlement(receipt.submissionId)).toMatchObject({
        outcome: "completed",
      });
    }
    await expectSound(thread);
  };
  return { thread, unknown, first, second, settle };
}

function made(operation: Pick<Operation, "operationId">, decision: string, more: Body = {}): Body {
  return { operationId: operation.operationId, decision, reason: "as tested", ...more };
}

function pathOf(thread: ThreadDriver): string {
  return `/v1/threads/${thread.threadId}/operations/decide`;
}

function decide(thread: ThreadDriver, ...decisions: readonly Body[]): Promise<Answer> {
  return post(pathOf(thread), { decisions });
}

/** Decides with a key of these permissions alone. */
function decideAs(
  permissions: readonly Permission[],
  thread: ThreadDriver,
  ...decisions: readonly Body[]
): Promise<Answer> {
  return sendTo({ keys: [keyOf(permissions)] }, pathOf(thread), {
    method: "POST",
    headers: { authorization: `Bearer ${KEY_TEXT}`, "content-type": "application/json" },
    body: JSON.stringify({ decisions }),
  });
}

function statuses(operations: readonly Operation[], status: string) {
  return { results: operations.map(({ operationId }) => ({ operationId, status })) };
}

describe("decisions over HTTP", () => {
  it("[TOOL-05, TOOL-10] applies a batch with an edit, and replays it when it is sent again", async () => {
    const { thread, unknown, first, second, settle } = await waitingForPeople();
    const listed = await send(`/v1/threads/${thread.threadId}/operations`);
    expect(listed.json).toEqual({ operations: [unknown, first, second] });
    const decisions = [
      made(second, "edit", { arguments: WRITTEN, argumentsDigest: second.argumentsDigest }),
      made(unknown, "completed", { result: { value: "it happened" } }),
      made(first, "deny"),
    ];
    const answer = await decide(thread, ...decisions);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual(statuses([second, unknown, first], "applied"));
    await settle();
    expect([first, second].map(({ operationId }) => world.executions.get(operationId))).toEqual([
      undefined,
      1,
    ]);
    const again = await decide(thread, ...decisions);
    expect(again.status).toBe(200);
    expect(again.json).toEqual(statuses([second, unknown, first], "replayed"));
  });

  it("[TOOL-10, UX-05] points at the decision that was refused, and at the fault in it, and does nothing", async () => {
    const { thread, unknown, first, second, settle } = await waitingForPeople();
    const right = made(first, "edit", { arguments: WRITTEN });
    const tooLarge = { value: "x".repeat(MAX_EDITED_ARGUMENTS_BYTES) };
    const bad: [Body, number, string, string][] = [
      [made({ operationId: NO_OPERATION }, "deny"), 404, "OperationNotFound", "/operationId"],
      [made({ operationId: `${second.operationId}.d2` }, "deny"), 404, "OperationNotFound", ""],
      [made(unknown, "edit", { arguments: WRITTEN }), 409, "InvalidState", ""],
      [made(second, "failed"), 409, "InvalidState", ""],
      [made(second, "approve", { argumentsDigest: "0".repeat(64) }), 409, "DecisionConflict", ""],
      [
        made(second, "edit", { arguments: { behave: 1, value: "x" } }),
        422,
        "InvalidInput",
        "/arguments/behave",
      ],
      [made(second, "edit", { arguments: [WRITTEN] }), 422, "InvalidInput", "/arguments"],
      [made(second, "edit", { arguments: tooLarge }), 422, "InvalidInput", "/arguments"],
      [made(second, "edit"), 400, "MalformedRequest", "/arguments"],
      [made(second, "deny", { arguments: WRITTEN }), 400, "MalformedRequest", "/arguments"],
    ];
    const before = await thread.dump();
    for (const [decision, status, code, below] of bad) {
      const problem = expectRefusal(await decide(thread, right, decision), status, code);
      expect(problem.errors?.map(({ pointer }) => pointer)).toEqual([`/decisions/1${below}`]);
      expect(problem.retryable).toBe(false);
    }
    await thread.quiet();
    expect(await thread.dump()).toEqual(before);
    const answer = await decide(
      thread,
      right,
      made(second, "approve"),
      made(unknown, "completed", { result: "yes" }),
    );
    expect(answer.json).toEqual(statuses([first, second, unknown], "applied"));
    await settle();
  });

  it("[TOOL-10] refuses 65 decisions, and one operation twice, as a body of the wrong shape", async () => {
    const { thread, first } = await waitingForPeople();
    const before = await thread.dump();
    const many = Array.from({ length: 65 }, (_, index) =>
      made({ operationId: first.operationId.replace(".c0", `.c${index}`) }, "deny"),
    );
    for (const decisions of [many, [made(first, "deny"), made(first, "deny")]]) {
      const problem = expectRefusal(await decide(thread, ...decisions), 400, "MalformedRequest");
      expect(problem.errors?.map(({ pointer }) => pointer)).toEqual(["/decisions"]);
    }
    expect(await thread.dump()).toEqual(before);
  });

  it("[TOOL-05] refuses arguments that JSON carries and the log would not: too deep, too many, with a reserved key", async () => {
    const { thread, first } = await waitingForPeople();
    const before = await thread.dump();
    const deep = `${'{"value":'.repeat(70)}1${"}".repeat(70)}`;
    const many = JSON.stringify({ value: Array.from({ length: 5_000 }, () => 1) });
    for (const args of [deep, many, '{"value":"x","__proto__":{"behave":"throw"}}']) {
      const body = `{"decisions":[{"operationId":"${first.operationId}","decision":"edit","reason":"r","arguments":${args}}]}`;
      const answer = await send(pathOf(thread), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      expectRefusal(answer, 400, "MalformedRequest");
    }
    expect(await thread.dump()).toEqual(before);
  });
});

describe("the permissions of a batch", () => {
  it("[SEC-05, TOOL-10] are those of each of its decisions, wherever they stand in it; without one nothing is done", async () => {
    const { thread, unknown, first, second, settle } = await waitingForPeople();
    const approval = made(first, "approve");
    const edit = made(second, "edit", { arguments: WRITTEN });
    const resolution = made(unknown, "completed", { result: "yes" });
    const mixed = [approval, resolution, edit];
    const lacking: [Permission[], Body[], Permission][] = [
      [["threads:approve"], mixed, "threads:operate"],
      [["threads:approve"], mixed.toReversed(), "threads:operate"],
      [["threads:approve", "threads:read", "threads:write"], mixed, "threads:operate"],
      [["threads:operate"], mixed, "threads:approve"],
      [["threads:operate"], [resolution, edit], "threads:approve"],
      [["threads:operate", "threads:read", "threads:write"], mixed, "threads:approve"],
      // To end a run is more than to answer its question.
      [["threads:approve"], [approval, made(second, "abort")], "threads:operate"],
      [["threads:read", "threads:write"], [edit], "threads:approve"],
      [["threads:read"], [edit], "threads:approve"],
    ];
    const before = await thread.dump();
    for (const [permissions, decisions, permission] of lacking) {
      const answer = await decideAs(permissions, thread, ...decisions);
      const problem = expectRefusal(answer, 403, "PermissionMissing");
      expect(problem["permission"]).toBe(permission);
    }
    // Whether the operations are there makes no difference to one who may not decide them.
    const nothing = made({ operationId: NO_OPERATION }, "completed", { result: 1 });
    const blind = await decideAs(["threads:approve"], thread, approval, nothing);
    expectRefusal(blind, 403, "PermissionMissing");
    await thread.quiet();
    expect(await thread.dump()).toEqual(before);
    const both = await decideAs(["threads:approve", "threads:operate"], thread, ...mixed);
    expect(both.status).toBe(200);
    expect(both.json).toEqual(statuses([first, unknown, second], "applied"));
    await settle();
    const admin = await decideAs(["admin"], thread, ...mixed);
    expect(admin.json).toEqual(statuses([first, unknown, second], "replayed"));
    // A replay says what was decided, so it asks for the same.
    expectRefusal(await decideAs(["threads:approve"], thread, ...mixed), 403, "PermissionMissing");
  });
});
