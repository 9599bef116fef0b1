// What becomes of each call of a batch before anything of it runs.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { must } from "../../../shared/assert.ts";
import { defineTool } from "../../../shared/define/tool.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { planBatch } from "../../../durable-objects/thread/run/plan-batch.ts";
import { lastTurn } from "../../../durable-objects/thread/run/run-state.ts";
import { intentsDraft } from "../../../durable-objects/thread/run/tool-drafts.ts";
import {
  ANY_TEXT,
  asked,
  call,
  decided,
  fold,
  lost,
  OPENING,
  prepared,
  responded,
  settled,
  type Response,
} from "../support/builders.ts";

function tool(name: string, effect: "read" | "idempotent" | "external") {
  return defineTool({
    name,
    revision: 1,
    description: name,
    input: z.object({ n: z.int().optional() }),
    effect,
    execute: () => null,
  });
}

const TOOLS = new Map(
  [tool("read", "read"), tool("put", "idempotent"), tool("act", "external")].map((each) => [
    each.name,
    each,
  ]),
);

function plan(response: Response, more: readonly RecordDraft[] = [], toolsChanged = false) {
  const state = fold(...OPENING, responded(1, response), ...more);
  const turn = must(lastTurn(state), "a turn");
  const planned = planBatch(turn, {
    tools: TOOLS,
    toolsChanged,
    contract: ANY_TEXT,
    unanswered: new Map(),
  });
  return {
    lost: planned.lost.map((each) => each.index),
    rejected: planned.rejected.map((each) => `${each.call.index} ${each.outcome}`),
    candidates: planned.candidates.map((each) => each.call.index),
    intents: intentsDraft(state, 1, planned.candidates),
  };
}

describe("[RUN-03] preflight of a batch", () => {
  it("runs the valid calls beside the invalid ones", () => {
    const calls = [call("act"), call("nobody"), call("act", { n: "x" }), call("read")];
    expect(plan({ calls })).toMatchObject({
      lost: [],
      rejected: ["1 invalid", "2 invalid"],
      candidates: [0, 3],
    });
  });

  it("[RUN-04] a response cut by length never runs its calls", () => {
    expect(plan({ calls: [call("act"), call("read")], finishReason: "length" })).toMatchObject({
      rejected: ["0 invalid", "1 invalid"],
      candidates: [],
      intents: null,
    });
  });

  it("a call whose arguments were malformed or whose id repeats never runs", () => {
    const callFaults = [
      { index: 0, fault: "malformed-arguments" as const },
      { index: 1, fault: "repeated-call-id" as const },
    ];
    const calls = [call("act"), call("act"), call("act")];
    expect(plan({ calls, callFaults })).toMatchObject({
      rejected: ["0 invalid", "1 invalid"],
      candidates: [2],
    });
  });

  it("leaves settled calls alone", () => {
    const calls = [call("act"), call("read")];
    expect(plan({ calls }, [settled(1, 0)]).candidates).toEqual([1]);
  });

  it("[TOOL-05] a denial is a result that the model reads, an approved call runs", () => {
    const calls = [call("act"), call("act")];
    const answers = [
      asked(1, 0),
      asked(1, 1),
      decided(1, 0, "deny", 0),
      decided(1, 1, "approve", 0),
    ];
    expect(plan({ calls }, answers)).toMatchObject({ rejected: ["0 denied"], candidates: [1] });
  });

  it("[TOOL-11] a tool that a deployment took away is unavailable, and unknown once dispatched", () => {
    const calls = [call("nobody"), call("nobody")];
    expect(plan({ calls }, [], true).rejected).toEqual(["0 unavailable", "1 unavailable"]);
    expect(plan({ calls }, [prepared(1, { index: 1, effect: "idempotent" })], true)).toMatchObject({
      lost: [1],
      rejected: ["0 unavailable"],
    });
  });
});

describe("[RUN-02] intents", () => {
  it("are one record for all calls that touch the outside", () => {
    const calls = [call("act"), call("read"), call("put")];
    expect(plan({ calls }).intents).toMatchObject({
      type: "ToolsPrepared",
      payload: {
        calls: [
          { toolCallId: "id-1-0", effect: "external", dispatch: 1 },
          { toolCallId: "id-1-2", effect: "idempotent", dispatch: 1 },
        ],
      },
    });
  });

  it("are none for reads, and no second one for an idempotent call that is repeated", () => {
    expect(plan({ calls: [call("read")] }).intents).toBeNull();
    const repeated = plan({ calls: [call("put")] }, [
      prepared(1, { index: 0, effect: "idempotent" }),
    ]);
    expect(repeated).toMatchObject({ candidates: [0], intents: null });
  });

  it("[TOOL-04] count a dispatch further after a decision that let the call run again", () => {
    const cleared = [prepared(1, { index: 0 }), lost(1, 0), decided(1, 0, "safe-to-retry", 1)];
    expect(plan({ calls: [call("act")] }, cleared).intents).toMatchObject({
      payload: { calls: [{ dispatch: 2 }] },
    });
  });
});
