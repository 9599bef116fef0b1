// The words of an explanation: every wait has a reason and a way out.
import { describe, expect, it } from "vitest";
import type { Wait, WaitReason } from "../../../shared/wire/submission.ts";
import type { LedgerEntry } from "../../../durable-objects/thread/ledger/ledger.store.ts";
import {
  renderSubmission,
  renderSummary,
  renderThreadState,
  type SubmissionFacts,
} from "../../../durable-objects/thread/view/render-explanation.ts";
import { T0 } from "../support/builders.ts";

const DUE = new Date(T0 + 60_000).toISOString();

function entry(queueSequence: number, wait: Wait | null = null): LedgerEntry {
  return {
    queueSequence,
    submissionId: `sub-${queueSequence}`,
    agentId: "agent",
    acceptedAt: T0,
    wait,
    firstSequence: null,
    outcome: null,
    settledSequence: null,
    host: null,
    joinedAt: null,
  };
}

function facts(changes: Partial<SubmissionFacts> = {}): SubmissionFacts {
  return {
    threadId: "t",
    state: "queued",
    head: { kind: "none" },
    wait: null,
    deadlineAt: null,
    now: T0,
    host: null,
    hasJoined: false,
    ...changes,
  };
}

/** Total: a new reason to wait does not compile until its way out is written here. */
const WAY_OUT: Record<WaitReason, RegExp> = {
  approval: /operations\/decide with approve, edit or deny/,
  "unknown-outcome": /operations\/decide with completed, failed, never-started/,
  "retry-backoff": new RegExp(DUE),
  "recovery-fault": /tried again at .*clear-fault/,
  "attempts-exhausted": /repair with action retry, or abort/,
  binding: /first call of a deployment that has it/,
};

describe("[OBS-04] why work waits", () => {
  for (const [reason, wayOut] of Object.entries(WAY_OUT)) {
    it(`for ${reason}: in words, with what would move it`, () => {
      const wait: Wait = {
        reason: toReason(reason),
        since: DUE,
        deadline: DUE,
        operationIds: ["op"],
      };
      const rendered = renderSubmission(entry(1, wait), facts({ state: "waiting", wait }));
      expect(rendered).toMatchObject({ state: "waiting", wait });
      expect(rendered.next).toMatch(wayOut);
      expect(rendered.why.length).toBeGreaterThan(10);
      expect(`${rendered.why} ${rendered.next}`).not.toMatch(/null|undefined/);
    });
  }

  it("[OPS-01] says of a run that was started when it fails at the latest, and whether that has passed", () => {
    const at = (deadlineAt: number | null) => {
      const { deadlineAt: said, isOverdue } = renderSubmission(entry(1), facts({ deadlineAt }));
      return [said, isOverdue];
    };
    expect(at(null)).toEqual([undefined, false]);
    expect(at(T0 + 1)).toEqual([new Date(T0 + 1).toISOString(), false]);
    expect(at(T0)).toEqual([new Date(T0).toISOString(), true]);
  });

  it("says who is before it, that it is next, or that it runs", () => {
    const head = { kind: "ready", head: entry(1) } as const;
    expect(renderSubmission(entry(2), facts({ head })).why).toContain("behind sub-1");
    expect(renderSubmission(entry(1), facts({ head })).why).toBe("It is next.");
    expect(renderSubmission(entry(1), facts({ head, state: "running" })).next).toContain("alarm");
  });
});

describe("[RUN-18] the state of a thread", () => {
  const ready = { kind: "ready", head: entry(1) } as const;
  const blocked = { kind: "blocked", reason: "approval", dueAt: null } as const;

  it("is idle, running or waiting", () => {
    expect(renderThreadState(0, { kind: "none" })).toBe("idle");
    expect(renderThreadState(1, ready)).toBe("running");
    expect(renderThreadState(1, blocked)).toBe("waiting");
    expect(renderThreadState(1, { kind: "none" })).toBe("waiting");
  });

  it("is summed up by the work that is furthest", () => {
    expect(renderSummary("idle", [])).toContain("Nothing is owed");
    const queued = renderSubmission(entry(1), facts());
    const running = renderSubmission(entry(2), facts({ state: "running" }));
    expect(renderSummary("running", [queued, running])).toBe(
      `The thread is running: ${running.why} ${running.next} 1 more is owed.`,
    );
    expect(renderSummary("running", [queued, queued, queued])).toMatch(/2 more are owed\.$/);
  });
});

function toReason(text: string): WaitReason {
  switch (text) {
    case "approval":
    case "unknown-outcome":
    case "retry-backoff":
    case "attempts-exhausted":
    case "binding":
    case "recovery-fault":
      return text;
    default:
      throw new Error(`no reason: ${text}`);
  }
}
