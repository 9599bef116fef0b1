// Decisions of people over a real object: edits of calls, and batches that are carried out whole or not at all.
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, defineTool } from "../../shared/define/index.ts";
import type { JsonValue } from "../../shared/canonical-json.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { MAX_EDITED_ARGUMENTS_BYTES } from "../../shared/limits.ts";
import type { Operation } from "../../shared/wire/operations.ts";
import type { RecordOf, RecordType, ThreadRecord } from "../../shared/wire/records.ts";
import { digestJson } from "../../durable-objects/platform/digest.ts";
import { expectSound } from "../support/expect-sound.ts";
import { ScriptedInputSchema, seenPrompts } from "../support/scripted-model.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver, type MadeDecision } from "../support/thread-driver.ts";
import { world, type CrashMode } from "../support/world.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

const ASKED = { value: "as the model asked" };
const WRITTEN = { value: "as the person wrote" };

interface Waiting {
  readonly thread: ThreadDriver;
  readonly submissionId: string;
  readonly operations: readonly Operation[];
}

/** A thread whose run waits for the approval of its calls, of which there are that many in one turn. */
async function awaitingApproval(
  calls = 1,
  thread = new ThreadDriver("decisions"),
): Promise<Waiting> {
  const turn = { calls: Array.from({ length: calls }, () => ({ tool: "guarded", input: ASKED })) };
  const { receipt } = await thread.submit([turn, { text: "ok" }]);
  await thread.waitingFor(receipt.submissionId, "approval");
  await thread.quiet();
  const { submissionId } = receipt;
  const operations = (await thread.operations()).filter(
    (each) => each.submissionId === submissionId,
  );
  expect(operations).toHaveLength(calls);
  return { thread, submissionId, operations };
}

/** A thread whose run is parked because its external calls were in flight when their object died. */
async function unknownOutcomes(calls = 1): Promise<Waiting> {
  const thread = new ThreadDriver("decisions");
  const gates = Array.from({ length: calls }, (_, index) => `${thread.threadId}-flight-${index}`);
  const turn = {
    calls: gates.map((gate) => ({ tool: "act", input: { behave: "deaf-gate", gate } })),
  };
  const { receipt } = await thread.submit([turn, { text: "ok" }]);
  for (const gate of gates) await thread.arrival(gate);
  await thread.crash();
  await thread.runAlarms();
  await thread.waitingFor(receipt.submissionId, "unknown-outcome");
  await thread.quiet();
  return { thread, submissionId: receipt.submissionId, operations: await thread.operations() };
}

function at(operations: readonly Operation[], index: number): Operation {
  const operation = operations[index];
  if (operation === undefined) throw new Error(`no operation ${index}`);
  return operation;
}

function idAt(operations: readonly Operation[], index: number): string {
  return at(operations, index).operationId;
}

function edit(operationId: string, args: JsonValue = WRITTEN): MadeDecision {
  return { operationId, decision: "edit", arguments: args };
}

/** Why it was refused, and the places in the request that the refusal points at. */
async function refusal(call: Promise<unknown>): Promise<{ code: string; at: string[] }> {
  return call.then(
    () => ({ code: "accepted", at: [] }),
    (error: unknown) => {
      if (!(error instanceof HoldfastError)) throw error;
      return { code: error.code, at: error.errors.map(({ pointer }) => pointer) };
    },
  );
}

/** Expects the refusal, and that nothing at all of the object changed: log, ledger, queue and alarm. */
async function expectRefused(
  thread: ThreadDriver,
  decisions: readonly MadeDecision[],
  code: string,
  ...pointers: readonly string[]
): Promise<void> {
  const before = await thread.dump();
  expect(await refusal(thread.decideTogether(...decisions))).toEqual({ code, at: pointers });
  await thread.quiet();
  expect(await thread.dump()).toEqual(before);
}

function only<Type extends RecordType>(
  records: readonly ThreadRecord[],
  type: Type,
): RecordOf<Type>[] {
  return records.filter((record): record is RecordOf<Type> => record.type === type);
}

/** The calls that the newest prompt shows, with their arguments. */
function shownCalls(): unknown[] {
  const prompt = seenPrompts.at(-1)?.prompt ?? [];
  return prompt.flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((part) => (part.type === "tool-call" ? [part.input] : []))
      : [],
  );
}

/** What the handlers of a run answered, in the order of their calls. */
function answers(records: readonly ThreadRecord[]): unknown[] {
  return only(records, "ToolSettled")
    .toSorted((left, right) => (left.payload.operationId < right.payload.operationId ? -1 : 1))
    .map(({ payload }) => [
      payload.outcome,
      payload.output.type === "json" && payload.output.value,
    ]);
}

describe("an edit", () => {
  it("[TOOL-05] runs the handler once, with the person's arguments, and settles the run", async () => {
    const { thread, submissionId, operations } = await awaitingApproval();
    const { operationId, argumentsDigest } = at(operations, 0);
    const [status] = await thread.decideTogether({ ...edit(operationId), argumentsDigest });
    expect(status).toBe("applied");
    expect(await thread.settlement(submissionId)).toMatchObject({
      outcome: "completed",
      usage: { toolCalls: 1 },
    });
    expect(world.executions.get(operationId)).toBe(1);
    expect(answers(await thread.records())).toEqual([["success", WRITTEN]]);
    await expectSound(thread);
  });

  it("[TOOL-05] is what the model reads of its call: in its next prompt, and in those of later runs", async () => {
    const { thread, submissionId, operations } = await awaitingApproval(2);
    const [first, second] = [idAt(operations, 0), idAt(operations, 1)];
    await thread.decideTogether({ operationId: first, decision: "approve" }, edit(second));
    await thread.settlement(submissionId);
    expect(shownCalls()).toEqual([ASKED, WRITTEN]);
    const results = seenPrompts.at(-1)?.prompt.at(-1);
    expect(JSON.stringify(results)).toContain(WRITTEN.value);
    // From the history that is kept in memory, and from the log after an eviction.
    await thread.run([{ text: "later" }]);
    expect(shownCalls()).toEqual([ASKED, WRITTEN]);
    await thread.quiet();
    await thread.evict();
    await thread.run([{ text: "later still" }]);
    expect(shownCalls()).toEqual([ASKED, WRITTEN]);
    await expectSound(thread);
  });

  it("[TOOL-05] leaves both on record: the response as the model gave it, the decision as the person made it", async () => {
    const { thread, submissionId, operations } = await awaitingApproval();
    const operation = at(operations, 0);
    expect(operation).toMatchObject({ arguments: ASKED, argumentsDigest: digestJson(ASKED) });
    await thread.decideTogether({ ...edit(operation.operationId), reason: "wrong city" });
    await thread.settlement(submissionId);
    const records = await thread.records();
    expect(only(records, "ModelResponded")[0]?.payload.content).toEqual([
      {
        type: "tool-call",
        toolCallId: operation.toolCallId,
        toolName: "guarded",
        input: ASKED,
      },
    ]);
    const { operationId, toolCallId, toolName } = operation;
    const identity = { operationId, toolCallId, toolName };
    expect(only(records, "OperationDecided").map(({ payload }) => payload)).toEqual([
      {
        ...identity,
        decision: "edit",
        dispatch: 0,
        decisionDigest: digestJson({ decision: "edit", result: null, arguments: WRITTEN }),
        argumentsDigest: digestJson(ASKED),
        arguments: WRITTEN,
        author: "tester",
        reason: "wrong city",
      },
    ]);
    expect(only(records, "ToolsPrepared").map(({ payload }) => payload.calls)).toEqual([
      [{ ...identity, effect: "external", argumentsDigest: digestJson(WRITTEN), dispatch: 1 }],
    ]);
    await expectSound(thread);
  });

  it("[TOOL-05] is a replay when it is repeated, and a conflict with any other decision, before and after the end", async () => {
    const { thread, submissionId, operations } = await awaitingApproval();
    const { operationId, argumentsDigest } = at(operations, 0);
    const check = async (): Promise<void> => {
      expect(await thread.decideTogether(edit(operationId))).toEqual(["replayed"]);
      const shown = { ...edit(operationId), argumentsDigest };
      expect(await thread.decideTogether(shown)).toEqual(["replayed"]);
      for (const other of [
        { operationId, decision: "approve" },
        { operationId, decision: "deny" },
        edit(operationId, { value: "another" }),
        { ...edit(operationId), argumentsDigest: digestJson(WRITTEN) },
      ] as const) {
        expect((await refusal(thread.decideTogether(other))).code).toBe("DecisionConflict");
      }
    };
    expect(await thread.decideTogether(edit(operationId))).toEqual(["applied"]);
    await check();
    await thread.settlement(submissionId);
    await check();
    await thread.quiet();
    await thread.evict();
    await check();
    expect(world.executions.get(operationId)).toBe(1);
    expect(only(await thread.records(), "OperationDecided")).toHaveLength(1);
    await expectSound(thread);
  });

  it.each<[string, JsonValue, string]>([
    ["do not fit the tool's schema", { behave: "explode" }, "/decisions/0/arguments/behave"],
    ["have a member of another type", { value: 7 }, "/decisions/0/arguments/value"],
    ["are a list", [], "/decisions/0/arguments"],
    ["are a text", "value", "/decisions/0/arguments"],
    ["are a number", 7, "/decisions/0/arguments"],
    ["are null", null, "/decisions/0/arguments"],
    [
      "are a byte too large",
      { value: "x".repeat(MAX_EDITED_ARGUMENTS_BYTES - '{"value":""}'.length + 1) },
      "/decisions/0/arguments",
    ],
    [
      "are small in characters and too large in bytes",
      { value: "é".repeat(MAX_EDITED_ARGUMENTS_BYTES / 2) },
      "/decisions/0/arguments",
    ],
  ])(
    "[TOOL-05] whose arguments %s is refused, and nothing is written",
    async (_what, args, pointer) => {
      const { thread, operations } = await awaitingApproval();
      const operationId = idAt(operations, 0);
      await expectRefused(thread, [edit(operationId, args)], "InvalidInput", pointer);
      // The operation is as it was: a right decision is still taken.
      expect(await thread.decideTogether(edit(operationId))).toEqual(["applied"]);
    },
  );

  it("[TOOL-05] may have exactly the largest arguments", async () => {
    const { thread, submissionId, operations } = await awaitingApproval();
    const length = MAX_EDITED_ARGUMENTS_BYTES - '{"behave":"answer","value":""}'.length;
    const args = { value: "x".repeat(length), behave: "answer" };
    expect(await thread.decideTogether(edit(idAt(operations, 0), args))).toEqual(["applied"]);
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    expect(shownCalls()).toEqual([args]);
    await expectSound(thread);
  });

  it("[TOOL-05] without arguments, or arguments of another decision, are requests of the wrong shape", async () => {
    const { thread, operations } = await awaitingApproval();
    const operationId = idAt(operations, 0);
    const pointer = "/request/decisions/0/arguments";
    const bare: MadeDecision = { operationId, decision: "edit" };
    await expectRefused(thread, [bare], "MalformedRequest", pointer);
    for (const decision of ["approve", "deny", "abort"] as const) {
      const made = { operationId, decision, arguments: WRITTEN };
      await expectRefused(thread, [made], "MalformedRequest", pointer);
    }
  });

  it("[TOOL-05, TOOL-11] of a tool that this deployment does not have is refused; approved, the call is unavailable", async () => {
    const { thread, submissionId, operations } = await awaitingApproval();
    const operationId = idAt(operations, 0);
    testOptions.agents = (all) =>
      all.map((agent) => ({
        ...agent,
        tools: agent.tools.filter(({ name }) => name !== "guarded"),
      }));
    await thread.evict();
    const pointer = "/decisions/0/arguments";
    await expectRefused(thread, [edit(operationId)], "InvalidInput", pointer);
    expect(await thread.decideTogether({ operationId, decision: "approve" })).toEqual(["applied"]);
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    expect(answers(await thread.records())).toEqual([["unavailable", false]]);
    expect(world.executions.has(operationId)).toBe(false);
    await expectSound(thread);
  });

  it("[TOOL-05] of work whose agent this deployment does not have is refused, and is taken once it is back", async () => {
    const { thread, submissionId, operations } = await awaitingApproval();
    const operationId = idAt(operations, 0);
    testOptions.agents = (all) => all.filter(({ id }) => id !== "plain");
    await thread.evict();
    const pointer = "/decisions/0/arguments";
    await expectRefused(thread, [edit(operationId)], "InvalidInput", pointer);
    resetOptions();
    await thread.evict();
    expect(await thread.decideTogether(edit(operationId))).toEqual(["applied"]);
    await thread.settlement(submissionId);
    expect(answers(await thread.records())).toEqual([["success", WRITTEN]]);
    await expectSound(thread);
  });

  it("[TOOL-05, TOOL-06] is what the host's authorization is asked about before it runs", async () => {
    const asked: JsonValue[] = [];
    testOptions.authorize = ({ arguments: args }) => {
      asked.push(args);
      return true;
    };
    const { thread, submissionId, operations } = await awaitingApproval();
    await thread.decideTogether(edit(idAt(operations, 0)));
    await thread.settlement(submissionId);
    expect(asked).toEqual([ASKED, WRITTEN]);
  });

  it("[TOOL-05, TOOL-06] that the host does not authorize fails the run, and nothing of it runs", async () => {
    testOptions.authorize = ({ arguments: args }) =>
      JSON.stringify(args) !== JSON.stringify(WRITTEN);
    const { thread, submissionId, operations } = await awaitingApproval();
    const operationId = idAt(operations, 0);
    await thread.decideTogether(edit(operationId));
    expect(await thread.settlement(submissionId)).toMatchObject({
      outcome: "failed",
      failure: { tag: "ToolDenied" },
    });
    expect(world.executions.has(operationId)).toBe(false);
    await expectSound(thread);
  });

  it("[TOOL-05] of a call that was lost later binds its outcome to the arguments that ran", async () => {
    const { thread, submissionId, operations } = await awaitingApproval();
    const operationId = idAt(operations, 0);
    const gate = `${thread.threadId}-flight`;
    const args = { behave: "deaf-gate", gate };
    await thread.decideTogether(edit(operationId, args));
    await thread.arrival(gate);
    await thread.crash();
    await thread.runAlarms(5, 60_000);
    await thread.waitingFor(submissionId, "unknown-outcome");
    const [unknown] = await thread.operations();
    expect(unknown).toMatchObject({
      operationId,
      kind: "unknown",
      arguments: args,
      argumentsDigest: digestJson(args),
    });
    expect(await thread.decideTogether(edit(operationId, args))).toEqual(["replayed"]);
    expect((await refusal(thread.decideTogether(edit(operationId)))).code).toBe("DecisionConflict");
    const retry = { operationId, decision: "safe-to-retry" } as const;
    const shownBefore = { ...retry, argumentsDigest: digestJson(ASKED) };
    expect((await refusal(thread.decideTogether(shownBefore))).code).toBe("DecisionConflict");
    expect(await thread.decideTogether({ ...retry, argumentsDigest: digestJson(args) })).toEqual([
      "applied",
    ]);
    await thread.settlementAfter(gate, submissionId);
    expect(
      only(await thread.records(), "ToolsPrepared").map(({ payload }) => payload.calls),
    ).toEqual(
      [1, 2].map((dispatch) => [
        expect.objectContaining({ dispatch, argumentsDigest: digestJson(args) }),
      ]),
    );
    expect(world.executions.get(operationId)).toBe(2);
    await expectSound(thread);
  });
});

describe("a decision that arrives before its question", () => {
  /** A run whose authorizer is asked about its calls and does not answer yet. */
  async function authorizing(...inputs: readonly JsonValue[]) {
    const thread = new ThreadDriver("early");
    const gate = `${thread.threadId}-authorizing`;
    const asked: JsonValue[] = [];
    testOptions.authorize = async ({ arguments: args }) => {
      asked.push(args);
      await world.passGate(gate);
      return true;
    };
    const calls = inputs.map((input) => ({ tool: "guarded", input }));
    const { receipt } = await thread.submit([{ calls }, { text: "ok" }]);
    await thread.arrival(gate);
    const run = receipt.submissionId.replace("sub-", "run-");
    const ids = inputs.map((_, index) => `${run}.t1.c${index}`);
    const settle = async () => {
      await thread.openGate(gate);
      return thread.settlement(receipt.submissionId);
    };
    return { thread, asked, ids, settle, submissionId: receipt.submissionId };
  }

  it("[TOOL-05, TOOL-06] edits the call, which is authorized anew and never asked about", async () => {
    const { thread, asked, ids, settle } = await authorizing(ASKED);
    const [operationId = ""] = ids;
    expect(await thread.decideTogether(edit(operationId))).toEqual(["applied"]);
    expect(await settle()).toMatchObject({ outcome: "completed" });
    expect(asked).toEqual([ASKED, WRITTEN]);
    const records = await thread.records();
    expect(only(records, "ApprovalRequested")).toEqual([]);
    expect(answers(records)).toEqual([["success", WRITTEN]]);
    await expectSound(thread);
  });

  it("[TOOL-05, TOOL-10] decides several calls of a live run together", async () => {
    const { thread, ids, settle } = await authorizing(ASKED, ASKED, ASKED);
    const [first = "", second = "", third = ""] = ids;
    const decisions: MadeDecision[] = [
      edit(first),
      { operationId: second, decision: "approve" },
      { operationId: third, decision: "deny" },
    ];
    expect(await thread.decideTogether(...decisions)).toEqual(["applied", "applied", "applied"]);
    expect(await thread.decideTogether(...decisions)).toEqual(["replayed", "replayed", "replayed"]);
    expect(await settle()).toMatchObject({ outcome: "completed" });
    expect(answers(await thread.records())).toEqual([
      ["success", WRITTEN],
      ["success", ASKED],
      ["denied", false],
    ]);
    await expectSound(thread);
  });

  it("[TOOL-05] mends a call whose own arguments did not fit", async () => {
    const { thread, ids, settle } = await authorizing({ behave: "explode" }, ASKED);
    const [wrong = "", right = ""] = ids;
    expect(
      await thread.decideTogether(edit(wrong), { operationId: right, decision: "approve" }),
    ).toEqual(["applied", "applied"]);
    expect(await settle()).toMatchObject({ outcome: "completed" });
    expect(answers(await thread.records())).toEqual([
      ["success", WRITTEN],
      ["success", ASKED],
    ]);
    await expectSound(thread);
  });

  it("[TOOL-05] mends a call whose own arguments did not fit, also where nothing else was decided", async () => {
    // The sibling asks nobody, so that the batch would go on at once.
    const thread = new ThreadDriver("early");
    const gate = `${thread.threadId}-authorizing`;
    testOptions.authorize = async () => {
      await world.passGate(gate);
      return true;
    };
    const { receipt } = await thread.submit([
      { calls: [{ tool: "guarded", input: { behave: "explode" } }, { tool: "look" }] },
      { text: "ok" },
    ]);
    await thread.arrival(gate);
    const wrong = `${receipt.submissionId.replace("sub-", "run-")}.t1.c0`;
    expect(await thread.decideTogether(edit(wrong))).toEqual(["applied"]);
    await thread.openGate(gate);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "completed" });
    expect(answers(await thread.records())[0]).toEqual(["success", WRITTEN]);
    await expectSound(thread);
  });

  it("[TOOL-10] is refused with its batch where a decision before it aborts the live run", async () => {
    const { thread, ids, settle, submissionId } = await authorizing(ASKED, ASKED);
    const [first = "", second = ""] = ids;
    const before = await thread.dump();
    expect(
      await refusal(
        thread.decideTogether(
          { operationId: first, decision: "abort" },
          { operationId: second, decision: "approve" },
        ),
      ),
    ).toEqual({ code: "InvalidState", at: ["/decisions/1"] });
    expect(await thread.dump()).toEqual(before);
    // The attempt was not stopped either: it goes on to its question.
    const ended = settle();
    await thread.waitingFor(submissionId, "approval");
    expect(await thread.operations()).toHaveLength(2);
    await thread.abort(submissionId);
    expect(await ended).toMatchObject({ outcome: "aborted" });
    await expectSound(thread);
  });
});

describe("a decision that arrives too late", () => {
  it("[TOOL-05] is refused for a read that already runs, which no record shows", async () => {
    const gate = `peeking-${world.now}`;
    const peek = defineTool({
      name: "peek",
      revision: 1,
      description: "Asks for approval where its predicate says so.",
      input: z.object({ value: z.string().default("") }),
      effect: "read",
      needsApproval: () => false,
      execute: async ({ value }) => {
        await world.passGate(gate);
        return { value };
      },
    });
    const peeking = defineAgent({
      id: "peeking",
      revision: 1,
      description: "Peeks.",
      input: ScriptedInputSchema,
      instructions: "Follow the plan.",
      model: "test/scripted",
      tools: { peek },
      policy: { maxDuration: "2 hours" },
    });
    testOptions.agents = (all) => [...all, peeking];
    const thread = new ThreadDriver("early");
    const { receipt } = await thread.submit(
      [{ calls: [{ tool: "peek", input: ASKED }] }, { text: "ok" }],
      { agent: "peeking" },
    );
    await thread.arrival(gate);
    const operationId = `${receipt.submissionId.replace("sub-", "run-")}.t1.c0`;
    for (const made of [
      edit(operationId),
      { operationId, decision: "deny" },
      { operationId, decision: "approve" },
    ] as const) {
      expect(await refusal(thread.decideTogether(made))).toEqual({
        code: "InvalidState",
        at: ["/decisions/0"],
      });
    }
    await thread.openGate(gate);
    await thread.settlement(receipt.submissionId);
    expect(answers(await thread.records())).toEqual([["success", ASKED]]);
  });

  it("[TOOL-05] is refused for a call that was rejected, whose result is not committed yet", async () => {
    const thread = new ThreadDriver("late");
    const gate = `${thread.threadId}-looking`;
    const { receipt } = await thread.submit([
      {
        calls: [
          { tool: "guarded", input: { behave: "explode" } },
          { tool: "look", input: { behave: "gate", gate } },
        ],
      },
      { text: "ok" },
    ]);
    await thread.arrival(gate);
    const operationId = `${receipt.submissionId.replace("sub-", "run-")}.t1.c0`;
    expect(await refusal(thread.decideTogether(edit(operationId)))).toEqual({
      code: "InvalidState",
      at: ["/decisions/0"],
    });
    await thread.openGate(gate);
    await thread.settlement(receipt.submissionId);
    expect(answers(await thread.records())).toEqual([
      ["invalid", false],
      ["success", { value: "done" }],
    ]);
    await expectSound(thread);
  });
});

describe("a batch of decisions", () => {
  it.each<[string, (ids: string[]) => MadeDecision[], unknown[]]>([
    [
      "approve and deny",
      ([first = "", second = ""]) => [
        { operationId: first, decision: "approve" },
        { operationId: second, decision: "deny" },
      ],
      [
        ["success", ASKED],
        ["denied", false],
      ],
    ],
    [
      "edit and approve",
      ([first = "", second = ""]) => [edit(first), { operationId: second, decision: "approve" }],
      [
        ["success", WRITTEN],
        ["success", ASKED],
      ],
    ],
    [
      "deny and edit, in another order than the calls",
      ([first = "", second = ""]) => [edit(second), { operationId: first, decision: "deny" }],
      [
        ["denied", false],
        ["success", WRITTEN],
      ],
    ],
  ])("[TOOL-10] decides two approvals of one turn: %s", async (_what, decisionsOf, expected) => {
    const { thread, submissionId, operations } = await awaitingApproval(2);
    const decisions = decisionsOf(operations.map(({ operationId }) => operationId));
    expect(await thread.decideTogether(...decisions)).toEqual(["applied", "applied"]);
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    const records = await thread.records();
    expect(answers(records)).toEqual(expected);
    // Recorded in the order of the request, with nothing of the run between them.
    const decided = only(records, "OperationDecided");
    expect(decided.map(({ payload }) => payload.operationId)).toEqual(
      decisions.map(({ operationId }) => operationId),
    );
    expect((decided[1]?.sequence ?? 0) - (decided[0]?.sequence ?? 0)).toBe(1);
    await expectSound(thread);
  });

  it("[TOOL-10] leaves the rest of the questions open, and runs nothing until they are answered", async () => {
    const { thread, submissionId, operations } = await awaitingApproval(3);
    const ids = operations.map(({ operationId }) => operationId);
    const [first = "", second = "", third = ""] = ids;
    await thread.decideTogether(edit(third), { operationId: first, decision: "approve" });
    await thread.quiet();
    expect((await thread.submission(submissionId)).wait).toMatchObject({
      reason: "approval",
      operationIds: [second],
    });
    expect((await thread.operations()).map(({ operationId }) => operationId)).toEqual([second]);
    expect(ids.map((id) => world.executions.has(id))).toEqual([false, false, false]);
    await thread.decideTogether({ operationId: second, decision: "deny" });
    await thread.settlement(submissionId);
    expect(answers(await thread.records())).toEqual([
      ["success", ASKED],
      ["denied", false],
      ["success", WRITTEN],
    ]);
    await expectSound(thread);
  });

  it("[TOOL-10, TOOL-04] decides operations of two submissions: a parked unknown outcome, and an approval of the later run", async () => {
    const parked = await unknownOutcomes();
    const later = await awaitingApproval(1, parked.thread);
    const { thread } = parked;
    expect((await thread.operations()).map(({ kind }) => kind)).toEqual(["unknown", "approval"]);
    const decisions: MadeDecision[] = [
      { operationId: idAt(parked.operations, 0), decision: "completed", result: "it happened" },
      edit(idAt(later.operations, 0)),
    ];
    expect(await thread.decideTogether(...decisions)).toEqual(["applied", "applied"]);
    expect(await thread.settlement(later.submissionId)).toMatchObject({ outcome: "completed" });
    expect(await thread.settlement(parked.submissionId)).toMatchObject({ outcome: "completed" });
    expect(await thread.decideTogether(...decisions.toReversed())).toEqual([
      "replayed",
      "replayed",
    ]);
    await expectSound(thread);
  });

  it("[TOOL-10] resolves two unknown outcomes of one run, one by its result and one to run again", async () => {
    const { thread, submissionId, operations } = await unknownOutcomes(2);
    const [first, second] = [idAt(operations, 0), idAt(operations, 1)];
    await thread.openGate(`${thread.threadId}-flight-1`);
    expect(
      await thread.decideTogether(
        { operationId: first, decision: "completed", result: { value: "found out" } },
        { operationId: second, decision: "never-started" },
      ),
    ).toEqual(["applied", "applied"]);
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    expect([first, second].map((id) => world.executions.get(id))).toEqual([1, 2]);
    await expectSound(thread);
  });

  it("[TOOL-10] is all replays when it is repeated, and applies what is new of it", async () => {
    const { thread, submissionId, operations } = await awaitingApproval(3);
    const [first, second, third] = [0, 1, 2].map((index) => idAt(operations, index));
    const two: MadeDecision[] = [
      edit(first ?? ""),
      { operationId: second ?? "", decision: "deny" },
    ];
    expect(await thread.decideTogether(...two)).toEqual(["applied", "applied"]);
    await thread.quiet();
    const before = await thread.dump();
    expect(await thread.decideTogether(...two)).toEqual(["replayed", "replayed"]);
    await thread.quiet();
    expect(await thread.dump()).toEqual(before);
    const last: MadeDecision = { operationId: third ?? "", decision: "approve" };
    expect(await thread.decideTogether(two[0] ?? last, last, two[1] ?? last)).toEqual([
      "replayed",
      "applied",
      "replayed",
    ]);
    await thread.settlement(submissionId);
    expect(await thread.decideTogether(last, ...two)).toEqual(["replayed", "replayed", "replayed"]);
    expect(only(await thread.records(), "OperationDecided")).toHaveLength(3);
    await expectSound(thread);
  });

  it("[TOOL-10] keeps each decision's reason, and who made them", async () => {
    const { thread, submissionId, operations } = await awaitingApproval(2);
    await thread.decideTogether(
      { operationId: idAt(operations, 0), decision: "deny", reason: "the first reason" },
      { operationId: idAt(operations, 1), decision: "deny", reason: "the second reason" },
    );
    await thread.settlement(submissionId);
    expect(
      only(await thread.records(), "OperationDecided").map(({ payload }) => [
        payload.author,
        payload.reason,
      ]),
    ).toEqual([
      ["tester", "the first reason"],
      ["tester", "the second reason"],
    ]);
  });

  it("[TOOL-10] holds at most 64 decisions", async () => {
    const thread = new ThreadDriver("decisions");
    testOptions.agents = (all) =>
      all.map((agent) => ({ ...agent, policy: { ...agent.policy, maxToolCalls: 100 } }));
    const { submissionId, operations } = await awaitingApproval(65, thread);
    const denials = operations.map(({ operationId }): MadeDecision => ({
      operationId,
      decision: "deny",
    }));
    await expectRefused(thread, denials, "MalformedRequest", "/request/decisions");
    expect(await thread.decideTogether(...denials.slice(0, 64))).toEqual(
      denials.slice(0, 64).map(() => "applied"),
    );
    expect((await thread.submission(submissionId)).wait?.operationIds).toEqual([
      denials[64]?.operationId,
    ]);
    await thread.decideTogether(...denials.slice(64));
    await thread.settlement(submissionId);
    await expectSound(thread);
  });
});

describe("a batch with a decision that is refused", () => {
  it("[TOOL-10] leaves every operation as it was, whichever decision it is, and points at it", async () => {
    const { thread, submissionId, operations } = await awaitingApproval(3);
    const [first, second, third] = [0, 1, 2].map((index) => idAt(operations, index));
    await thread.decideTogether({ operationId: third ?? "", decision: "approve" });
    await thread.quiet();
    const right = edit(first ?? "");
    const other = second ?? "";
    const bad: [MadeDecision, string, string][] = [
      [{ operationId: "nonsense", decision: "deny" }, "OperationNotFound", "/operationId"],
      [
        { operationId: "run-1-zzzzzzzzzzzzzzzz.t1.c0", decision: "deny" },
        "OperationNotFound",
        "/operationId",
      ],
      [{ operationId: other.replace(".c1", ".c9"), decision: "deny" }, "OperationNotFound", ""],
      [{ operationId: `${other}.d2`, decision: "deny" }, "OperationNotFound", ""],
      [{ operationId: other, decision: "completed", result: 1 }, "InvalidState", ""],
      [{ operationId: other, decision: "safe-to-retry" }, "InvalidState", ""],
      [{ operationId: third ?? "", decision: "deny" }, "DecisionConflict", ""],
      [
        { operationId: other, decision: "approve", argumentsDigest: "0".repeat(64) },
        "DecisionConflict",
        "",
      ],
      [edit(other, { value: 7 }), "InvalidInput", "/arguments/value"],
      [edit(other, []), "InvalidInput", "/arguments"],
    ];
    for (const [decision, code, below] of bad) {
      await expectRefused(thread, [right, decision], code, `/decisions/1${below}`);
      await expectRefused(thread, [decision, right], code, `/decisions/0${below}`);
    }
    // Each of them can still be decided, over a log whose chain is whole.
    expect(await thread.decideTogether(right, { operationId: other, decision: "deny" })).toEqual([
      "applied",
      "applied",
    ]);
    await thread.settlement(submissionId);
    await expectSound(thread);
  });

  it("[TOOL-10] leaves the operations of another submission as they were", async () => {
    const parked = await unknownOutcomes();
    const { thread } = parked;
    const later = await awaitingApproval(1, thread);
    const unknown = idAt(parked.operations, 0);
    const approval = idAt(later.operations, 0);
    const resolved: MadeDecision = { operationId: unknown, decision: "completed", result: "yes" };
    const pairs: [MadeDecision[], string][] = [
      [[resolved, { operationId: approval, decision: "failed" }], "/decisions/1"],
      [[edit(approval), edit(unknown)], "/decisions/1"],
      [[{ operationId: unknown, decision: "approve" }, edit(approval)], "/decisions/0"],
      // The end of one run is no less undone than a decision.
      [
        [
          { operationId: approval, decision: "abort" },
          { operationId: unknown, decision: "deny" },
        ],
        "/decisions/1",
      ],
    ];
    for (const [decisions, pointer] of pairs) {
      await expectRefused(thread, decisions, "InvalidState", pointer);
    }
    expect(await thread.decideTogether(edit(approval), resolved)).toEqual(["applied", "applied"]);
    await thread.settlement(later.submissionId);
    await thread.settlement(parked.submissionId);
    await expectSound(thread);
  });

  it("[TOOL-10] that names one operation twice is refused, also where both say the same", async () => {
    const { thread, operations } = await awaitingApproval(2);
    const [first, second] = [idAt(operations, 0), idAt(operations, 1)];
    const approve: MadeDecision = { operationId: first, decision: "approve" };
    const other: MadeDecision = { operationId: second, decision: "deny" };
    const pointer = "/request/decisions";
    await expectRefused(thread, [approve, approve], "MalformedRequest", pointer);
    await expectRefused(thread, [approve, other, edit(first)], "MalformedRequest", pointer);
    const alias: MadeDecision = { operationId: `${first}.d2`, decision: "approve" };
    await expectRefused(thread, [approve, alias], "OperationNotFound", "/decisions/1");
  });

  it("[TOOL-10] that aborts a run before it decides another operation of it is refused whole", async () => {
    const { thread, submissionId, operations } = await awaitingApproval(2);
    const [first, second] = [idAt(operations, 0), idAt(operations, 1)];
    const abort: MadeDecision = { operationId: first, decision: "abort" };
    for (const decision of ["approve", "deny", "abort"] as const) {
      const after: MadeDecision = { operationId: second, decision };
      await expectRefused(thread, [abort, after], "InvalidState", "/decisions/1");
    }
    await expectRefused(thread, [abort, edit(second)], "InvalidState", "/decisions/1");
    // The other way round both hold: the answer is on record, and then the run ends.
    expect(await thread.decideTogether(edit(second), abort)).toEqual(["applied", "applied"]);
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "aborted" });
    expect(world.executions.has(second)).toBe(false);
    expect(await thread.decideTogether(edit(second), abort)).toEqual(["replayed", "replayed"]);
    await expectSound(thread);
  });

  it("[TOOL-10, RUN-10] notes what became known of the unknown outcomes of a run that it aborts", async () => {
    const { thread, submissionId, operations } = await unknownOutcomes(3);
    const [first, second, third] = [0, 1, 2].map((index) => idAt(operations, index));
    const decisions: MadeDecision[] = [
      { operationId: first ?? "", decision: "abort" },
      { operationId: second ?? "", decision: "completed", result: "it happened" },
      { operationId: third ?? "", decision: "never-started" },
    ];
    expect(await thread.decideTogether(...decisions)).toEqual(["applied", "applied", "applied"]);
    expect(await thread.settlement(submissionId)).toMatchObject({
      outcome: "aborted",
      unknowns: [first, second, third],
    });
    expect((await thread.records()).slice(-4).map(({ type }) => type)).toEqual([
      "AbortRequested",
      "SubmissionSettled",
      "RepairAnnotated",
      "RepairAnnotated",
    ]);
    expect(await thread.decideTogether(...decisions)).toEqual(["replayed", "replayed", "replayed"]);
    await expectSound(thread);
  });
});

describe("an approval under an id that is not its own", () => {
  it("[TOOL-05] is refused, so that no answer leaves the run waiting for what was answered", async () => {
    const { thread, submissionId, operations } = await awaitingApproval();
    const operationId = `${idAt(operations, 0)}.d2`;
    for (const decision of ["approve", "deny", "abort"] as const) {
      const made = { operationId, decision };
      await expectRefused(thread, [made], "OperationNotFound", "/decisions/0");
    }
    await expectRefused(thread, [edit(operationId)], "OperationNotFound", "/decisions/0");
    await thread.decideTogether({ operationId: idAt(operations, 0), decision: "approve" });
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
  });
});

describe("a crash while a batch is decided", () => {
  const MODES: readonly CrashMode[] = ["throw", "abort", "sync-abort"];

  for (const mode of MODES) {
    for (const point of ["decide:inside", "decide:after"] as const) {
      it(`[TOOL-10, REC-01] leaves nothing or everything of it: ${mode} at ${point}; the repeat ends it`, async () => {
        const parked = await unknownOutcomes();
        const { thread } = parked;
        const later = await awaitingApproval(3, thread);
        const [first, second, third] = [0, 1, 2].map((index) => idAt(later.operations, index));
        const decisions: MadeDecision[] = [
          { operationId: idAt(parked.operations, 0), decision: "completed", result: "yes" },
          edit(first ?? ""),
          { operationId: second ?? "", decision: "approve" },
          { operationId: third ?? "", decision: "deny" },
        ];
        // Everything before is on the disk, so that what a crash may drop is the batch alone.
        await thread.inObject((storage) => storage.sync());
        const before = await thread.dump();
        world.armCrashes({ point, mode });
        await expect(thread.decideTogether(...decisions)).rejects.toThrow();
        expect(world.disarm()).toBe(0);
        const left = await thread.dump();
        const kept = only(left.records, "OperationDecided").length;
        expect([0, decisions.length]).toContain(kept);
        if (point === "decide:inside") expect(kept).toBe(0);
        if (point === "decide:after" && mode !== "abort") expect(kept).toBe(decisions.length);
        if (kept === 0) expect(left).toEqual(before);
        else {
          expect(left.submissions.map(({ wait }) => wait)).toEqual([null, null]);
          expect(left.due?.dueAt).toBe(left.alarm);
          expect(left.alarm).not.toBeNull();
        }
        const status = kept === 0 ? "applied" : "replayed";
        expect(await thread.decideTogether(...decisions)).toEqual(decisions.map(() => status));
        await thread.runAlarms(5, 60_000);
        for (const { submissionId } of [parked, later]) {
          expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
        }
        expect([first, second, third].map((id) => world.executions.get(id ?? "") ?? 0)).toEqual([
          1, 1, 0,
        ]);
        expect(await thread.decideTogether(...decisions)).toEqual(decisions.map(() => "replayed"));
        await expectSound(thread);
      });
    }
  }

  it("[TOOL-10, ALM-06] is gone on from by the alarm alone, where nobody repeats the batch", async () => {
    const { thread, submissionId, operations } = await awaitingApproval(2);
    world.armCrashes({ point: "decide:after", mode: "sync-abort" });
    const decisions = [
      edit(idAt(operations, 0)),
      { operationId: idAt(operations, 1), decision: "deny" },
    ] as const;
    await expect(thread.decideTogether(...decisions)).rejects.toThrow();
    await thread.runAlarms(1, 60_000);
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    expect(answers(await thread.records())).toEqual([
      ["success", WRITTEN],
      ["denied", false],
    ]);
    await expectSound(thread);
  });
});
