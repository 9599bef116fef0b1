// What a model sees: bounded results, projected runs, the window of history.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8Length } from "../../../shared/bytes.ts";
import type { AssistantPart, FinishReason, ToolOutput } from "../../../shared/wire/messages.ts";
import type { RunState } from "../../../durable-objects/thread/run/run-state.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { boundToolOutput } from "../../../durable-objects/context/tool-result-bounds.ts";
import type { StoredBatch } from "../../../durable-objects/thread/journal/journal.store.ts";
import { projectRun } from "../../../durable-objects/thread/run/project-messages.ts";
import {
  groupRuns,
  selectHistory,
  type HistoryRun,
} from "../../../durable-objects/thread/run/select-history.ts";
import {
  call,
  fold,
  input,
  log,
  OPENING,
  prepared,
  responded,
  settled,
  settlement,
  started,
} from "../support/builders.ts";

const unicode = fc.string({
  unit: fc.constantFrom("a", "é", "漢", "🙂", "👩‍👩‍👧", "\n"),
  maxLength: 400,
});

function envelopeOf(output: ToolOutput) {
  if (output.type !== "json" && output.type !== "error-json") return null;
  const { value } = output;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
  const { head, tail, originalBytes } = value;
  if (typeof head !== "string" || typeof tail !== "string") return null;
  return { head, tail, originalBytes };
}

describe("[CTX-18] the bound of a tool result", () => {
  it("leaves what fits as it is", () => {
    fc.assert(
      fc.property(unicode, (value) => {
        const output = { type: "text", value } as const;
        expect(boundToolOutput(output, utf8Length(value))).toBe(output);
        const json = { type: "json", value: { value } } as const;
        expect(boundToolOutput(json, utf8Length(JSON.stringify(json.value)))).toBe(json);
      }),
    );
  });

  it("turns what does not into head and tail, half the budget each, and splits no code point", () => {
    fc.assert(
      fc.property(unicode, fc.integer({ min: 4, max: 300 }), (value, maxBytes) => {
        fc.pre(utf8Length(value) > maxBytes);
        const cut = envelopeOf(boundToolOutput({ type: "text", value }, maxBytes));
        if (cut === null) throw new Error("not an envelope");
        expect(cut.originalBytes).toBe(utf8Length(value));
        expect(value.startsWith(cut.head)).toBe(true);
        expect(value.endsWith(cut.tail)).toBe(true);
        for (const part of [cut.head, cut.tail]) {
          expect(part.isWellFormed()).toBe(true);
          const half = Math.floor(maxBytes / 2);
          expect(utf8Length(part)).toBeLessThanOrEqual(half);
          // A code point is at most four bytes: no more than three are given away.
          expect(utf8Length(part)).toBeGreaterThan(half - 4);
        }
      }),
    );
  });

  it("cuts a JSON value by its text, and keeps errors errors", () => {
    const value = { list: Array.from({ length: 100 }, (_, index) => index) };
    expect(boundToolOutput({ type: "json", value }, 64)).toMatchObject({
      type: "json",
      value: { truncatedToolResult: true, head: expect.stringMatching(/^\{"list":\[0,1/) },
    });
    expect(boundToolOutput({ type: "error-text", value: "x".repeat(99) }, 64).type).toBe(
      "error-json",
    );
    expect(boundToolOutput({ type: "error-json", value }, 64).type).toBe("error-json");
  });

  it("one byte decides", () => {
    const output = { type: "text", value: "漢".repeat(4) } as const;
    expect(boundToolOutput(output, 12)).toBe(output);
    expect(envelopeOf(boundToolOutput(output, 11))).toMatchObject({ head: "漢", tail: "漢" });
  });
});

describe("a run as messages", () => {
  it("[CTX-04] shows the whole input as JSON without an inputPrompt", () => {
    expect(projectRun(fold(input({ b: 1, a: "x" }), started()))).toEqual([
      { role: "user", content: [{ type: "text", text: '{"a":"x","b":1}' }] },
    ]);
  });

  it("[CTX-04] shows what inputPrompt returned, provider options included", () => {
    const providerOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };
    const prompt = [
      { role: "user" as const, content: [{ type: "text" as const, text: "hi", providerOptions }] },
      { role: "user" as const, content: [{ type: "text" as const, text: "there" }] },
    ];
    expect(projectRun(fold(input(), started({ prompt })))).toEqual(prompt);
  });

  it("[RUN-03] shows results in declaration order, whatever order they came in", () => {
    const state = fold(
      ...OPENING,
      responded(1, { text: "wait", calls: [call(), call()] }),
      settled(1, 1),
      settled(1, 0),
    );
    expect(projectRun(state).slice(1)).toMatchObject([
      { role: "assistant", content: [{ text: "wait" }, {}, {}] },
      {
        role: "tool",
        content: [
          { toolCallId: "id-1-0", output: { value: "success 1.0" } },
          { toolCallId: "id-1-1", output: { value: "success 1.1" } },
        ],
      },
    ]);
  });

  it.each<[string, readonly RecordDraft[]]>([
    ["declared", []],
    ["prepared", [prepared(1, { index: 1 })]],
    ["half answered", [settled(1, 0)]],
  ])("[CTX-28] leaves out a batch that is %s, with the message that declared it", (_name, more) => {
    const state = fold(...OPENING, responded(1, { calls: [call(), call()] }), ...more);
    expect(projectRun(state)).toMatchObject([{ role: "user" }]);
  });

  it("[CTX-28] keeps the complete batches before an incomplete one", () => {
    const state = fold(
      ...OPENING,
      responded(1, { calls: [call()] }),
      settled(1, 0),
      responded(2, { calls: [call()] }),
    );
    expect(projectRun(state).map((message) => message.role)).toEqual(["user", "assistant", "tool"]);
  });

  it("leaves out an empty answer, and shows a denial with its reason", () => {
    expect(projectRun(fold(...OPENING, responded(1)))).toHaveLength(1);
    const output = { type: "execution-denied", reason: "no" } as const;
    const denied = fold(
      ...OPENING,
      responded(1, { calls: [call()] }),
      settled(1, 0, "denied", { output, by: "runtime" }),
    );
    expect(projectRun(denied).at(-1)).toMatchObject({ content: [{ output }] });
  });

  it("shows nothing of work that never ran", () => {
    expect(projectRun(fold(input()))).toEqual([]);
  });

  it("[CTX-11] only grows at its end as the run goes on", () => {
    const entries = [
      ...OPENING,
      responded(1, { calls: [call()] }),
      settled(1, 0),
      responded(2, { calls: [call()] }),
      settled(2, 0),
    ];
    const whole = projectRun(fold(...entries));
    for (let length = 2; length < entries.length; length += 1) {
      const part = projectRun(fold(...entries.slice(0, length)));
      expect(JSON.stringify(whole).startsWith(JSON.stringify(part).slice(0, -1))).toBe(true);
    }
  });
});

function run(first: number, records: number, bytes = 100): HistoryRun {
  return { run: first, first, records, bytes, messages: [] };
}

function selected(...runs: readonly HistoryRun[]): number[] {
  return selectHistory(runs).map((each) => each.first);
}

describe("the window over earlier runs", () => {
  it("holds the newest whole runs, oldest first, up to 1,024 records", () => {
    expect(selected()).toEqual([]);
    expect(selected(run(1, 500), run(2, 500), run(3, 24))).toEqual([1, 2, 3]);
    expect(selected(run(1, 500), run(2, 500), run(3, 25))).toEqual([2, 3]);
    expect(selected(run(1, 1), run(2, 1_025))).toEqual([]);
  });

  it("holds at most 4 MiB of the log", () => {
    const mib = 1_048_576;
    expect(selected(run(1, 1, 2 * mib), run(2, 1, 2 * mib))).toEqual([1, 2]);
    expect(selected(run(1, 1, 2 * mib + 1), run(2, 1, 2 * mib))).toEqual([2]);
  });

  it("has no holes: a run that does not fit ends it", () => {
    expect(selected(run(1, 1), run(2, 2_000), run(3, 1))).toEqual([3]);
  });

  it("takes a run only with its start, and sorts runs by their first record", () => {
    const batch = (of: number, first: number, drafts: readonly RecordDraft[]): StoredBatch => ({
      first,
      last: first + drafts.length - 1,
      run: of,
      bytes: 10,
      records: log(drafts, first),
    });
    const runs = groupRuns(
      [
        batch(7, 1, [responded(1, { text: "cut off from its start" })]),
        batch(2, 10, OPENING),
        batch(1, 20, OPENING),
        batch(2, 30, [responded(1, { text: "later" })]),
      ],
      "test",
    );
    expect(runs).toMatchObject([
      { run: 2, first: 10, records: 3, bytes: 20 },
      { run: 1, first: 20, records: 2, bytes: 10 },
    ]);
    expect(runs[0]?.messages).toHaveLength(2);
  });
});

describe("a run for the model that reads it", () => {
  const providerOptions = { test: { signature: "s" } };
  const content: AssistantPart[] = [
    { type: "reasoning", text: "hm", providerOptions },
    { type: "custom", kind: "test.mark" },
    { type: "text", text: "I look.", providerOptions },
    {
      type: "tool-call",
      toolCallId: "s",
      toolName: "search",
      input: {},
      providerExecuted: true,
    },
    {
      type: "tool-result",
      toolCallId: "s",
      toolName: "search",
      output: { type: "json", value: [1] },
    },
  ];
  const answered = (parts: AssistantPart[], finishReason: FinishReason = "stop") =>
    fold(...OPENING, responded(1, { parts, finishReason }));
  const shownTo = (provider: string, parts: AssistantPart[]) =>
    projectRun(answered(parts), { provider, isOwn: false }).slice(1);

  it("[TOOL-07, CTX-28] is whole for its own provider, and without its marks, thought and tools for another", () => {
    expect(shownTo("test", content)).toMatchObject([{ role: "assistant", content }]);
    expect(shownTo("other", content)).toEqual([
      { role: "assistant", content: [{ type: "text", text: "I look." }] },
    ]);
    expect(shownTo("other", content.slice(0, 2))).toEqual([]);
  });

  it("leaves out an answer of nothing but marks", () => {
    expect(shownTo("test", [{ type: "custom", kind: "test.mark" }])).toEqual([]);
  });

  it("[TOOL-07] gives a paused answer back whole while it goes on, and without what never came once it is history", () => {
    const paused = answered(content.slice(2, 4), "paused");
    expect(projectRun(paused, { provider: "test", isOwn: true }).at(-1)?.content).toHaveLength(2);
    expect(projectRun(paused, { provider: "test", isOwn: false }).at(-1)?.content).toHaveLength(1);
  });

  it("[RUN-16] is asked for a repair by its own next request, and by no later run", () => {
    const bad = responded(1, { text: "no", outputFaults: "bad" });
    const roles = (state: RunState, isOwn: boolean) =>
      projectRun(state, { provider: "test", isOwn }).map(({ role }) => role);
    const parked = fold(...OPENING, bad);
    expect(roles(parked, true)).toEqual(["user", "assistant", "user"]);
    expect(roles(parked, false)).toEqual(["user", "assistant"]);
    const empty = fold(...OPENING, bad, responded(2, { outputFaults: "bad" }), settlement());
    expect(roles(empty, false)).toEqual(["user", "assistant", "user"]);
  });
});
