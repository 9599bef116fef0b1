// What a submission does where the thread is busy: every policy at every head (RUN-09).
import { describe, expect, it } from "vitest";
import { decideBusy } from "../../../durable-objects/thread/admission/decide-busy.ts";
import {
  findHead,
  isJoining,
  selectHead,
} from "../../../durable-objects/thread/ledger/select-head.ts";
import { OnBusySchema, type OnBusy } from "../../../shared/wire/submission.ts";
import { T0 } from "../support/builders.ts";
import { ledgerEntry } from "../support/ledger-entry.ts";

const SINCE = new Date(T0).toISOString();
const parked = { wait: { reason: "unknown-outcome", since: SINCE, deadline: null } } as const;
const asking = { wait: { reason: "approval", since: SINCE, deadline: null } } as const;

/** Total: a new policy does not compile until its column is written here. */
const EXPECTED: Record<OnBusy, { idle: string; own: string; other: string; joined: string }> = {
  enqueue: { idle: "enqueue", own: "enqueue", other: "enqueue", joined: "enqueue" },
  join: { idle: "enqueue", own: "join", other: "enqueue", joined: "enqueue" },
  reject: { idle: "enqueue", own: "refuse", other: "refuse", joined: "refuse" },
  interrupt: { idle: "enqueue", own: "interrupt", other: "interrupt", joined: "enqueue" },
};

describe.each(OnBusySchema.options)("onBusy %s", (onBusy) => {
  it.each([
    ["idle", undefined],
    ["own", ledgerEntry(1)],
    ["other", ledgerEntry(1, { agentId: "another" })],
    ["joined", ledgerEntry(2, { host: 1, joinedAt: 9 })],
  ] as const)("[RUN-09] where the head is %s", (where, head) => {
    expect(decideBusy(onBusy, head, "agent").kind).toBe(EXPECTED[onBusy][where]);
  });
});

describe("the head of a queue with joined input", () => {
  const joined = ledgerEntry(2, { host: 1, joinedAt: 9 });
  const joining = ledgerEntry(2, { host: 1 });

  it("[RUN-06] is its host while that is not parked", () => {
    expect(findHead([ledgerEntry(1), joined, ledgerEntry(3)], 1)?.queueSequence).toBe(1);
    expect(findHead([ledgerEntry(1, asking), joined], 1)?.queueSequence).toBe(1);
  });

  it("[RUN-06] is blocked by it once its host is parked", () => {
    expect(selectHead([ledgerEntry(1, parked), joined, ledgerEntry(3)], 1, T0)).toEqual({
      kind: "blocked",
      reason: "unknown-outcome",
      dueAt: null,
    });
  });

  it("[RUN-09] is what was to join a run that is parked, as its input is canonical nowhere", () => {
    const owed = [ledgerEntry(1, parked), joining, ledgerEntry(3)];
    expect(selectHead(owed, 1, T0)).toMatchObject({ kind: "ready", head: { queueSequence: 2 } });
  });

  it("[RUN-09] tells what waits to join from what has", () => {
    expect([joined, joining, ledgerEntry(3)].map((each) => isJoining(each, 1))).toEqual([
      false,
      true,
      false,
    ]);
  });
});
