// Every control in every situation of a submission, as one total table; then replays and conflicts.
import { describe, expect, it } from "vitest";
import { must } from "../../../shared/assert.ts";
import type { SchemaFault } from "../../../shared/errors/holdfast-error.ts";
import { parseOperationId } from "../../../shared/ids.ts";
import type { Decision, DecisionKind } from "../../../shared/wire/operations.ts";
import type {
  ControlDecision,
  ControlFacts,
} from "../../../durable-objects/thread/control/control-decision.ts";
import {
  decideControl,
  type ControlCommand,
} from "../../../durable-objects/thread/control/decide-control.ts";
import { digestJson } from "../../../durable-objects/platform/digest.ts";
import { emptyRun } from "../../../durable-objects/thread/run/run-state.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import {
  abortAsked,
  asked,
  call,
  decided,
  DIGEST,
  edited,
  fold,
  lost,
  op,
  OPENING,
  prepared,
  responded,
  settled,
  settlement,
  SUBMISSION,
  type Entry,
  type Response,
} from "../support/builders.ts";

const ONE_CALL = [...OPENING, responded(1, { calls: [call()] })];
const ASKED = [...ONE_CALL, asked(1, 0)];
const UNKNOWN = [...ONE_CALL, prepared(1, { index: 0 }), lost(1, 0)];

type Situation =
  | "queued"
  | "running live"
  | "running not live"
  | "awaiting approval"
  | "unknown"
  | "exhausted"
  | "settled"
  | "settled with unknowns";

type Control = "abort" | "retry" | DecisionKind;

function situated(
  entries: readonly (RecordDraft | Entry)[],
  changes: Partial<ControlFacts> = {},
): ControlFacts {
  return {
    run: entries.length === 0 ? emptyRun(SUBMISSION) : fold(...entries),
    isLive: false,
    isExhausted: false,
    wasClaimed: false,
    epoch: 3,
    isDispatched: () => false,
    ...changes,
  };
}

const SITUATIONS: Record<Situation, ControlFacts> = {
  queued: situated([]),
  "running live": situated(OPENING, { isLive: true }),
  "running not live": situated(OPENING),
  "awaiting approval": situated(ASKED),
  unknown: situated(UNKNOWN),
  exhausted: situated(OPENING, { isExhausted: true }),
  settled: situated([...ONE_CALL, settled(1, 0), settlement()]),
  "settled with unknowns": situated([...UNKNOWN, abortAsked(), settlement([op(1, 0)])]),
};

function command(control: Control, changes: Partial<Decision> = {}): ControlCommand {
  if (control === "abort") return { kind: "abort", author: "ann", reason: null };
  if (control === "retry") return { kind: "retry", author: "ann", reason: "look again" };
  return decide(control, changes);
}

function decide(
  kind: DecisionKind,
  changes: Partial<Decision> = {},
  more: {
    annotated?: ReadonlyMap<string, string>;
    mayBeAsked?: boolean;
    faults?: SchemaFault[];
  } = {},
): Extract<ControlCommand, { kind: "decide" }> {
  const operationId = changes.operationId ?? op(1, 0);
  const named = must(parseOperationId(operationId), "an operation id");
  return {
    kind: "decide",
    author: "ann",
    decision: {
      decision: kind,
      reason: "because",
      ...(kind === "completed" ? { result: "ok" } : {}),
      ...(kind === "edit" ? { arguments: { behave: "answer" } } : {}),
      ...changes,
      operationId,
    },
    callId: named.callId,
    dispatch: named.dispatch,
    mayBeAsked: () => more.mayBeAsked ?? false,
    checkArguments: () => more.faults ?? [],
    maxResultBytes: 1_000,
    annotated: more.annotated ?? new Map(),
  };
}

/** The decision in a few words: its effect or code, and the records that it writes. */
function summary(decision: ControlDecision): string {
  switch (decision.kind) {
    case "commit":
      return `${decision.effect}: ${decision.drafts.map((draft) => draft.type).join(", ")}`;
    case "unchanged":
      return `unchanged: ${decision.effect}`;
    case "refused":
      return decision.code;
  }
}

const ENDS = "AbortRequested, SubmissionSettled";
const GONE = "OperationNotFound";
const NO_RETRY = "unchanged: not-parked";
const NEVER = {
  "abort-operation": GONE,
  approve: GONE,
  deny: GONE,
  edit: GONE,
  completed: GONE,
  failed: GONE,
  "never-started": GONE,
  "safe-to-retry": GONE,
} as const;
const CLOSED = {
  "abort-operation": "InvalidState",
  approve: "InvalidState",
  deny: "InvalidState",
  edit: "InvalidState",
  completed: "InvalidState",
  failed: "InvalidState",
  "never-started": "InvalidState",
  "safe-to-retry": "InvalidState",
} as const;
const NOTE = "applied: RepairAnnotated";

type Column = "abort" | "retry" | "abort-operation" | Exclude<DecisionKind, "abort">;

// Total by its type: a new situation, control or decision does not compile until its effect is written here.
const EXPECTED: Record<Situation, Record<Column, string>> = {
  queued: { ...NEVER, abort: `dequeued: ${ENDS}`, retry: NO_RETRY },
  "running live": { ...NEVER, abort: "signalled: AbortRequested", retry: NO_RETRY },
  "running not live": { ...NEVER, abort: `signalled: ${ENDS}`, retry: NO_RETRY },
  "awaiting approval": {
    ...CLOSED,
    abort: `signalled: ${ENDS}`,
    retry: NO_RETRY,
    approve: "applied: OperationDecided",
    deny: "applied: OperationDecided",
    edit: "applied: OperationDecided",
    "abort-operation": `applied: OperationDecided, ${ENDS}`,
  },
  unknown: {
    abort: `signalled: ${ENDS}`,
    retry: NO_RETRY,
    approve: "InvalidState",
    deny: "InvalidState",
    edit: "InvalidState",
    completed: "applied: OperationDecided, ToolSettled",
    failed: "applied: OperationDecided, ToolSettled",
    "never-started": "applied: OperationDecided",
    "safe-to-retry": "applied: OperationDecided",
    "abort-operation": `applied: OperationDecided, ${ENDS}`,
  },
  exhausted: { ...NEVER, abort: `signalled: ${ENDS}`, retry: "resumed: RepairAnnotated" },
  settled: { ...CLOSED, abort: "unchanged: already-settled", retry: NO_RETRY },
  "settled with unknowns": {
    ...CLOSED,
    abort: "unchanged: already-settled",
    retry: NO_RETRY,
    completed: NOTE,
    failed: NOTE,
    "never-started": NOTE,
    "safe-to-retry": NOTE,
  },
};

function ofColumn(column: string): ControlCommand {
  switch (column) {
    case "abort":
    case "retry":
    case "approve":
    case "deny":
    case "edit":
    case "completed":
    case "failed":
    case "never-started":
    case "safe-to-retry":
      return command(column);
    case "abort-operation":
      return decide("abort");
    default:
      throw new Error(`no command for ${column}`);
  }
}

describe("[RUN-10, TOOL-04] every control in every situation", () => {
  for (const [situation, columns] of Object.entries(EXPECTED)) {
    for (const [column, expected] of Object.entries(columns)) {
      it(`${column} of work that is ${situation}: ${expected}`, () => {
        const found = Object.entries(SITUATIONS).find(([name]) => name === situation);
        const of = must(found, "the situation is in the table")[1];
        expect(summary(decideControl(of, ofColumn(column)))).toBe(expected);
      });
    }
  }
});

/** The state after a control's records were appended. */
function after(entries: readonly RecordDraft[], made: ControlCommand): ControlFacts {
  const decision = decideControl(situated(entries), made);
  if (decision.kind !== "commit") throw new Error(summary(decision));
  return situated([...entries, ...decision.drafts]);
}

describe("[RUN-10] an abort", () => {
  it("of a live run is written once, and the attempt settles it", () => {
    const live = situated([...OPENING, abortAsked()], { isLive: true });
    expect(summary(decideControl(live, command("abort")))).toBe("unchanged: signalled");
  });

  it("of an external call in flight leaves an unknown outcome in the settlement", () => {
    const decision = decideControl(
      situated([...ONE_CALL, prepared(1, { index: 0 })]),
      command("abort"),
    );
    expect(summary(decision)).toBe("signalled: AbortRequested, ToolUnknown, SubmissionSettled");
    expect(decision).toMatchObject({
      drafts: [
        {},
        { payload: { reason: "aborted" } },
        { payload: { outcome: "aborted", unknowns: [op(1, 0)] } },
      ],
    });
  });

  it("of an idempotent call in flight leaves none", () => {
    const entries = [...ONE_CALL, prepared(1, { index: 0, effect: "idempotent" })];
    expect(summary(decideControl(situated(entries), command("abort")))).toBe(`signalled: ${ENDS}`);
  });

  it("is idempotent once it settled", () => {
    expect(summary(decideControl(after(OPENING, command("abort")), command("abort")))).toBe(
      "unchanged: already-settled",
    );
  });

  it("writes who asked and why", () => {
    const made = { kind: "abort", author: "bob", reason: "wrong city" } as const;
    expect(decideControl(situated([]), made)).toMatchObject({
      drafts: [{ payload: { author: "bob", reason: "wrong city" } }, {}],
    });
  });
});

const APPROVALS = ["approve", "deny"] as const;
const RESOLUTIONS = ["completed", "failed", "never-started", "safe-to-retry", "abort"] as const;

describe("[TOOL-05] an approval's decision", () => {
  for (const first of APPROVALS) {
    for (const second of [...APPROVALS, "abort"] as const) {
      it(`${first}, then ${second}: ${first === second ? "a replay" : "a conflict"}`, () => {
        const decision = decideControl(after(ASKED, decide(first)), decide(second));
        expect(summary(decision)).toBe(
          first === second ? "unchanged: replayed" : "DecisionConflict",
        );
      });
    }
  }

  it("is the same decision whoever repeats it, for whatever reason", () => {
    const repeat = { ...decide("approve", { reason: "once more" }), author: "bob" };
    expect(summary(decideControl(after(ASKED, decide("approve")), repeat))).toBe(
      "unchanged: replayed",
    );
  });

  it("binds to the digest of the arguments that were shown", () => {
    const shown = must(fold(...ASKED).turns[0]?.calls[0], "the call").argumentsDigest;
    const facts = situated(ASKED);
    expect(summary(decideControl(facts, decide("approve", { argumentsDigest: shown })))).toBe(
      "applied: OperationDecided",
    );
    expect(summary(decideControl(facts, decide("approve", { argumentsDigest: DIGEST })))).toBe(
      "DecisionConflict",
    );
  });

  it("counts before the question was asked, for a tool that may ask", () => {
    const early = situated(ONE_CALL, { isLive: true });
    for (const kind of APPROVALS) {
      expect(summary(decideControl(early, decide(kind, {}, { mayBeAsked: true })))).toBe(
        "applied: OperationDecided",
      );
      expect(summary(decideControl(early, decide(kind)))).toBe("InvalidState");
    }
  });

  it("answers the operation that it names", () => {
    expect(decideControl(situated(ASKED), decide("deny"))).toMatchObject({
      answered: [op(1, 0)],
      drafts: [{ payload: { dispatch: 0, author: "ann", reason: "because" } }],
    });
  });

  it("of a call that already runs is refused", () => {
    const running = situated([...ONE_CALL, prepared(1, { index: 0 })], { isLive: true });
    expect(summary(decideControl(running, decide("approve", {}, { mayBeAsked: true })))).toBe(
      "InvalidState",
    );
  });
});

const EDITED = { behave: "answer" };

describe("[TOOL-05] an edit", () => {
  const shown = digestJson({});

  it("is refused where its arguments do not fit, with each fault below the arguments", () => {
    const faults = [
      { pointer: "", message: "not an object" },
      { pointer: "/to/0", message: "not a city" },
    ];
    expect(decideControl(situated(ASKED), decide("edit", {}, { faults }))).toEqual({
      kind: "refused",
      code: "InvalidInput",
      detail: "The arguments do not fit the schema of tool act.",
      errors: [
        { pointer: "/arguments", message: "not an object" },
        { pointer: "/arguments/to/0", message: "not a city" },
      ],
    });
  });

  it("asks the tool of the call about exactly its arguments, and only where it may still be decided", () => {
    const checked: unknown[] = [];
    const checkArguments: Extract<ControlCommand, { kind: "decide" }>["checkArguments"] = (
      toolName,
      args,
    ) => {
      checked.push([toolName, args]);
      return [{ pointer: "", message: "no" }];
    };
    const bad = { ...decide("edit"), checkArguments };
    expect(summary(decideControl(situated(ASKED), bad))).toBe("InvalidInput");
    expect(checked).toEqual([["act", EDITED]]);
    expect(summary(decideControl(situated(UNKNOWN), bad))).toBe("InvalidState");
    expect(summary(decideControl(after(ASKED, decide("approve")), bad))).toBe("DecisionConflict");
    expect(summary(decideControl(after(ASKED, decide("edit")), bad))).toBe("unchanged: replayed");
    expect(summary(decideControl(situated(ASKED), { ...decide("approve"), checkArguments }))).toBe(
      "applied: OperationDecided",
    );
    expect(checked).toHaveLength(1);
  });

  it("is one record that holds the arguments, and the digest of those that were shown", () => {
    expect(decideControl(situated(ASKED), decide("edit"))).toEqual({
      kind: "commit",
      effect: "applied",
      answered: [op(1, 0)],
      drafts: [edited(1, 0, EDITED)],
    });
  });

  it("binds to the arguments that were shown, also when it is repeated after it replaced them", () => {
    const first = decide("edit", { argumentsDigest: shown });
    const wrong = decide("edit", { argumentsDigest: digestJson(EDITED) });
    expect(summary(decideControl(situated(ASKED), first))).toBe("applied: OperationDecided");
    expect(summary(decideControl(situated(ASKED), wrong))).toBe("DecisionConflict");
    const done = after(ASKED, first);
    expect(summary(decideControl(done, first))).toBe("unchanged: replayed");
    expect(summary(decideControl(done, decide("edit")))).toBe("unchanged: replayed");
    expect(summary(decideControl(done, wrong))).toBe("DecisionConflict");
  });

  it("is the same edit in another order of keys, and another one with other arguments", () => {
    const done = after(ASKED, decide("edit", { arguments: { a: 1, b: { c: 2, d: 3 } } }));
    const same = decide("edit", { arguments: { b: { d: 3, c: 2 }, a: 1 } });
    const other = decide("edit", { arguments: { a: 1, b: { c: 2 } } });
    expect(summary(decideControl(done, same))).toBe("unchanged: replayed");
    expect(summary(decideControl(done, other))).toBe("DecisionConflict");
  });

  for (const other of ["approve", "deny", "abort"] as const) {
    it(`then ${other}, or the other way round, is a conflict, also with the arguments as they were`, () => {
      for (const args of [EDITED, {}]) {
        const edit = decide("edit", { arguments: args });
        expect(summary(decideControl(after(ASKED, edit), decide(other)))).toBe("DecisionConflict");
      }
      if (other === "abort") return;
      expect(summary(decideControl(after(ASKED, decide(other)), decide("edit")))).toBe(
        "DecisionConflict",
      );
    });
  }

  it("counts before the question was asked, for a tool that may ask", () => {
    const early = situated(ONE_CALL, { isLive: true });
    expect(summary(decideControl(early, decide("edit", {}, { mayBeAsked: true })))).toBe(
      "applied: OperationDecided",
    );
    expect(summary(decideControl(early, decide("edit")))).toBe("InvalidState");
  });

  it("of an unknown outcome is refused, and is a conflict where the call was approved before", () => {
    const approved = [...ASKED, decided(1, 0, "approve", 0), prepared(1, { index: 0 }), lost(1, 0)];
    for (const mayBeAsked of [true, false]) {
      expect(summary(decideControl(situated(UNKNOWN), decide("edit", {}, { mayBeAsked })))).toBe(
        "InvalidState",
      );
      expect(summary(decideControl(situated(approved), decide("edit", {}, { mayBeAsked })))).toBe(
        "DecisionConflict",
      );
    }
  });

  it("leaves the outcome of the edited call to be decided once it was lost, by the arguments that ran", () => {
    const lostEdited = [...ASKED, edited(1, 0, EDITED), prepared(1, { index: 0 }), lost(1, 0)];
    const ran = decide("completed", { argumentsDigest: digestJson(EDITED) });
    expect(summary(decideControl(situated(lostEdited), ran))).toBe(
      "applied: OperationDecided, ToolSettled",
    );
    const model = decide("completed", { argumentsDigest: shown });
    expect(summary(decideControl(situated(lostEdited), model))).toBe("DecisionConflict");
    expect(summary(decideControl(situated(lostEdited), decide("edit")))).toBe(
      "unchanged: replayed",
    );
  });

  it("of a call that already runs, or that has its result, is refused", () => {
    const running = [...ONE_CALL, prepared(1, { index: 0 })];
    for (const entries of [running, [...running, settled(1, 0)]]) {
      const facts = situated(entries, { isLive: true });
      expect(summary(decideControl(facts, decide("edit", {}, { mayBeAsked: true })))).toBe(
        "InvalidState",
      );
    }
  });
});

describe("[TOOL-05] a decision that nothing could honour is refused", () => {
  const KINDS = ["approve", "deny", "edit", "abort"] as const;

  it("of an approval under the id of a second loss, which it never had", () => {
    const operationId = `${op(1, 0)}.d2`;
    for (const kind of KINDS) {
      for (const entries of [ASKED, ONE_CALL]) {
        const made = decide(kind, { operationId }, { mayBeAsked: true });
        expect(summary(decideControl(situated(entries), made))).toBe("OperationNotFound");
      }
    }
    const again = decide("approve", { operationId });
    expect(summary(decideControl(after(ASKED, decide("approve")), again))).toBe(
      "OperationNotFound",
    );
  });

  it.each<[string, Response]>([
    [
      "whose arguments are no object",
      { calls: [call()], callFaults: [{ index: 0, fault: "malformed-arguments" }] },
    ],
    [
      "whose id repeats another's",
      { calls: [call()], callFaults: [{ index: 0, fault: "repeated-call-id" }] },
    ],
    ["of a response that was cut", { calls: [call()], finishReason: "length" }],
  ])("of a call %s: it never runs", (_what, response) => {
    const facts = situated([...OPENING, responded(1, response)]);
    for (const kind of KINDS) {
      expect(summary(decideControl(facts, decide(kind, {}, { mayBeAsked: true })))).toBe(
        "InvalidState",
      );
    }
  });

  it("of a run whose abort is recorded, and is a replay where it was made before", () => {
    for (const entries of [ASKED, ONE_CALL]) {
      const facts = situated([...entries, abortAsked()], { isLive: true });
      for (const kind of KINDS) {
        expect(summary(decideControl(facts, decide(kind, {}, { mayBeAsked: true })))).toBe(
          "InvalidState",
        );
      }
    }
    const before = situated([...ASKED, edited(1, 0, EDITED), abortAsked()], { isLive: true });
    expect(summary(decideControl(before, decide("edit")))).toBe("unchanged: replayed");
  });

  it("of a call that was dispatched, which a read or a rejection shows in no record at first", () => {
    const facts = situated(ONE_CALL, { isLive: true, isDispatched: (id) => id === op(1, 0) });
    for (const kind of KINDS) {
      expect(summary(decideControl(facts, decide(kind, {}, { mayBeAsked: true })))).toBe(
        "InvalidState",
      );
    }
    const other = situated(ONE_CALL, { isLive: true, isDispatched: (id) => id === op(1, 1) });
    expect(summary(decideControl(other, decide("edit", {}, { mayBeAsked: true })))).toBe(
      "applied: OperationDecided",
    );
  });
});

describe("[TOOL-04] an unknown outcome's decision", () => {
  for (const first of RESOLUTIONS) {
    for (const second of RESOLUTIONS) {
      it(`${first}, then ${second}: ${first === second ? "a replay" : "a conflict"}`, () => {
        const decision = decideControl(after(UNKNOWN, decide(first)), decide(second));
        expect(summary(decision)).toBe(
          first === second ? "unchanged: replayed" : "DecisionConflict",
        );
      });
    }
  }

  it("completed with another result is another decision", () => {
    const done = after(UNKNOWN, decide("completed"));
    expect(summary(decideControl(done, decide("completed", { result: "other" })))).toBe(
      "DecisionConflict",
    );
  });

  it("completed brings its result as a call's, bounded as any result", () => {
    const json = decideControl(situated(UNKNOWN), decide("completed", { result: { id: 7 } }));
    expect(json).toMatchObject({
      drafts: [
        {},
        {
          payload: {
            outcome: "success",
            by: "decision",
            output: { type: "json", value: { id: 7 } },
          },
        },
      ],
    });
    const long = decideControl(
      situated(UNKNOWN),
      decide("completed", { result: "x".repeat(2_000) }),
    );
    expect(long).toMatchObject({
      drafts: [{}, { payload: { output: { value: { truncatedToolResult: true } } } }],
    });
  });

  it("failed shows the model the reason", () => {
    expect(decideControl(situated(UNKNOWN), decide("failed"))).toMatchObject({
      drafts: [
        {},
        { payload: { outcome: "failure", output: { type: "error-text", value: "because" } } },
      ],
    });
  });

  const TWICE = [
    ...UNKNOWN,
    decided(1, 0, "safe-to-retry", 1),
    prepared(1, { index: 0, dispatch: 2 }),
    lost(1, 0, 2),
  ];

  it("of the first loss, repeated late, does not run the call again after a second loss", () => {
    expect(summary(decideControl(situated(TWICE), decide("safe-to-retry")))).toBe(
      "unchanged: replayed",
    );
    expect(summary(decideControl(situated(TWICE), decide("completed")))).toBe("DecisionConflict");
  });

  it("of the second loss names it", () => {
    const second = decide("safe-to-retry", { operationId: `${op(1, 0)}.d2` });
    expect(decideControl(situated(TWICE), second)).toMatchObject({
      kind: "commit",
      drafts: [{ payload: { dispatch: 2, operationId: op(1, 0) } }],
      answered: [`${op(1, 0)}.d2`],
    });
    const third = decide("completed", { operationId: `${op(1, 0)}.d3` });
    expect(summary(decideControl(situated(TWICE), third))).toBe("InvalidState");
  });

  it("leaves a second loss in the settlement under its own id", () => {
    expect(decideControl(situated(TWICE), command("abort"))).toMatchObject({
      drafts: [{}, { payload: { unknowns: [`${op(1, 0)}.d2`] } }],
    });
  });
});

describe("[RUN-10] a note on the unknown outcome of a settled run", () => {
  const ended = SITUATIONS["settled with unknowns"];

  it("is kept once, is a replay the second time, and a conflict when it says another thing", () => {
    const first = decideControl(ended, decide("completed"));
    if (first.kind !== "commit") throw new Error(summary(first));
    const note = must(first.annotation, "a note");
    const annotated = new Map([[note.operationId, note.decisionDigest]]);
    expect(summary(decideControl(ended, decide("completed", {}, { annotated })))).toBe(
      "unchanged: replayed",
    );
    expect(summary(decideControl(ended, decide("failed", {}, { annotated })))).toBe(
      "DecisionConflict",
    );
    expect(first).toMatchObject({ answered: [], drafts: [{ payload: { result: "ok" } }] });
  });

  it("changes nothing of the run", () => {
    const entries = [...UNKNOWN, abortAsked(), settlement([op(1, 0)])];
    const decision = decideControl(situated(entries), decide("failed"));
    if (decision.kind !== "commit") throw new Error(summary(decision));
    expect(fold(...entries, ...decision.drafts)).toEqual(fold(...entries));
  });
});

describe("[REC-10] a retry", () => {
  it("says after which epoch it came", () => {
    const exhausted = SITUATIONS.exhausted;
    expect(decideControl({ ...exhausted, epoch: 9 }, command("retry"))).toMatchObject({
      drafts: [{ payload: { action: "retry", afterEpoch: 9, author: "ann" } }],
    });
  });
});

describe("a decision of the wrong kind", () => {
  it.each(["approve", "deny", "edit"] as const)(
    "[TOOL-04, UX-04] is told what an unknown outcome takes: %s",
    (kind) => {
      const decision = decideControl(SITUATIONS.unknown, decide(kind));
      expect(decision).toMatchObject({
        kind: "refused",
        code: "InvalidState",
        detail:
          "The operation takes one of: completed, failed, never-started, safe-to-retry, abort.",
      });
    },
  );
});
