// A call as a person edited it: what it runs with, what the model reads of it, and that the model's own response stays on record.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { must } from "../../../shared/assert.ts";
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { defineTool, type ToolContext } from "../../../shared/define/tool.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { digestJson } from "../../../durable-objects/platform/digest.ts";
import { LogCorrupt } from "../../../durable-objects/thread/journal/record-codec.ts";
import { foldRecord, foldRun } from "../../../durable-objects/thread/run/fold-run.ts";
import { planBatch } from "../../../durable-objects/thread/run/plan-batch.ts";
import { projectRun } from "../../../durable-objects/thread/run/project-messages.ts";
import {
  emptyRun,
  findCall,
  lastTurn,
  type CallState,
} from "../../../durable-objects/thread/run/run-state.ts";
import { groupRuns } from "../../../durable-objects/thread/run/select-history.ts";
import { intentsDraft } from "../../../durable-objects/thread/run/tool-drafts.ts";
import {
  ANY_TEXT,
  asked,
  call,
  decided,
  edited,
  fold,
  log,
  lost,
  op,
  OPENING,
  prepared,
  responded,
  settled,
  settlement,
  SUBMISSION,
} from "../support/builders.ts";

const SHOWN = { to: "Paris" };
const EDITED = { to: "Rome", class: 2 };

/** Two calls alike, with words between, of which the person edits the second. */
const TWINS = [
  ...OPENING,
  responded(1, { text: "I book both.", calls: [call("act", SHOWN), call("act", SHOWN)] }),
];
const EDIT = [...TWINS, asked(1, 0), asked(1, 1), edited(1, 1, EDITED, SHOWN)];
const DONE = [
  ...EDIT,
  decided(1, 0, "deny", 0),
  settled(1, 0, "denied", {
    by: "runtime",
    output: { type: "execution-denied", reason: "because" },
  }),
  prepared(1, { index: 1 }),
  settled(1, 1),
  responded(2, { text: "Booked." }),
];

function callOf(entries: readonly RecordDraft[], index: number): CallState {
  return must(findCall(fold(...entries), op(1, index)), "the call is there").call;
}

describe("[TOOL-05] folding an edit", () => {
  it("gives the call the person's arguments with their digest, and keeps the digest that was shown", () => {
    const before = callOf(EDIT.slice(0, -1), 1);
    const after = callOf(EDIT, 1);
    const decision = must(after.decisions[0], "the decision");
    expect(after).toEqual({
      ...before,
      args: EDITED,
      argumentsDigest: digestJson(EDITED),
      phase: "approved",
      waitingSince: null,
      decisions: [decision],
    });
    expect(decision).toMatchObject({
      decision: "edit",
      arguments: EDITED,
      argumentsDigest: digestJson(SHOWN),
    });
  });

  it("changes what the model reads of that call, and nothing else of the turn", () => {
    const before = must(lastTurn(fold(...EDIT.slice(0, -1))), "a turn");
    const after = must(lastTurn(fold(...EDIT)), "a turn");
    expect(after.content).toEqual([
      { type: "text", text: "I book both." },
      { type: "tool-call", toolCallId: "id-1-0", toolName: "act", input: SHOWN },
      { type: "tool-call", toolCallId: "id-1-1", toolName: "act", input: EDITED },
    ]);
    expect(after.calls[0]).toEqual(before.calls[0]);
    expect({ ...after, content: null, calls: null }).toEqual({
      ...before,
      content: null,
      calls: null,
    });
  });

  it("keeps what a provider wants back with the call", () => {
    const response = responded(1, { calls: [call("act", SHOWN)] });
    if (response.type !== "ModelResponded") throw new Error("a response");
    const part = must(response.payload.content[0], "the call");
    const providerOptions = { vendor: { thoughtSignature: "sealed" } };
    const signed: RecordDraft = {
      ...response,
      payload: { ...response.payload, content: [{ ...part, providerOptions }] },
    };
    const state = fold(...OPENING, signed, asked(1, 0), edited(1, 0, EDITED, SHOWN));
    expect(lastTurn(state)?.content).toEqual([
      {
        type: "tool-call",
        toolCallId: "id-1-0",
        toolName: "act",
        input: EDITED,
        providerOptions,
      },
    ]);
  });

  it("leaves every record as it was", () => {
    const records = log(DONE);
    const before = JSON.stringify(records);
    foldRun(records);
    expect(JSON.stringify(records)).toBe(before);
    const response = records.find(({ record }) => record.type === "ModelResponded")?.record;
    expect(response).toMatchObject({
      payload: { content: [{}, { input: SHOWN }, { input: SHOWN }] },
    });
  });

  it("never changes the state that it was folded onto, nor what an earlier turn holds", () => {
    // Providers that number calls per response use the same id in every turn.
    const again = responded(2, { calls: [call("act", SHOWN)] });
    if (again.type !== "ModelResponded") throw new Error("a response");
    const sameId: RecordDraft = {
      ...again,
      payload: {
        ...again.payload,
        content: [{ type: "tool-call", toolCallId: "id-1-0", toolName: "act", input: SHOWN }],
      },
    };
    const first = [...OPENING, responded(1, { calls: [call("act", SHOWN)] }), settled(1, 0)];
    const records = log([...first, sameId, edited(2, 0, EDITED, SHOWN)]);
    let state = emptyRun(SUBMISSION);
    for (const stored of records) {
      const before = JSON.stringify(state);
      const next = foldRecord(state, stored);
      expect(JSON.stringify(state)).toBe(before);
      state = next;
    }
    expect(state.turns.map((turn) => turn.content)).toEqual([
      [{ type: "tool-call", toolCallId: "id-1-0", toolName: "act", input: SHOWN }],
      [{ type: "tool-call", toolCallId: "id-1-0", toolName: "act", input: EDITED }],
    ]);
  });

  it("counts before the question was asked, after which it cannot be asked any more", () => {
    const early = [...TWINS, edited(1, 1, EDITED, SHOWN)];
    expect(callOf(early, 1)).toMatchObject({ phase: "approved", args: EDITED });
    expect(() => fold(...early, asked(1, 1))).toThrow(LogCorrupt);
  });

  it.each<[string, readonly RecordDraft[]]>([
    ["a second edit", EDIT],
    ["an edit after an approval", [...TWINS, asked(1, 1), decided(1, 1, "approve", 0)]],
    ["an edit after a denial", [...TWINS, asked(1, 1), decided(1, 1, "deny", 0)]],
    ["an edit of a call that runs", [...TWINS, prepared(1, { index: 1 })]],
    ["an edit of a lost call", [...TWINS, prepared(1, { index: 1 }), lost(1, 1)]],
    ["an edit of a call that has its result", [...TWINS, settled(1, 1)]],
    ["an edit of a call that was never declared", [...OPENING, responded(1, { calls: [call()] })]],
  ])("refuses %s", (_what, entries) => {
    expect(() => fold(...entries)).not.toThrow();
    expect(() => fold(...entries, edited(1, 1, EDITED, SHOWN))).toThrow(LogCorrupt);
  });
});

describe("[TOOL-05] what runs of an edited call", () => {
  const ran: unknown[] = [];
  const tools = new Map([
    [
      "act",
      defineTool({
        name: "act",
        revision: 1,
        description: "books",
        input: z.object({ to: z.string(), class: z.int().default(1) }),
        effect: "external",
        execute: (input) => {
          ran.push(input);
          return null;
        },
      }),
    ],
  ]);

  it("is decoded from the person's arguments, and its intent carries their digest", () => {
    const state = fold(...EDIT, decided(1, 0, "approve", 0));
    const turn = must(lastTurn(state), "a turn");
    const plan = planBatch(turn, {
      tools,
      toolsChanged: false,
      contract: ANY_TEXT,
      unanswered: new Map(),
    });
    for (const { decoded } of plan.candidates) {
      decoded.execute(z.custom<ToolContext>().parse({}));
    }
    expect(ran).toEqual([{ to: "Paris", class: 1 }, EDITED]);
    expect(intentsDraft(state, 1, plan.candidates)).toMatchObject({
      payload: {
        calls: [{ argumentsDigest: digestJson(SHOWN) }, { argumentsDigest: digestJson(EDITED) }],
      },
    });
  });

  it("is invalid where a later deployment's schema refuses what the person wrote", () => {
    const one = [...OPENING, responded(1, { calls: [call("act", SHOWN)] }), asked(1, 0)];
    const state = fold(...one, edited(1, 0, { to: 7 }, SHOWN));
    const plan = planBatch(must(lastTurn(state), "a turn"), {
      tools,
      toolsChanged: true,
      contract: ANY_TEXT,
      unanswered: new Map(),
    });
    expect(plan.candidates).toEqual([]);
    expect(plan.rejected).toMatchObject([{ outcome: "invalid" }]);
  });

  it("makes a call run whose own arguments did not fit", () => {
    const bad = [...OPENING, responded(1, { calls: [call("act", { to: 7 })] })];
    const planOf = (entries: readonly RecordDraft[]) =>
      planBatch(must(lastTurn(fold(...entries)), "a turn"), {
        tools,
        toolsChanged: false,
        contract: ANY_TEXT,
        unanswered: new Map(),
      });
    expect(planOf(bad)).toMatchObject({ candidates: [], rejected: [{ outcome: "invalid" }] });
    const mended = planOf([...bad, edited(1, 0, EDITED, { to: 7 })]);
    expect(mended).toMatchObject({ candidates: [{ call: { args: EDITED } }], rejected: [] });
  });
});

describe("[TOOL-05] what the model reads of an edited call", () => {
  const messages = [
    { role: "user", content: [{ type: "text", text: '{"ask":"go"}' }] },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I book both." },
        { type: "tool-call", toolCallId: "id-1-0", toolName: "act", input: SHOWN },
        { type: "tool-call", toolCallId: "id-1-1", toolName: "act", input: EDITED },
      ],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "id-1-0",
          toolName: "act",
          output: { type: "execution-denied", reason: "because" },
        },
        {
          type: "tool-result",
          toolCallId: "id-1-1",
          toolName: "act",
          output: { type: "text", value: "success 1.1" },
        },
      ],
    },
  ];
  const answer = { role: "assistant", content: [{ type: "text", text: "Booked." }] };

  it("is the person's arguments with the result that they brought, in the run's own next prompt", () => {
    expect(projectRun(fold(...DONE.slice(0, -1)))).toEqual(messages);
  });

  it("is nothing at all while the batch is open", () => {
    expect(projectRun(fold(...EDIT))).toEqual(messages.slice(0, 1));
  });

  it("is the same in the history of a later run as in the run itself", () => {
    const records = log([...DONE, settlement()]);
    expect(projectRun(must(foldRun(records), "a run"))).toEqual([...messages, answer]);
    // As the log stores it: the opening in one batch, then a batch per commit.
    const batches = [records.slice(0, 2), ...records.slice(2).map((record) => [record])].map(
      (of) => ({
        first: must(of[0], "a record").record.sequence,
        last: must(of.at(-1), "a record").record.sequence,
        run: 1,
        bytes: 10,
        records: of,
      }),
    );
    expect(groupRuns(batches, "test")).toEqual([
      { run: 1, first: 1, records: 12, bytes: 110, messages: [...messages, answer] },
    ]);
  });

  it("is what any JSON can be, as it was written", () => {
    const odd: readonly JsonValue[] = [{}, { "": null }, { constructor: [[]] }, { "\uD800": 1e21 }];
    for (const args of odd) {
      const state = fold(...OPENING, responded(1, { calls: [call()] }), edited(1, 0, args));
      const found = must(findCall(state, op(1, 0)), "the call").call;
      expect(found.args).toEqual(args);
      expect(found.argumentsDigest).toBe(digestJson(args));
    }
  });
});
