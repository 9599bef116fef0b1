// The history checker itself: it finds nothing in a history that kept its promises, and finds each planted fault by its rule (QUA-02).
import { digestText } from "../../durable-objects/platform/digest.ts";
import { describe, expect, it } from "vitest";
import {
  chainDigest,
  decodeBatch,
  encodeBatches,
} from "../../durable-objects/thread/journal/record-codec.ts";
import { digestJson } from "../../durable-objects/platform/digest.ts";
import { must } from "../../shared/assert.ts";
import { operationIdOf, runIdOf, submissionIdOf } from "../../shared/ids.ts";
import type { AssistantPart } from "../../shared/wire/messages.ts";
import type { DecisionKind } from "../../shared/wire/operations.ts";
import type { RecordDraft, ToolOutcome } from "../../shared/wire/records.ts";
import type { Outcome } from "../../shared/wire/settlement.ts";
import type { Receipt } from "../../shared/wire/submission.ts";
import { encodeUsage, NO_RUN_USAGE, NO_TOKENS, type Usage } from "../../shared/wire/usage.ts";
import {
  checkHistory,
  type Evidence,
  type Violation,
} from "../../shared/testing/history-checker.ts";
import { CHAIN_START } from "../../shared/wire/verification.ts";
import type { BatchRow, Dump, SubmissionRow } from "../support/thread-driver.ts";

const NOW = Date.parse("2026-11-01T12:00:00.000Z");
const DIGEST = "a".repeat(64);
/** The arguments that a person put in the place of the model's, which has none. */
const EDITED = { city: "Rome" };

/** The n-th submission of the thread, as the runtime names it. */
function sub(n: number) {
  const submissionId = submissionIdOf(n, "abcdefghijklmnop");
  return { submissionId, runId: runIdOf(submissionId) };
}

function op(n: number, index = 0, turn = 1): string {
  return operationIdOf(sub(n).runId, turn, index);
}

const created: RecordDraft = {
  type: "ThreadCreated",
  payload: { threadId: "thread", createdBy: "tester" },
};

function input(n: number): RecordDraft {
  return { type: "InputRecorded", ...sub(n), payload: { kind: "user", input: { ask: n } } };
}

function started(n: number): RecordDraft {
  return {
    type: "RunStarted",
    ...sub(n),
    payload: {
      agentId: "plain",
      revision: 1,
      digests: { agent: DIGEST, model: DIGEST, tools: DIGEST },
      instructions: "Follow the plan.",
      prompt: null,
      deadlineAt: new Date(NOW + 60_000).toISOString(),
      historyFrom: 1,
    },
  };
}

/** A response with that many calls; an answer when there are none. */
function responded(n: number, turn: number, calls = 0): RecordDraft {
  const content: AssistantPart[] = Array.from({ length: calls }, (_, index) => ({
    type: "tool-call",
    toolCallId: `call-${turn}-${index}`,
    toolName: "act",
    input: {},
  }));
  return {
    type: "ModelResponded",
    ...sub(n),
    turn,
    payload: {
      content: calls === 0 ? [{ type: "text", text: "ok" }] : content,
      finishReason: calls === 0 ? "stop" : "tool-calls",
      usage: { ...NO_TOKENS, inputTokens: 10, outputTokens: 5 },
      costMicrousd: 0,
      model: { provider: "test", name: "scripted" },
      saw: { through: 1, digest: DIGEST },
    },
  };
}

function identity(n: number, index: number) {
  return { operationId: op(n, index), toolCallId: `call-1-${index}`, toolName: "act" };
}

function prepared(n: number, dispatch = 1, calls = 1): RecordDraft {
  return {
    type: "ToolsPrepared",
    ...sub(n),
    turn: 1,
    payload: {
      calls: Array.from({ length: calls }, (_, index) => ({
        ...identity(n, index),
        effect: "external" as const,
        argumentsDigest: digestJson({}),
        dispatch,
      })),
    },
  };
}

function result(n: number, index = 0, outcome: ToolOutcome = "success"): RecordDraft {
  return {
    type: "ToolSettled",
    ...sub(n),
    turn: 1,
    payload: {
      ...identity(n, index),
      outcome,
      output: { type: "text", value: "done" },
      by: "handler",
    },
  };
}

function lost(n: number, dispatch = 1): RecordDraft {
  return {
    type: "ToolUnknown",
    ...sub(n),
    turn: 1,
    payload: { ...identity(n, 0), dispatch, argumentsDigest: DIGEST, reason: "attempt-lost" },
  };
}

function decided(n: number, decision: DecisionKind): RecordDraft {
  return {
    type: "OperationDecided",
    ...sub(n),
    turn: 1,
    payload: {
      ...identity(n, 0),
      decision,
      dispatch: 1,
      decisionDigest: DIGEST,
      argumentsDigest: DIGEST,
      author: "ann",
      reason: "looked",
    },
  };
}

/** The first call of the run's first turn, asked about and edited. */
function edited(n: number): RecordDraft[] {
  const made = decided(n, "edit");
  if (made.type !== "OperationDecided") throw new Error("a decision");
  return [
    {
      type: "ApprovalRequested",
      ...sub(n),
      turn: 1,
      payload: { ...identity(n, 0), argumentsDigest: digestJson({}) },
    },
    { ...made, payload: { ...made.payload, dispatch: 0, arguments: EDITED } },
  ];
}

function abortAsked(n: number): RecordDraft {
  return { type: "AbortRequested", ...sub(n), payload: { author: "ann", reason: null } };
}

function settled(n: number, outcome: Outcome, usage: Partial<Usage> = {}): RecordDraft {
  return {
    type: "SubmissionSettled",
    ...sub(n),
    payload: { outcome, usage: { ...NO_RUN_USAGE, ...usage } },
  };
}

const noted: RecordDraft = {
  type: "RepairAnnotated",
  submissionId: sub(1).submissionId,
  payload: {
    action: "annotate",
    operationId: op(1),
    decision: "failed",
    author: "ann",
    reason: "it never arrived",
  },
};

const TWO_TURNS = { turns: 2, inputTokens: 20, outputTokens: 10 } as const;
const ONE_TURN = { turns: 1, inputTokens: 10, outputTokens: 5 } as const;

/** One commit: who made it, and what it appended. */
interface Commit {
  readonly run: number;
  readonly epoch: number | null;
  readonly drafts: readonly RecordDraft[];
}

/** A thread's history before it is encoded: what tests plant faults in. */
interface History {
  readonly commits: readonly Commit[];
  readonly submissions: readonly SubmissionRow[];
  readonly due: Dump["due"];
  readonly alarm: number | null;
  readonly evidence: Evidence;
}

function row(n: number, outcome: Outcome | null, wait: string | null = null): SubmissionRow {
  return {
    submissionId: sub(n).submissionId,
    principal: "tester",
    scopedKey: `["tester","key-${n}"]`,
    outcome,
    wait,
    settledSequence: null,
    firstSequence: null,
    usage: null,
    host: null,
    joinedAt: null,
  };
}

/** A run that the second submission's input joined, with these drafts before the settlements. */
function joinedRun(more: readonly RecordDraft[], joinedUsage: Partial<Usage> = {}): History {
  const host = sub(1);
  const about = { submissionId: sub(2).submissionId, runId: host.runId };
  return {
    ...SOUND,
    commits: [
      { run: 1, epoch: 1, drafts: [created, input(1), started(1)] },
      {
        run: 1,
        epoch: 1,
        drafts: [
          ...more.map((draft) => (draft.type === "InputRecorded" ? { ...draft, ...about } : draft)),
          {
            type: "SubmissionSettled",
            ...about,
            payload: { outcome: "completed", host, usage: { ...NO_RUN_USAGE, ...joinedUsage } },
          },
          settled(1, "completed", ONE_TURN),
        ],
      },
    ],
    submissions: [row(1, "completed"), row(2, "completed")],
    evidence: { ...NOTHING_SEEN, receipts: [] },
  };
}

const joinedInput: RecordDraft = {
  type: "InputRecorded",
  ...sub(2),
  payload: { kind: "joined", input: { ask: 2 } },
};

function receipt(n: number): Receipt {
  return {
    threadId: "thread",
    submissionId: sub(n).submissionId,
    queueSequence: n,
    agentId: "plain",
    acceptedAt: new Date(NOW).toISOString(),
  };
}

function waitFor(reason: string): string {
  return JSON.stringify({ reason, since: new Date(NOW).toISOString(), deadline: null });
}

/** Two runs that completed, the first with two external calls; a third, aborted while it was queued. */
const SOUND: History = {
  commits: [
    { run: 1, epoch: 1, drafts: [created, input(1), started(1)] },
    { run: 1, epoch: 1, drafts: [responded(1, 1, 2)] },
    { run: 1, epoch: 1, drafts: [prepared(1, 1, 2)] },
    { run: 1, epoch: 1, drafts: [result(1, 1)] },
    { run: 1, epoch: 1, drafts: [result(1, 0)] },
    { run: 1, epoch: 1, drafts: [responded(1, 2), settled(1, "completed", TWO_TURNS)] },
    { run: 3, epoch: null, drafts: [abortAsked(3), settled(3, "aborted")] },
    { run: 2, epoch: 2, drafts: [input(2), started(2)] },
    { run: 2, epoch: 2, drafts: [responded(2, 1), settled(2, "completed", ONE_TURN)] },
  ],
  submissions: [row(1, "completed"), row(2, "completed"), row(3, "aborted")],
  due: { dueAt: null, reason: "idle" },
  alarm: null,
  evidence: {
    receipts: [
      { key: "key-1", receipt: receipt(1) },
      { key: "key-2", receipt: receipt(2) },
      { key: "key-1", receipt: receipt(1) },
    ],
    executions: new Map([
      [op(1, 0), 1],
      [op(1, 1), 1],
    ]),
    acknowledgedTail: 15,
    isQuiet: true,
    sha256: digestText,
  },
};

/** The dump of an object that holds this history, with a digest chain that fits. */
function dumpOf(history: History): Dump {
  const batches: BatchRow[] = [];
  let first = 1;
  let digest = CHAIN_START.digest;
  for (const { run, epoch, drafts } of history.commits) {
    const stamp = { now: NOW + first, deploymentId: "test" };
    for (const { records, json } of encodeBatches(drafts, first, stamp)) {
      const last = first + records.length - 1;
      digest = chainDigest(digest, json);
      batches.push({ first, last, run, epoch, digest, records: json });
      first = last + 1;
    }
  }
  const records = batches.flatMap((batch) => decodeBatch(batch.first, batch.last, batch.records));
  return {
    batches,
    records,
    // The ledger points at the record that settled each submission, and keeps its usage.
    submissions: history.submissions.map((submission) => {
      const settlement = records.find(
        (record) =>
          record.type === "SubmissionSettled" && record.submissionId === submission.submissionId,
      );
      const spent = settlement?.type === "SubmissionSettled" ? settlement.payload.usage : null;
      return {
        ...submission,
        settledSequence: settlement?.sequence ?? null,
        usage: submission.usage ?? (spent === null ? null : encodeUsage(spent)),
      };
    }),
    thread: null,
    due: history.due,
    alarm: history.alarm,
  };
}

function check(history: History): Violation[] {
  return checkHistory(dumpOf(history), history.evidence);
}

function rulesOf(violations: readonly Violation[]): number[] {
  return [...new Set(violations.map(({ rule }) => rule))].toSorted((a, b) => a - b);
}

function withEvidence(evidence: Partial<Evidence>, history = SOUND): History {
  return { ...history, evidence: { ...history.evidence, ...evidence } };
}

/** The history with one commit more, at the end or before commit `at`. */
function withCommit(commit: Commit, at = SOUND.commits.length, history = SOUND): History {
  return { ...history, commits: history.commits.toSpliced(at, 0, commit) };
}

/** The history with the drafts of commit `at` changed. */
function withDrafts(
  at: number,
  change: (drafts: readonly RecordDraft[]) => readonly RecordDraft[],
  history = SOUND,
): History {
  const commit = must(history.commits[at], "the history has that commit");
  const changed = { ...commit, drafts: change(commit.drafts) };
  return { ...history, commits: history.commits.with(at, changed) };
}

function withRow(n: number, changes: Partial<SubmissionRow>, history = SOUND): History {
  const known = must(history.submissions[n - 1], "the ledger has that row");
  return { ...history, submissions: history.submissions.with(n - 1, { ...known, ...changes }) };
}

/** One run whose external call was lost, and what follows. */
function lostCall(more: readonly RecordDraft[], changes: Partial<History> = {}): History {
  return {
    ...SOUND,
    commits: [
      { run: 1, epoch: 1, drafts: [created, input(1), started(1)] },
      { run: 1, epoch: 1, drafts: [responded(1, 1, 1)] },
      { run: 1, epoch: 1, drafts: [prepared(1)] },
      { run: 1, epoch: 2, drafts: [lost(1)] },
      ...more.map((draft) => ({ run: 1, epoch: null, drafts: [draft] })),
    ],
    submissions: [row(1, null, waitFor("unknown-outcome"))],
    evidence: {
      receipts: [{ key: "key-1", receipt: receipt(1) }],
      executions: new Map([[op(1), 1]]),
      acknowledgedTail: 0,
      isQuiet: true,
      sha256: digestText,
    },
    ...changes,
  };
}

/** The intents of the first run's two calls, with these digests of their arguments. */
function intents(first: string, second: string): RecordDraft {
  const draft = prepared(1, 1, 2);
  if (draft.type !== "ToolsPrepared") throw new Error("intents");
  const calls = draft.payload.calls.map((intent, index) => ({
    ...intent,
    argumentsDigest: index === 0 ? first : second,
  }));
  return { ...draft, payload: { calls } };
}

const ASKED_DIGEST = digestJson({});
const EDITED_DIGEST = digestJson(EDITED);

/** The sound history with these intents, and with an edit of the first call before commit `at`. */
function editedCall(draft: RecordDraft, at = 2): History {
  const ofPerson = { run: 1, epoch: null, drafts: edited(1) };
  return withCommit(
    ofPerson,
    at,
    withDrafts(2, () => [draft]),
  );
}

const RAN_TWICE: Evidence = {
  receipts: [],
  executions: new Map([[op(1), 2]]),
  acknowledgedTail: 0,
  isQuiet: true,
  sha256: digestText,
};

const NOTHING_SEEN: Evidence = {
  receipts: [],
  executions: new Map(),
  acknowledgedTail: 0,
  isQuiet: true,
  sha256: digestText,
};

describe("a history that kept every promise", () => {
  const histories: [string, History][] = [
    ["work that completed and work that was aborted", SOUND],
    [
      "a thread that was never written",
      {
        ...SOUND,
        commits: [],
        submissions: [],
        evidence: NOTHING_SEEN,
      },
    ],
    [
      "an operator's note after the settlement",
      withCommit({ run: 1, epoch: null, drafts: [noted] }),
    ],
    ["input that joined a run", joinedRun([joinedInput, responded(1, 1)])],
    ["an unknown outcome that waits for a person", lostCall([])],
    [
      "a second dispatch that a decision allowed",
      lostCall([decided(1, "safe-to-retry"), prepared(1, 2), result(1)], {
        submissions: [row(1, null, waitFor("retry-backoff"))],
        evidence: RAN_TWICE,
      }),
    ],
    [
      "an edited call that was prepared with the person's arguments, beside one with the model's",
      editedCall(intents(EDITED_DIGEST, ASKED_DIGEST)),
    ],
    [
      "work queued behind an approval",
      withRow(
        1,
        { outcome: null, wait: waitFor("approval") },
        {
          ...SOUND,
          commits: SOUND.commits.slice(0, 2),
          submissions: [row(1, null), row(2, null), row(3, null)],
          evidence: { ...SOUND.evidence, acknowledgedTail: 4 },
        },
      ),
    ],
    [
      "a result that is missing in a run that did not complete",
      {
        ...SOUND,
        commits: [
          ...SOUND.commits.slice(0, 2),
          { run: 1, epoch: 1, drafts: [settled(1, "failed", ONE_TURN)] },
        ],
        submissions: [row(1, "failed")],
        evidence: NOTHING_SEEN,
      },
    ],
    [
      "owed work while the world is not quiet",
      withEvidence(
        { isQuiet: false },
        {
          ...SOUND,
          submissions: [...SOUND.submissions, row(4, null)],
          due: { dueAt: NOW, reason: "submitted" },
          alarm: NOW,
        },
      ),
    ],
  ];
  it.each(histories)("[QUA-02] has no violation: %s", (_what, history) => {
    expect(check(history)).toEqual([]);
  });
});

interface Planted {
  /** What was planted. */
  readonly fault: string;
  /** Every rule that it breaks, in order. */
  readonly rules: readonly number[];
  /** What the checker must say of it. */
  readonly says: RegExp;
  readonly history: History;
}

const PLANTED: readonly Planted[] = [
  {
    fault: "the same record twice",
    rules: [1],
    says: /identity RunStarted:run-2-\w+ stands twice/,
    history: withDrafts(7, () => [input(2), started(2), started(2)]),
  },
  {
    fault: "a log that does not begin with its creation",
    rules: [1],
    says: /does not begin with ThreadCreated/,
    history: withEvidence(
      { acknowledgedTail: 0 },
      withDrafts(0, (drafts) => drafts.slice(1)),
    ),
  },
  {
    fault: "a record of a superseded epoch",
    rules: [1],
    says: /record 14 is of superseded epoch 1/,
    history: {
      ...SOUND,
      commits: SOUND.commits.with(8, { ...must(SOUND.commits[8], "commit 8"), epoch: 1 }),
    },
  },
  {
    fault: "two admissions of one key",
    rules: [2],
    says: /two admissions of one key/,
    history: withRow(2, { scopedKey: row(1, null).scopedKey }),
  },
  {
    fault: "two receipts for one key",
    rules: [2],
    says: /key key-1 has two receipts/,
    history: withEvidence({
      receipts: [
        { key: "key-1", receipt: receipt(1) },
        { key: "key-1", receipt: receipt(2) },
      ],
    }),
  },
  {
    fault: "a duplicate settlement",
    rules: [1, 3, 4],
    says: /sub-1-\w+ settled twice/,
    history: withDrafts(5, (drafts) => [...drafts, settled(1, "completed", TWO_TURNS)]),
  },
  {
    fault: "a ledger with another outcome than the log",
    rules: [3],
    says: /ledger failed, log completed/,
    history: withRow(2, { outcome: "failed" }),
  },
  {
    fault: "a ledger that calls settled work owed",
    rules: [3, 14],
    says: /ledger null, log completed/,
    history: withRow(2, { outcome: null }),
  },
  {
    fault: "a ledger that calls owed work settled",
    rules: [3],
    says: /ledger completed, log null/,
    history: withEvidence(
      { acknowledgedTail: 0 },
      withDrafts(8, (drafts) => drafts.slice(0, 1)),
    ),
  },
  {
    fault: "a record of a run after its settlement",
    rules: [4],
    says: /ToolUnknown of sub-1-\w+ after its settlement/,
    history: withCommit({ run: 1, epoch: 2, drafts: [lost(1)] }),
  },
  {
    fault: "a completed run with a call that has no result",
    rules: [5],
    says: /\.t1\.c1 has 0 results/,
    history: withEvidence(
      { acknowledgedTail: 0 },
      { ...SOUND, commits: SOUND.commits.toSpliced(3, 1) },
    ),
  },
  {
    fault: "a call with two results",
    rules: [1, 5],
    says: /\.t1\.c0 has 2 results/,
    history: withCommit({ run: 1, epoch: 1, drafts: [result(1, 0, "failure")] }, 5),
  },
  {
    fault: "a call with two results in a run that did not complete",
    rules: [1, 5],
    says: /\.t1\.c0 has 2 results/,
    history: lostCall([result(1), result(1)], {
      submissions: [row(1, null, waitFor("retry-backoff"))],
    }),
  },
  {
    fault: "a replayed external call",
    rules: [6],
    says: /\.t1\.c0 ran 2 times, allowed 1/,
    history: withEvidence({
      executions: new Map([
        [op(1, 0), 2],
        [op(1, 1), 1],
      ]),
    }),
  },
  {
    fault: "an unknown outcome that was repeated without a decision",
    rules: [6],
    says: /\.t1\.c0 ran 2 times, allowed 1/,
    history: lostCall([], { evidence: RAN_TWICE }),
  },
  {
    fault: "a second intent without a decision",
    rules: [6],
    says: /\.t1\.c0 was prepared 2 times/,
    history: lostCall([prepared(1, 2)]),
  },
  {
    fault: "a second intent after a decision that allowed none",
    rules: [6],
    says: /\.t1\.c0 was prepared 2 times/,
    history: lostCall([decided(1, "failed"), prepared(1, 2)]),
  },
  {
    fault: "a third execution after one decision that allowed a second",
    rules: [6],
    says: /\.t1\.c0 ran 3 times, allowed 2/,
    history: lostCall([decided(1, "never-started"), prepared(1, 2)], {
      evidence: { ...RAN_TWICE, executions: new Map([[op(1), 3]]) },
    }),
  },
  {
    fault: "an edited call that was prepared with the model's arguments",
    rules: [6],
    says: /\.t1\.c0 was prepared with other arguments than its own/,
    history: editedCall(intents(ASKED_DIGEST, ASKED_DIGEST)),
  },
  {
    fault: "a call that was prepared with its sibling's edited arguments",
    rules: [6],
    says: /\.t1\.c1 was prepared with other arguments than its own/,
    history: editedCall(intents(EDITED_DIGEST, EDITED_DIGEST)),
  },
  {
    fault: "a call that was prepared with arguments that nobody asked for",
    rules: [6],
    says: /\.t1\.c0 was prepared with other arguments than its own/,
    history: withDrafts(2, () => [intents(DIGEST, ASKED_DIGEST)]),
  },
  {
    fault: "a call that was prepared with the edited arguments before they were decided",
    rules: [6],
    says: /\.t1\.c0 was prepared with other arguments than its own/,
    history: editedCall(intents(EDITED_DIGEST, ASKED_DIGEST), 3),
  },
  {
    fault: "an acknowledged submission that is lost",
    rules: [7],
    says: /an acknowledged submission is lost: key-4/,
    history: withEvidence({
      receipts: [...SOUND.evidence.receipts, { key: "key-4", receipt: receipt(4) }],
    }),
  },
  {
    fault: "a log that is shorter than what was read",
    rules: [7],
    says: /the log ends at 15, and 16 was read/,
    history: withEvidence({ acknowledgedTail: 16 }),
  },
  {
    fault: "runs that started out of the order of admission",
    rules: [8],
    says: /runs started in the order 1, 0/,
    history: {
      ...SOUND,
      submissions: [row(2, "completed"), row(1, "completed"), row(3, "aborted")],
    },
  },
  {
    fault: "an input that became canonical twice",
    rules: [1, 8],
    says: /runs started in the order 0, 1, 1/,
    history: withDrafts(7, (drafts) => [...drafts, input(2)]),
  },
  {
    fault: "a settlement with a turn too many",
    rules: [10],
    says: /sub-2-\w+: usage is not the sum/,
    history: withDrafts(8, (drafts) => [
      ...drafts.slice(0, 1),
      settled(2, "completed", { ...ONE_TURN, turns: 2 }),
    ]),
  },
  {
    fault: "a settlement that forgot the tokens of its first turn",
    rules: [10],
    says: /sub-1-\w+: usage is not the sum/,
    history: withDrafts(5, (drafts) => [
      ...drafts.slice(0, 1),
      settled(1, "completed", { ...TWO_TURNS, inputTokens: 10 }),
    ]),
  },
  {
    fault: "a ledger that keeps another usage than the settlement's",
    rules: [10],
    says: /sub-2-\w+: the ledger's usage is not its settlement's/,
    history: withRow(2, { usage: encodeUsage({ ...NO_RUN_USAGE, ...TWO_TURNS }) }),
  },
  {
    fault: "a ledger that keeps the usage of a run that is owed",
    rules: [10],
    says: /sub-4-\w+: the ledger's usage is not its settlement's/,
    history: {
      ...SOUND,
      submissions: [
        ...SOUND.submissions,
        { ...row(4, null, waitFor("approval")), usage: encodeUsage(NO_RUN_USAGE) },
      ],
    },
  },
  {
    fault: "joined input that settled without a response to it",
    rules: [9],
    says: /sub-2-\w+ settled with a run that did not answer it once/,
    history: joinedRun([responded(1, 1), joinedInput]),
  },
  {
    fault: "joined input that stands in no run",
    rules: [9],
    says: /sub-2-\w+ settled with a run that did not answer it once/,
    history: joinedRun([responded(1, 1)]),
  },
  {
    fault: "joined input that was charged too",
    rules: [10],
    says: /sub-2-\w+ joined, and has usage of its own/,
    history: joinedRun([joinedInput, responded(1, 1)], ONE_TURN),
  },
  {
    fault: "intents after an abort",
    rules: [11],
    says: /ToolsPrepared after the abort of sub-1-/,
    history: withCommit({ run: 1, epoch: null, drafts: [abortAsked(1)] }, 2, {
      ...SOUND,
      commits: SOUND.commits.with(5, {
        run: 1,
        epoch: 1,
        drafts: [settled(1, "aborted", ONE_TURN)],
      }),
      submissions: SOUND.submissions.with(0, row(1, "aborted")),
    }),
  },
  {
    fault: "a model response after an abort",
    rules: [11],
    says: /ModelResponded after the abort of sub-2-/,
    history: withCommit({ run: 2, epoch: null, drafts: [abortAsked(2)] }, 8),
  },
  {
    fault: "owed work that nothing moves",
    rules: [14],
    says: /sub-4-\w+ is owed, and nothing moves it/,
    history: { ...SOUND, submissions: [...SOUND.submissions, row(4, null)] },
  },
  {
    fault: "work that a parked unknown outcome blocks",
    rules: [14],
    says: /sub-2-\w+ is owed, and nothing moves it/,
    history: lostCall([], {
      submissions: [row(1, null, waitFor("unknown-outcome")), row(2, null)],
    }),
  },
  {
    fault: "due work without an alarm",
    rules: [18],
    says: new RegExp(`due ${NOW}, alarm null`),
    history: { ...SOUND, due: { dueAt: NOW, reason: "submitted" } },
  },
  {
    fault: "an alarm without due work",
    rules: [18],
    says: new RegExp(`due null, alarm ${NOW}`),
    history: { ...SOUND, alarm: NOW },
  },
  {
    fault: "an alarm of an object that has no lane",
    rules: [18],
    says: new RegExp(`due null, alarm ${NOW}`),
    history: { ...SOUND, due: null, alarm: NOW },
  },
];

describe("a planted fault", () => {
  it.each(PLANTED)("[QUA-02] is caught by its rule: $fault", ({ rules, says, history }) => {
    const found = check(history);
    expect(rulesOf(found)).toEqual(rules);
    expect(found.some((violation) => says.test(violation.found))).toBe(true);
  });

  it("[QUA-02] is caught where the ledger keeps no usage of a run that settled", () => {
    const dump = dumpOf(SOUND);
    const submissions = dump.submissions.map((of) => ({ ...of, usage: null }));
    const found = checkHistory({ ...dump, submissions }, SOUND.evidence);
    expect(found.map(({ rule }) => rule)).toEqual([10, 10, 10]);
  });

  it("[QUA-02] is caught wherever a record is missing from the middle or the front of the log", () => {
    const dump = dumpOf(SOUND);
    for (let at = 0; at < dump.records.length - 1; at += 1) {
      const found = checkHistory(
        { ...dump, records: dump.records.toSpliced(at, 1) },
        SOUND.evidence,
      );
      expect(rulesOf(found)).toContain(1);
      expect(rulesOf(found)).toContain(7);
    }
  });

  it("[QUA-02] is caught when two records changed places", () => {
    const dump = dumpOf(SOUND);
    const [left, right] = [must(dump.records[6], "7"), must(dump.records[7], "8")];
    const found = checkHistory(
      { ...dump, records: dump.records.with(6, right).with(7, left) },
      SOUND.evidence,
    );
    expect(found).toEqual([
      { rule: 1, found: "record 7 is 8" },
      { rule: 1, found: "record 8 is 7" },
    ]);
  });
});

describe("a broken digest chain", () => {
  const dump = dumpOf(SOUND);

  function chainFault(batches: readonly BatchRow[]): Violation[] {
    return checkHistory({ ...dump, batches }, SOUND.evidence);
  }

  it("[QUA-02] is caught at the batch whose text was changed, whichever it is", () => {
    for (const [at, batch] of dump.batches.entries()) {
      const changed = { ...batch, records: batch.records.replace('"test"', '"tesT"') };
      expect(changed.records).not.toBe(batch.records);
      expect(chainFault(dump.batches.with(at, changed))).toEqual([
        { rule: 19, found: `the chain breaks at record ${batch.first}` },
      ]);
    }
  });

  it("[QUA-02] is caught where a digest was changed", () => {
    const batch = must(dump.batches[4], "batch 5");
    expect(chainFault(dump.batches.with(4, { ...batch, digest: DIGEST }))).toEqual([
      { rule: 19, found: `the chain breaks at record ${batch.first}` },
    ]);
  });

  it("[QUA-02] is caught behind a batch that is gone", () => {
    const next = must(dump.batches[3], "batch 4");
    expect(chainFault(dump.batches.toSpliced(2, 1))).toEqual([
      { rule: 19, found: `the chain breaks at record ${next.first}` },
    ]);
  });

  it("[QUA-02] is caught where two batches changed places", () => {
    const [left, right] = [must(dump.batches[3], "batch 4"), must(dump.batches[4], "batch 5")];
    expect(rulesOf(chainFault(dump.batches.with(3, right).with(4, left)))).toEqual([19]);
  });
});
