// fold(records) → RunState, from hand-written logs.
import { describe, expect, it } from "vitest";
import { must } from "../../../shared/assert.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { LogCorrupt } from "../../../durable-objects/thread/journal/record-codec.ts";
import { foldRecord, foldRun } from "../../../durable-objects/thread/run/fold-run.ts";
import { emptyRun, findCall, openCalls } from "../../../durable-objects/thread/run/run-state.ts";
import {
  abortAsked,
  asked,
  by,
  call,
  DEADLINE,
  decided,
  fold,
  input,
  interrupted,
  log,
  lost,
  modelFailed,
  op,
  OPENING,
  prepared,
  responded,
  retried,
  RUN,
  settled,
  settlement,
  started,
  SUBMISSION,
  T0,
  type Entry,
} from "../support/builders.ts";

const ONE_CALL = [...OPENING, responded(1, { calls: [call()] })];

function phaseOf(...entries: readonly (RecordDraft | Entry)[]): string {
  return must(findCall(fold(...entries), op(1, 0)), "the call is there").call.phase;
}

describe("folding a log", () => {
  it("a log about the thread alone holds no run", () => {
    expect(foldRun([])).toBeNull();
    expect(
      foldRun(log([{ type: "ThreadCreated", payload: { threadId: "t", createdBy: "ann" } }])),
    ).toBeNull();
  });

  it("[RUN-07] the clock starts with the start's record and the deadline is the recorded one", () => {
    const state = fold(input({ a: 1 }), started());
    expect(state).toMatchObject({
      submissionId: SUBMISSION,
      runId: RUN,
      input: { a: 1 },
      start: { startedAt: T0 + 2, deadlineAt: DEADLINE },
      lastProgress: 2,
    });
  });

  it("[RUN-08] usage sums over responses, failures, interruptions and dispatched calls", () => {
    const tokens = {
      inputTokens: 10,
      outputTokens: 5,
      cacheReadInputTokens: 2,
      cacheWriteInputTokens: 1,
    };
    const state = fold(
      ...OPENING,
      modelFailed(1, 1, T0 + 500, { inputTokens: 3 }),
      by(2, responded(1, { calls: [call(), call("read"), call("gone")], usage: tokens })),
      by(2, prepared(1, { index: 0 })),
      by(2, settled(1, 0)),
      by(2, settled(1, 1)),
      by(2, settled(1, 2, "invalid", { by: "runtime" })),
      by(3, interrupted(2, 2)),
      by(3, responded(2, { text: "done", usage: tokens })),
    );
    expect(state.usage).toEqual({
      inputTokens: 23,
      outputTokens: 10,
      cacheReadInputTokens: 4,
      cacheWriteInputTokens: 2,
      turns: 2,
      toolCalls: 2,
      failedModelCalls: 1,
      interruptedModelCalls: 1,
      costMicrousd: 0,
      unpricedModelCalls: 0,
      lastInputTokens: 10,
      lastOutputTokens: 5,
    });
  });

  it.each([
    ["success", 1],
    ["failure", 1],
    ["timeout", 1],
    ["denied", 0],
    ["budget-rejected", 0],
    ["invalid", 0],
    ["unavailable", 0],
  ] as const)("[RUN-08] a read that settled as %s counts %i calls", (outcome, calls) => {
    expect(fold(...ONE_CALL, settled(1, 0, outcome)).usage.toolCalls).toBe(calls);
  });

  it("[RUN-08] a call with an intent is counted by the intent, and again when a decision lets it run again", () => {
    const once = fold(...ONE_CALL, prepared(1, { index: 0 }), settled(1, 0));
    expect(once.usage.toolCalls).toBe(1);
    const twice = fold(
      ...ONE_CALL,
      prepared(1, { index: 0 }),
      lost(1, 0),
      decided(1, 0, "safe-to-retry", 1),
      prepared(1, { index: 0, dispatch: 2 }),
      settled(1, 0),
    );
    expect(twice.usage.toolCalls).toBe(2);
  });

  it("a declared call carries its place, its arguments' digest and its fault", () => {
    const state = fold(
      ...OPENING,
      responded(1, {
        text: "let me see",
        calls: [call("a", { x: 1 }), call("b")],
        callFaults: [{ index: 1, fault: "repeated-call-id" }],
      }),
    );
    expect(openCalls(state).map((open) => [open.operationId, open.fault, open.phase])).toEqual([
      [op(1, 0), null, "declared"],
      [op(1, 1), "repeated-call-id", "declared"],
    ]);
    expect(openCalls(state)[0]?.argumentsDigest).not.toBe(openCalls(state)[1]?.argumentsDigest);
  });

  it("[TOOL-05] approval moves a call through its question to its answer", () => {
    expect(phaseOf(...ONE_CALL, asked(1, 0))).toBe("awaiting-approval");
    expect(phaseOf(...ONE_CALL, asked(1, 0), decided(1, 0, "approve", 0))).toBe("approved");
    expect(phaseOf(...ONE_CALL, asked(1, 0), decided(1, 0, "deny", 0))).toBe("denied");
  });

  it("[TOOL-05] a decision that arrives before the question counts", () => {
    expect(phaseOf(...ONE_CALL, decided(1, 0, "approve", 0))).toBe("approved");
    expect(phaseOf(...ONE_CALL, decided(1, 0, "deny", 0))).toBe("denied");
  });

  it("a question notes since when it waits, and its answer ends the wait", () => {
    const waiting = fold(...ONE_CALL, asked(1, 0));
    expect(openCalls(waiting)[0]?.waitingSince).toBe(T0 + 4);
    const answered = fold(...ONE_CALL, asked(1, 0), decided(1, 0, "approve", 0));
    expect(openCalls(answered)[0]?.waitingSince).toBeNull();
  });

  it("[TOOL-04] an unknown outcome stays until a result or a clearance", () => {
    const unknown = [...ONE_CALL, prepared(1, { index: 0 }), lost(1, 0)];
    expect(phaseOf(...unknown)).toBe("unknown");
    for (const decision of ["never-started", "safe-to-retry"] as const) {
      expect(phaseOf(...unknown, decided(1, 0, decision, 1))).toBe("cleared");
    }
    for (const decision of ["completed", "failed", "abort"] as const) {
      expect(phaseOf(...unknown, decided(1, 0, decision, 1))).toBe("unknown");
    }
    expect(
      phaseOf(
        ...unknown,
        decided(1, 0, "completed", 1, "ok"),
        settled(1, 0, "success", { by: "decision" }),
      ),
    ).toBe("settled");
  });

  it("[RUN-15] a response ends the count of failures of its call", () => {
    const failing = fold(...OPENING, modelFailed(1, 1, T0 + 500), modelFailed(1, 2, T0 + 900));
    expect(failing).toMatchObject({ modelFailures: 2, retryAt: T0 + 900 });
    const through = fold(...OPENING, modelFailed(1, 1, T0 + 500), responded(1, { text: "x" }));
    expect(through).toMatchObject({ modelFailures: 0, retryAt: null });
  });

  it("[REC-10] audit records are no progress", () => {
    const state = fold(...OPENING, by(2, interrupted(1, 1)), retried(4));
    expect(state.lastProgress).toBe(2);
  });

  it("[REC-03] a model call may be open after a start and after a batch that an attempt completed", () => {
    expect(fold(...OPENING).callMayBeOpen).toBe(true);
    expect(fold(...ONE_CALL).callMayBeOpen).toBe(false);
    expect(fold(...ONE_CALL, settled(1, 0)).callMayBeOpen).toBe(true);
    const two = [...OPENING, responded(1, { calls: [call(), call()] })];
    expect(fold(...two, settled(1, 0)).callMayBeOpen).toBe(false);
    expect(fold(...two, settled(1, 0), settled(1, 1)).callMayBeOpen).toBe(true);
  });

  it("[REC-03] no model call is open after a failure, a question, or a result that a person gave", () => {
    expect(fold(...OPENING, modelFailed(1, 1, T0 + 500)).callMayBeOpen).toBe(false);
    expect(fold(...ONE_CALL, asked(1, 0)).callMayBeOpen).toBe(false);
    const decidedCall = fold(
      ...ONE_CALL,
      prepared(1, { index: 0 }),
      lost(1, 0),
      decided(1, 0, "completed", 1),
      settled(1, 0, "success", { by: "decision" }),
    );
    expect(decidedCall.callMayBeOpen).toBe(false);
  });

  it("[RUN-10] an abort is noted, and the settlement ends the run's log but for notes", () => {
    const state = fold(...OPENING, abortAsked(), settlement([op(1, 0)]));
    expect(state.abort).toMatchObject({ author: "ann" });
    expect(state.settlement).toMatchObject({ sequence: 4, payload: { unknowns: [op(1, 0)] } });
    expect(fold(...OPENING, abortAsked(), settlement(), retried(1)).settlement).not.toBeNull();
  });
});

const UNKNOWN = [...ONE_CALL, prepared(1, { index: 0 }), lost(1, 0)];

/** Each record kind that can be there once, with a log in which it stands and can be said a second time. */
const DUPLICATES: Record<string, readonly RecordDraft[]> = {
  InputRecorded: [input(), started(), input()],
  RunStarted: [...OPENING, started()],
  ModelResponded: [...ONE_CALL, settled(1, 0), responded(1)],
  ModelCallFailed: [...OPENING, modelFailed(1, 1, T0), modelFailed(1, 1, T0)],
  ModelInterrupted: [...OPENING, interrupted(1, 1), interrupted(1, 1)],
  ToolsPrepared: [...ONE_CALL, prepared(1, { index: 0 }), prepared(1, { index: 0 })],
  ToolSettled: [...ONE_CALL, settled(1, 0), settled(1, 0)],
  ToolUnknown: [...UNKNOWN, lost(1, 0)],
  ApprovalRequested: [...ONE_CALL, asked(1, 0), asked(1, 0)],
  "OperationDecided (approval)": [
    ...ONE_CALL,
    asked(1, 0),
    decided(1, 0, "approve", 0),
    decided(1, 0, "approve", 0),
  ],
  "OperationDecided (unknown)": [
    ...UNKNOWN,
    decided(1, 0, "completed", 1),
    decided(1, 0, "failed", 1),
  ],
  AbortRequested: [...OPENING, abortAsked(), abortAsked()],
  SubmissionSettled: [...OPENING, settlement(), settlement()],
};

describe("[RUN-11] a log that no decision could have made is refused", () => {
  for (const [name, entries] of Object.entries(DUPLICATES)) {
    it(`a second ${name} of one identity`, () => {
      expect(() => fold(...entries.slice(0, -1))).not.toThrow();
      expect(() => fold(...entries)).toThrow(LogCorrupt);
    });
  }

  it.each<[string, readonly RecordDraft[]]>([
    ["a turn that skips one", [...OPENING, responded(2)]],
    ["a turn while a call is open", [...ONE_CALL, responded(2)]],
    ["a result of a call that was never declared", [...ONE_CALL, settled(1, 1)]],
    ["a result of an earlier turn", [...ONE_CALL, settled(1, 0), responded(2), settled(1, 0)]],
    ["a result before any turn", [...OPENING, settled(1, 0)]],
    ["a lost call that was never prepared", [...ONE_CALL, lost(1, 0)]],
    [
      "an intent for a denied call",
      [...ONE_CALL, decided(1, 0, "deny", 0), prepared(1, { index: 0 })],
    ],
    ["an intent while a person is asked", [...ONE_CALL, asked(1, 0), prepared(1, { index: 0 })]],
    ["an intent that skips a dispatch", [...ONE_CALL, prepared(1, { index: 0, dispatch: 2 })]],
    ["a clearance of a call that is not unknown", [...ONE_CALL, decided(1, 0, "never-started", 1)]],
    [
      "a repeat of an unknown call without a decision",
      [...UNKNOWN, prepared(1, { index: 0, dispatch: 2 })],
    ],
    ["a model failure that skips one", [...OPENING, modelFailed(1, 2, T0)]],
    ["an interruption by an older epoch", [...OPENING, interrupted(1, 2), interrupted(1, 1)]],
    ["a response after the settlement", [...OPENING, settlement(), responded(1)]],
  ])("%s", (_name, entries) => {
    expect(() => fold(...entries)).toThrow(LogCorrupt);
  });

  it("a record never changes the state that it was folded onto", () => {
    const records = log([...ONE_CALL, prepared(1, { index: 0 }), settled(1, 0)]);
    let state = emptyRun(SUBMISSION);
    for (const stored of records) {
      const before = JSON.stringify(state);
      const next = foldRecord(state, stored);
      expect(JSON.stringify(state)).toBe(before);
      state = next;
    }
  });
});
