// decide(RunState, policy, now) → Step, from hand-written logs.
import { describe, expect, it } from "vitest";
import { decideStep, type Step } from "../../../durable-objects/thread/run/decide-step.ts";
import type { JsonValue } from "../../../shared/canonical-json.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import {
  abortAsked,
  asked,
  by,
  call,
  DEADLINE,
  decided,
  facts,
  fold,
  interrupted,
  lost,
  modelFailed,
  op,
  OPENING,
  prepared,
  responded,
  settled,
  T0,
  warned,
  type Call,
  type Entry,
  type Response,
} from "../support/builders.ts";

const ONE_CALL = [...OPENING, responded(1, { calls: [call()] })];
const UNKNOWN = [...ONE_CALL, prepared(1, { index: 0 }), lost(1, 0)];

function step(
  entries: readonly (RecordDraft | Entry)[],
  changes: Parameters<typeof facts>[0] = {},
): Step {
  return decideStep(fold(...entries), facts(changes));
}

function limitFailure(limit: string) {
  return {
    kind: "settle",
    ending: { outcome: "failed", failure: { tag: "PolicyLimitError" }, limit },
  };
}

/** A turn with one settled call. */
function turnOf(turn: number, outcome: Parameters<typeof settled>[2] = "success"): RecordDraft[] {
  return [responded(turn, { calls: [call()] }), settled(turn, 0, outcome)];
}

function rejectedFor(turn: number, limit: "tokens" | "tool-calls"): RecordDraft {
  return settled(turn, 0, "budget-rejected", {
    by: "runtime",
    exhausted: limit,
  });
}

describe("[RUN-01] the next step", () => {
  it("of a fresh run is its first model call", () => {
    expect(step(OPENING)).toEqual({ kind: "call-model", turn: 1, graceFor: null });
  });

  it("of a response with calls is its batch", () => {
    expect(step(ONE_CALL)).toMatchObject({ kind: "run-tools", turn: { turn: 1 } });
  });

  it("[RUN-02] of a batch with one open call is still that batch, and of a complete one the next call", () => {
    const two = [...OPENING, responded(1, { calls: [call(), call()] })];
    expect(step([...two, settled(1, 1)])).toMatchObject({ kind: "run-tools" });
    expect(step([...two, settled(1, 1), settled(1, 0)])).toMatchObject({
      kind: "call-model",
      turn: 2,
    });
  });

  it("of a response without calls is its settlement", () => {
    expect(step([...OPENING, responded(1, { text: "done" })])).toEqual({
      kind: "settle",
      ending: { outcome: "completed", output: "done", exhausted: null, completion: null },
    });
  });

  describe("[RUN-16] of an answer that does not decode", () => {
    const faults = [{ pointer: "/answer", message: "expected string" }];
    const refuse = { decodeOutput: () => ({ ok: false as const, faults }), hasOutputSchema: true };
    const bad = (turn: number) => responded(turn, { text: "no", outputFaults: "bad" });
    const invalid = {
      ending: { outcome: "failed", failure: { tag: "OutputInvalid" }, limit: null },
    };

    it("is one repair turn, and then OutputInvalid that repeats nothing", () => {
      expect(step([...OPENING, bad(1)], refuse)).toEqual({
        kind: "call-model",
        turn: 2,
        graceFor: null,
      });
      const second = step([...OPENING, bad(1), bad(2)], refuse);
      expect(second).toMatchObject(invalid);
      expect(JSON.stringify(second)).not.toContain("/answer");
    });

    it("is no second repair after tools in between", () => {
      const entries = [
        ...OPENING,
        bad(1),
        responded(2, { calls: [call()] }),
        settled(2, 0),
        bad(3),
      ];
      expect(step(entries, refuse)).toMatchObject(invalid);
    });

    it("stays inside the limits of the run", () => {
      expect(step([...OPENING, bad(1)], { ...refuse, policy: { maxTurns: 1 } })).toMatchObject(
        invalid,
      );
      const spent = responded(1, { text: "no", usage: { inputTokens: 100 } });
      const policy = { tokenBudget: 100 };
      expect(step([...OPENING, spent], { ...refuse, policy })).toMatchObject(invalid);
    });

    it("is the end in a grace turn", () => {
      const grace = responded(2, { text: "no", graceFor: "turns" });
      const policy = { maxTurns: 1 };
      expect(step([...OPENING, ...turnOf(1), grace], { ...refuse, policy })).toMatchObject(invalid);
    });

    it("says when it was cut", () => {
      const cut = (turn: number) => responded(turn, { text: "{}", finishReason: "length" });
      const any = { hasOutputSchema: true };
      const end = step([...OPENING, cut(1), cut(2)], any);
      expect(end).toMatchObject(invalid);
      expect(JSON.stringify(end)).toContain("cut by its length limit");
    });
  });

  describe("[RUN-16] of a call of the completion tool", () => {
    const contract = {
      completionTool: "submit",
      hasOutputSchema: true,
      decodeOutput: () => ({ ok: false as const, faults: [] }),
      decodeCompletion: (args: JsonValue) =>
        JSON.stringify(args).includes("answer")
          ? { ok: true as const, value: args }
          : { ok: false as const, faults: [{ pointer: "", message: "no answer" }] },
    };
    const submit = (turn: number, args: JsonValue, more: Call[] = [], graceFor?: "turns") =>
      responded(turn, {
        calls: [call("submit", args), ...more],
        ...(graceFor === undefined ? {} : { graceFor }),
      });

    it("is a tool's own where it went any way of a tool's, as before another deployment", () => {
      const first = [...OPENING, submit(1, { answer: 42 })];
      expect(step([...first, asked(1, 0)], contract)).toMatchObject({ kind: "wait" });
      const denied = [...first, asked(1, 0), decided(1, 0, "deny", 0)];
      expect(step(denied, contract)).toMatchObject({ kind: "run-tools" });
      const begun = [...first, prepared(1, { index: 0 })];
      expect(step(begun, contract)).toMatchObject({ kind: "mark-unknown" });
      expect(step([...begun, lost(1, 0)], contract)).toMatchObject({ kind: "wait" });
    });

    it("is no failure of a tool where it does not fit", () => {
      const told = [...OPENING, submit(1, {}), settled(1, 0, "invalid")];
      const policy = { repeatedFailureLimit: 1 };
      expect(step(told, { ...contract, policy })).toMatchObject({ kind: "call-model" });
    });

    it("is its arguments as the output", () => {
      expect(step([...OPENING, submit(1, { answer: 42 })], contract)).toMatchObject({
        ending: {
          outcome: "completed",
          output: { answer: 42 },
          completion: { operationId: op(1, 0) },
        },
      });
    });

    it("is to run the batch where it stands beside others: it cannot know their results", () => {
      const entries = [...OPENING, submit(1, { answer: 42 }, [call("look")])];
      expect(step(entries, contract)).toMatchObject({ kind: "run-tools" });
    });

    it("is a result and one repair turn where the arguments do not fit", () => {
      const first = [...OPENING, submit(1, {})];
      expect(step(first, contract)).toMatchObject({ kind: "run-tools" });
      const told = [...first, settled(1, 0, "invalid")];
      expect(step(told, contract)).toMatchObject({ kind: "call-model", turn: 2 });
      expect(step([...told, submit(2, {})], contract)).toMatchObject({
        ending: { failure: { tag: "OutputInvalid" } },
      });
      expect(step([...told, submit(2, { answer: 1 })], contract)).toMatchObject({
        ending: { output: { answer: 1 } },
      });
    });

    it("[CTX-14] completes the run from its grace turn too", () => {
      const entries = [...OPENING, ...turnOf(1), submit(2, { answer: 1 }, [], "turns")];
      expect(step(entries, { ...contract, policy: { maxTurns: 1 } })).toMatchObject({
        ending: { outcome: "completed", exhausted: "turns" },
      });
    });
  });

  it("[TOOL-07] of a model that paused in its provider's tools is to go on, inside the limits", () => {
    const paused = responded(1, { text: "Let me search.", finishReason: "paused" });
    expect(step([...OPENING, paused])).toEqual({ kind: "call-model", turn: 2, graceFor: null });
    const policy = { maxTurns: 1 };
    expect(step([...OPENING, paused], { policy })).toMatchObject({ graceFor: "turns" });
  });

  it("[REC-03] of a repair that was lost says so first, as of any call", () => {
    const refuse = {
      decodeOutput: () => ({ ok: false as const, faults: [] }),
      hasOutputSchema: true,
    };
    const bad = responded(1, { text: "no", outputFaults: "bad" });
    const lostCall = { ...refuse, supersededEpoch: 1 };
    expect(step([...OPENING, bad], lostCall)).toMatchObject({ kind: "note-interruption" });
    const results = [...OPENING, responded(1, { calls: [call()] }), settled(1, 0), warned("turns")];
    expect(step(results, { supersededEpoch: 1 })).toMatchObject({ kind: "note-interruption" });
  });

  it("[RUN-04] of a cut answer without a schema is its completion", () => {
    const entries = [...OPENING, responded(1, { text: "half", finishReason: "length" })];
    expect(step(entries)).toMatchObject({ ending: { outcome: "completed", output: "half" } });
  });

  it("[TOOL-04] of a lost external call is to say that it may have happened", () => {
    expect(step([...ONE_CALL, prepared(1, { index: 0 })])).toMatchObject({
      kind: "mark-unknown",
      turn: 1,
      calls: [{ operationId: op(1, 0) }],
    });
  });

  it("[TOOL-02] of a lost idempotent call is to run it again", () => {
    const entries = [...ONE_CALL, prepared(1, { index: 0, effect: "idempotent" })];
    expect(step(entries)).toMatchObject({ kind: "run-tools" });
  });

  it("[TOOL-04] of an unknown outcome is a wait without a deadline that names the operation", () => {
    expect(step(UNKNOWN)).toEqual({
      kind: "wait",
      wait: { reason: "unknown-outcome", dueAt: null, operationIds: [op(1, 0)] },
    });
  });

  it("[TOOL-04] of a second loss is another operation", () => {
    const again = [
      ...UNKNOWN,
      decided(1, 0, "never-started", 1),
      prepared(1, { index: 0, dispatch: 2 }),
      lost(1, 0, 2),
    ];
    expect(step(again)).toMatchObject({ wait: { operationIds: [`${op(1, 0)}.d2`] } });
  });

  it.each([
    ["never-started", "run-tools"],
    ["safe-to-retry", "run-tools"],
    ["completed", "wait"],
  ] as const)("[TOOL-04] after the decision %s is %s", (decision, kind) => {
    expect(step([...UNKNOWN, decided(1, 0, decision, 1)]).kind).toBe(kind);
  });

  it("[TOOL-05] of a question is a wait until the run's deadline", () => {
    expect(step([...ONE_CALL, asked(1, 0)])).toEqual({
      kind: "wait",
      wait: { reason: "approval", dueAt: DEADLINE, operationIds: [op(1, 0)] },
    });
  });

  it.each(["approve", "deny"] as const)("[TOOL-05] after %s is the batch", (decision) => {
    const entries = [...ONE_CALL, asked(1, 0), decided(1, 0, decision, 0)];
    expect(step(entries)).toMatchObject({ kind: "run-tools" });
  });

  it("[RUN-15] of a failed model call is a wait until its retry, then the same turn again", () => {
    const entries = [...OPENING, modelFailed(1, 1, T0 + 5_000)];
    expect(step(entries)).toEqual({
      kind: "wait",
      wait: { reason: "retry-backoff", dueAt: T0 + 5_000, operationIds: [] },
    });
    expect(step(entries, { now: T0 + 5_000 })).toMatchObject({ kind: "call-model", turn: 1 });
  });

  it("[RUN-07] of a retry that comes past the deadline is a wait until the deadline only", () => {
    const entries = [...OPENING, modelFailed(1, 1, DEADLINE + 5_000)];
    expect(step(entries)).toMatchObject({ wait: { dueAt: DEADLINE } });
  });
});

describe("[REC-03] a lost model call", () => {
  it("is noted once, and the call is then repeated", () => {
    const takenOver = { supersededEpoch: 1 };
    expect(step(OPENING, takenOver)).toEqual({
      kind: "note-interruption",
      turn: 1,
      supersededEpoch: 1,
    });
    expect(step([...OPENING, by(2, interrupted(1, 1))], takenOver)).toMatchObject({
      kind: "call-model",
    });
  });

  it("is noted again when the repeat is lost as well", () => {
    const entries = [...OPENING, by(2, interrupted(1, 1))];
    expect(step(entries, { supersededEpoch: 2 })).toMatchObject({ kind: "note-interruption" });
  });

  it("is not noted where none can have been open", () => {
    const takenOver = { supersededEpoch: 1, now: T0 + 9_000 };
    expect(step([...OPENING, modelFailed(1, 1, T0 + 500)], takenOver)).toMatchObject({
      kind: "call-model",
    });
    const decidedBatch = [
      ...UNKNOWN,
      decided(1, 0, "completed", 1),
      settled(1, 0, "success", { by: "decision" }),
    ];
    expect(step(decidedBatch, takenOver)).toMatchObject({ kind: "call-model", turn: 2 });
    expect(step(OPENING)).toMatchObject({ kind: "call-model" });
  });

  it("is not noted during a batch", () => {
    expect(step(ONE_CALL, { supersededEpoch: 1 })).toMatchObject({ kind: "run-tools" });
  });
});

describe("what comes first", () => {
  const past = { now: DEADLINE };
  const bad = [1, 2, 3].flatMap((turn) => turnOf(turn, "failure"));

  it.each<[string, readonly RecordDraft[]]>([
    ["a fresh run", OPENING],
    ["an open batch", ONE_CALL],
    ["a lost external call", [...ONE_CALL, prepared(1, { index: 0 })]],
    ["an unknown outcome", UNKNOWN],
    ["an approval", [...ONE_CALL, asked(1, 0)]],
    ["a retry", [...OPENING, modelFailed(1, 1, DEADLINE)]],
    ["repeated failures", [...OPENING, ...bad]],
    ["a final answer", [...OPENING, responded(1, { text: "done" })]],
  ])("[RUN-10, RUN-07] an abort, then the deadline, before %s", (_name, entries) => {
    expect(step([...entries, abortAsked()], past)).toEqual({
      kind: "settle",
      ending: { outcome: "aborted" },
    });
    expect(step(entries, past)).toMatchObject(limitFailure("duration"));
    expect(step(entries, { now: DEADLINE - 1 })).not.toMatchObject(limitFailure("duration"));
  });

  it("[TOOL-04] a lost call before an unknown one, an unknown one before a question, a question before the rest", () => {
    const four = responded(1, { calls: [call(), call(), call(), call()] });
    const questions = [...OPENING, four, asked(1, 1)];
    expect(step(questions)).toMatchObject({ wait: { reason: "approval" } });
    const unknown = [...questions, prepared(1, { index: 2 }), lost(1, 2)];
    expect(step(unknown)).toMatchObject({ wait: { reason: "unknown-outcome" } });
    const both = [
      ...OPENING,
      four,
      asked(1, 1),
      prepared(1, { index: 2 }, { index: 3 }),
      lost(1, 2),
    ];
    expect(step(both)).toMatchObject({ kind: "mark-unknown", calls: [{ index: 3 }] });
  });

  it("[RUN-14] repeated failures before used-up turns, used-up turns before a retry's wait", () => {
    const policy = { maxTurns: 3, onExhaustion: "fail" as const };
    expect(step([...OPENING, ...bad], { policy })).toMatchObject(limitFailure("repeated-failures"));
    const used = [...OPENING, ...[1, 2, 3].flatMap((turn) => turnOf(turn))];
    const failed = [...used, modelFailed(4, 1, T0 + 90_000)];
    expect(step(failed, { policy })).toMatchObject(limitFailure("turns"));
  });
});

describe("[RUN-14] repeated failures", () => {
  function outcomes(...list: Parameters<typeof settled>[2][]): RecordDraft[] {
    return [...OPENING, ...list.flatMap((outcome, index) => turnOf(index + 1, outcome))];
  }

  it.each<[Parameters<typeof settled>[2][], boolean]>([
    [["failure", "failure"], false],
    [["failure", "failure", "failure"], true],
    [["failure", "invalid", "timeout"], true],
    [["failure", "success", "failure", "failure"], false],
    [["success", "failure", "failure", "failure"], true],
    [["failure", "denied", "failure", "unavailable", "failure"], true],
    [["denied", "denied", "denied"], false],
    [["unavailable", "budget-rejected", "unavailable"], false],
  ])("%j ends the run: %s", (list, ends) => {
    const next = step(outcomes(...list), { policy: { maxTurns: 20 } });
    if (ends) expect(next).toMatchObject(limitFailure("repeated-failures"));
    else expect(next.kind).toBe("call-model");
  });

  it("count in declaration order, whatever order the results came in", () => {
    const batch = responded(1, { calls: [call(), call(), call(), call()] });
    const results = [
      settled(1, 0),
      settled(1, 3, "failure"),
      settled(1, 2, "failure"),
      settled(1, 1, "failure"),
    ];
    expect(step([...OPENING, batch, ...results])).toMatchObject(limitFailure("repeated-failures"));
    expect(step([...OPENING, batch, ...results.slice(0, 3)])).toMatchObject({ kind: "run-tools" });
    const resetAtTheEnd = [
      settled(1, 3),
      settled(1, 0, "failure"),
      settled(1, 1, "failure"),
      settled(1, 2),
    ];
    expect(step([...OPENING, batch, ...resetAtTheEnd])).toMatchObject({ kind: "call-model" });
  });

  it("are off at 0, and a limit of 1 ends at the first", () => {
    const many = outcomes("failure", "failure", "failure", "failure", "failure");
    expect(step(many, { policy: { repeatedFailureLimit: 0 } }).kind).toBe("call-model");
    expect(step(outcomes("failure"), { policy: { repeatedFailureLimit: 1 } })).toMatchObject(
      limitFailure("repeated-failures"),
    );
  });
});

describe("exhaustion", () => {
  const spent = { inputTokens: 60, outputTokens: 40 };
  const policy = { maxTurns: 1, tokenBudget: 100 };
  const failing = { ...policy, onExhaustion: "fail" as const };

  it("[CTX-14] used-up turns give one grace turn, marked with the limit", () => {
    const entries = [...OPENING, ...turnOf(1)];
    expect(step(entries, { policy: { maxTurns: 1 } })).toEqual({
      kind: "call-model",
      turn: 2,
      graceFor: "turns",
    });
    expect(step(entries, { policy: { maxTurns: 2 } })).toMatchObject({ graceFor: null });
  });

  it("[CTX-15] used-up turns fail under fail", () => {
    expect(step([...OPENING, ...turnOf(1)], { policy: failing })).toMatchObject(
      limitFailure("turns"),
    );
  });

  it("[CTX-12, CTX-14] the token budget counts input and output over all turns and failed calls", () => {
    const half = { inputTokens: 49 };
    const one = responded(1, { calls: [call()], usage: half });
    const two = responded(2, { calls: [call()], usage: half });
    const under = [...OPENING, one, settled(1, 0), two, settled(2, 0)];
    const budget = { tokenBudget: 130, completionReserveTokens: 30 };
    expect(step(under, { policy: budget })).toMatchObject({ graceFor: null });
    const over = [
      ...OPENING,
      modelFailed(1, 1, T0, { outputTokens: 2 }),
      one,
      settled(1, 0),
      two,
      settled(2, 0),
    ];
    expect(step(over, { policy: budget })).toMatchObject({ graceFor: "tokens" });
    expect(step(over, { policy: { ...budget, onExhaustion: "fail" } })).toMatchObject(
      limitFailure("tokens"),
    );
  });

  describe("[CTX-36] a call is admitted against what is left of the token budget", () => {
    const used = [...OPENING, responded(1, { calls: [call()], usage: spent }), settled(1, 0)];
    const budget = { tokenBudget: 200, completionReserveTokens: 50 };
    const taking = (tokens: number, changes = {}) =>
      step(used, {
        policy: { ...budget, ...changes },
        estimateCallTokens: () => tokens,
      });

    it.each([
      [1, { kind: "call-model", graceFor: null }],
      [49, { kind: "call-model", graceFor: null }],
      [50, { kind: "call-model", graceFor: "tokens" }],
      [99, { kind: "call-model", graceFor: "tokens" }],
      [100, limitFailure("tokens")],
    ])("with 100 of 200 used and 50 in reserve, one of %d tokens", (tokens, expected) => {
      expect(taking(tokens)).toMatchObject(expected);
    });

    it("under fail the reserve is never touched", () => {
      expect(taking(50, { onExhaustion: "fail" })).toMatchObject(limitFailure("tokens"));
    });

    it("a grace turn for another limit has to fit too", () => {
      expect(taking(99, { maxTurns: 1 })).toMatchObject({ graceFor: "tokens" });
      expect(taking(100, { maxTurns: 1 })).toMatchObject(limitFailure("tokens"));
    });

    it("[CTX-17] nothing is estimated where no limit asks for it", () => {
      const estimateCallTokens = () => {
        throw new Error("estimated");
      };
      expect(step(used, { estimateCallTokens })).toMatchObject({ kind: "call-model" });
      expect(
        step(used, { policy: { costBudgetMicrousd: 1_000 }, estimateCallTokens }),
      ).toMatchObject({ kind: "call-model" });
    });

    it("[CTX-17] a call past contextTokenLimit is not made", () => {
      const changes = { tokenBudget: undefined, completionReserveTokens: 0, contextTokenLimit: 40 };
      expect(taking(40, changes)).toMatchObject({ kind: "call-model" });
      expect(taking(41, changes)).toMatchObject({
        ending: { failure: { tag: "ContextBudgetError" }, limit: null },
      });
    });
  });

  describe("[CTX-12, CTX-15] a cost budget", () => {
    const policy = { costBudgetMicrousd: 100 };
    const costing = (costMicrousd: number, response: Response = { calls: [call()] }) => [
      ...OPENING,
      responded(1, { ...response, costMicrousd }),
    ];

    it("lets a run go on below it, stops it before a call at it, and fails it at once past it", () => {
      const done = settled(1, 0);
      expect(step([...costing(99), done], { policy })).toMatchObject({ kind: "call-model" });
      expect(step(costing(100), { policy })).toMatchObject({ kind: "run-tools" });
      expect(step([...costing(100), done], { policy })).toMatchObject(limitFailure("cost"));
      expect(step(costing(101), { policy })).toMatchObject(limitFailure("cost"));
    });

    it("fails even the answer that breaches it: money cannot be unspent", () => {
      expect(step(costing(101, { text: "done" }), { policy })).toMatchObject(limitFailure("cost"));
      expect(step(costing(100, { text: "done" }), { policy })).toMatchObject({
        ending: { outcome: "completed" },
      });
    });

    it("[GW-04] is refused before the first call without a price, naming the entry", () => {
      const model = { id: "openai/gpt-6-luna", isPriced: false };
      const refused = step(OPENING, { policy, model });
      expect(refused).toMatchObject(limitFailure("cost"));
      expect(JSON.stringify(refused)).toContain("openai/gpt-6-luna");
      expect(step(OPENING, { model })).toMatchObject({ kind: "call-model" });
    });
  });

  it("[TOOL-07] a provider that runs tools while it answers is not called without room for one", () => {
    const entries = [...OPENING, ...turnOf(1)];
    const policy = { maxToolCalls: 1 };
    const model = { runsProviderTools: true };
    expect(step(entries, { policy, model })).toMatchObject({ graceFor: "tool-calls" });
    expect(step(entries, { policy })).toMatchObject({ graceFor: null });
  });

  it("[CTX-14] a batch that a limit rejected leads to the grace turn for that limit", () => {
    const entries = [...OPENING, responded(1, { calls: [call()] }), rejectedFor(1, "tool-calls")];
    expect(step(entries, {})).toEqual({ kind: "call-model", turn: 2, graceFor: "tool-calls" });
    expect(step(entries, { policy: { onExhaustion: "fail" } })).toMatchObject(
      limitFailure("tool-calls"),
    );
  });

  it("[CTX-14] budget rejections do not count as repeated failures", () => {
    const entries = [
      ...OPENING,
      ...turnOf(1, "failure"),
      ...turnOf(2, "failure"),
      responded(3, { calls: [call()] }),
      rejectedFor(3, "tool-calls"),
    ];
    expect(step(entries)).toMatchObject({ kind: "call-model", graceFor: "tool-calls" });
  });

  it("[CTX-14] there is one grace turn: one that was answered with calls has no successor, over all limits", () => {
    const grace = responded(2, { calls: [call()], graceFor: "turns", usage: spent });
    const after = [...OPENING, ...turnOf(1), grace, rejectedFor(2, "tokens")];
    expect(step(after, { policy })).toMatchObject(limitFailure("turns"));
  });

  it("[RUN-13, CTX-14] an answer in the grace turn completes and names the limit", () => {
    const grace = responded(2, { text: "so far", graceFor: "turns" });
    expect(step([...OPENING, ...turnOf(1), grace], { policy })).toMatchObject({
      ending: { outcome: "completed", output: "so far", exhausted: "turns" },
    });
  });

  it("[CTX-14] an answer that itself breaches the token budget completes, and says so", () => {
    const answer = (usage: { inputTokens: number }) => [
      ...OPENING,
      responded(1, { text: "done", usage }),
    ];
    expect(step(answer({ inputTokens: 101 }), { policy })).toMatchObject({
      ending: { outcome: "completed", exhausted: "tokens" },
    });
    expect(step(answer({ inputTokens: 100 }), { policy })).toMatchObject({
      ending: { outcome: "completed", exhausted: null },
    });
  });
});
