// What a deployment's log says about records.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { makeRecordLog, renderRecord } from "../../../durable-objects/thread/record-log.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import {
  asked,
  call,
  decided,
  input,
  interrupted,
  log,
  lost,
  modelFailed,
  OPENING,
  prepared,
  responded,
  RUN,
  settled,
  settlement,
  started,
  SUBMISSION,
  T0,
  warned,
} from "../support/builders.ts";

const lines: string[] = [];
beforeEach(() => {
  lines.length = 0;
  for (const level of ["info", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((line: string) => {
      lines.push(line);
    });
  }
});
afterEach(() => {
  vi.restoreAllMocks();
});

const EVERY: readonly RecordDraft[] = [
  { type: "ThreadCreated", payload: { threadId: "t", createdBy: "private" } },
  input({ private: "private" }),
  started({ instructions: "private" }),
  modelFailed(1, 1, T0),
  interrupted(1, 1),
  responded(1, {
    text: "private",
    calls: [call("act", { private: 1 })],
    usage: { inputTokens: 120, outputTokens: 30 },
  }),
  asked(1, 0),
  decided(1, 0, "approve", 0),
  prepared(1, { index: 0 }),
  lost(1, 0),
  settled(1, 0, "success", { output: { type: "text", value: "private" } }),
  warned("tokens"),
  settlement(),
];

describe("[TRC-02] the log of a deployment", () => {
  it("has one JSON object a line, with the identities of a record, for what an operator acts on", () => {
    for (const stored of log(EVERY)) makeRecordLog("t", false)(stored);
    const parsed = lines.map((line): Record<string, unknown> => JSON.parse(line));
    expect(parsed.map(({ event }) => event)).toEqual([
      "model-call-failed",
      "model-call-interrupted",
      "approval-requested",
      "tool-outcome-unknown",
      "budget-warned",
      "submission-settled",
    ]);
    expect(parsed[0]).toEqual({
      level: "warn",
      event: "model-call-failed",
      threadId: "t",
      submissionId: SUBMISSION,
      runId: RUN,
      turn: 1,
      sequence: 4,
      attempt: 1,
      failure: 1,
      reason: "http",
      httpStatus: 503,
      retryAt: "2026-11-01T12:00:00.000Z",
    });
    expect(parsed.at(-1)).toMatchObject({ outcome: "aborted", usage: { turns: 0 } });
  });

  it("has a readable line for every record where a developer watches", () => {
    for (const stored of log(EVERY)) makeRecordLog("mine", true)(stored);
    expect(lines).toHaveLength(EVERY.length);
    expect(lines[5]).toBe("12:00:00.006  mine #6  ModelResponded  turn 1: 1 call, 120 + 30 tokens");
    expect(lines[9]).toMatch(/ToolUnknown {2}turn 1: act may have happened/);
    expect(lines.at(-1)).toMatch(/SubmissionSettled {2}aborted$/);
  });

  it("never says what anybody said", () => {
    for (const stored of log(EVERY)) {
      makeRecordLog("t", false)(stored);
      makeRecordLog("t", true)(stored);
    }
    expect(lines.join("\n")).not.toContain("private");
  });

  it("lets no word of a model begin a line, or steer a terminal", () => {
    const forged = "x\n12:00:01.252  other #9  SubmissionSettled  completed\u001b[31m";
    const [stored] = log([responded(1), { ...settled(1, 0) }]).slice(1);
    if (stored?.record.type !== "ToolSettled") throw new Error("a result");
    const { record } = stored;
    const line = renderRecord("t", { ...record, payload: { ...record.payload, toolName: forged } });
    expect(line).not.toMatch(/\p{Cc}/u);
  });

  it("has a line for a record that says nothing more", () => {
    const [stored] = log(OPENING);
    if (stored === undefined) throw new Error("a record");
    expect(renderRecord("t", stored.record)).toBe("12:00:00.001  t #1  InputRecorded");
  });
});
