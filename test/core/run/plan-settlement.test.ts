// An ending as records.
import { describe, expect, it } from "vitest";
import { planSettlement } from "../../../durable-objects/thread/run/plan-settlement.ts";
import type { Ending } from "../../../durable-objects/thread/run/decide-step.ts";
import { call, fold, lost, op, OPENING, prepared, responded } from "../support/builders.ts";

const DONE: Ending = {
  outcome: "completed",
  output: "done",
  exhausted: null,
  completion: null,
};
const LATE: Ending = {
  outcome: "failed",
  failure: { tag: "PolicyLimitError", message: "late" },
  limit: "duration",
};

describe("planning a settlement", () => {
  it("[RUN-13] a completion carries its output, why it stopped and what it spent", () => {
    const state = fold(...OPENING, responded(1, { text: "done", usage: { inputTokens: 7 } }));
    expect(planSettlement(state, DONE)).toMatchObject([
      {
        type: "SubmissionSettled",
        payload: {
          outcome: "completed",
          output: "done",
          finishReason: "stop",
          usage: { inputTokens: 7, turns: 1 },
        },
      },
    ]);
    expect(planSettlement(state, { ...DONE, exhausted: "tokens" })).toMatchObject([
      { payload: { finishReason: "budget-exhausted", exhausted: "tokens" } },
    ]);
  });

  it("[RUN-12] a failure carries its tag, message and limit, and no output", () => {
    const [draft] = planSettlement(fold(...OPENING), LATE);
    expect(draft).toMatchObject({
      payload: { outcome: "failed", failure: LATE.failure, limit: "duration" },
    });
    expect(JSON.stringify(draft)).not.toContain('output"');
  });

  it.each([
    [LATE, "deadline"],
    [{ outcome: "aborted" }, "aborted"],
    [{ ...LATE, limit: "turns" }, "attempt-lost"],
  ] satisfies [Ending, string][])(
    "[RUN-10] a call in flight becomes unknown: %#",
    (ending, reason) => {
      const batch = responded(1, { calls: [call(), call(), call()] });
      const state = fold(
        ...OPENING,
        batch,
        prepared(1, { index: 0 }, { index: 1, effect: "idempotent" }, { index: 2 }),
        lost(1, 2),
      );
      expect(planSettlement(state, ending)).toMatchObject([
        { type: "ToolUnknown", payload: { operationId: op(1, 0), reason } },
        { type: "SubmissionSettled", payload: { unknowns: [op(1, 0), op(1, 2)] } },
      ]);
    },
  );

  it("what it plans can follow its log", () => {
    const entries = [...OPENING, responded(1, { calls: [call()] }), prepared(1, { index: 0 })];
    const state = fold(...entries, ...planSettlement(fold(...entries), LATE));
    expect(state.settlement?.payload.outcome).toBe("failed");
  });
});
