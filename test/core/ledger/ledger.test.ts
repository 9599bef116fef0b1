// Which owed work runs next, what state it has, and what an attempt is charged.
import { describe, expect, it } from "vitest";
import type { WaitReason, Wait } from "../../../shared/wire/submission.ts";
import {
  decideClaim,
  firstSequenceOf,
  type ClaimFacts,
} from "../../../durable-objects/thread/ledger/decide-claim.ts";
import type { LedgerEntry } from "../../../durable-objects/thread/ledger/ledger.store.ts";
import { isParked, selectHead } from "../../../durable-objects/thread/ledger/select-head.ts";
import { deriveState } from "../../../durable-objects/thread/ledger/submission-state.ts";
import type { ThreadRow } from "../../../durable-objects/thread/ledger/thread-row.store.ts";
import { T0 } from "../support/builders.ts";
import { ledgerEntry } from "../support/ledger-entry.ts";

const NOW = T0;

function wait(reason: WaitReason, dueAt: number | null = null): Wait {
  return {
    reason,
    since: new Date(T0).toISOString(),
    deadline: dueAt === null ? null : new Date(dueAt).toISOString(),
  };
}

function head(owed: readonly LedgerEntry[], claimedRun: number | null = null): number | string {
  const selected = selectHead(owed, claimedRun, NOW);
  return selected.kind === "ready" ? selected.head.queueSequence : selected.kind;
}

const PARKED = ["unknown-outcome", "attempts-exhausted"] as const;
const BARRIERS = ["approval", "binding", "retry-backoff"] as const;

describe("[RUN-06] the head of a thread", () => {
  it("is the first owed work in queue order", () => {
    expect(head([])).toBe("none");
    expect(head([ledgerEntry(2), ledgerEntry(3)])).toBe(2);
  });

  it("stays the run that was claimed last until it settles or parks", () => {
    expect(head([ledgerEntry(2), ledgerEntry(3)], 3)).toBe(3);
    expect(head([ledgerEntry(2), ledgerEntry(3, { wait: wait("unknown-outcome") })], 3)).toBe(2);
    expect(head([ledgerEntry(2), ledgerEntry(4)], 3)).toBe(2);
  });

  it.each(PARKED)("[RUN-17] is not work parked on %s", (reason) => {
    const parked = ledgerEntry(1, { wait: wait(reason) });
    expect(isParked(parked)).toBe(true);
    expect(head([parked, ledgerEntry(2)], 1)).toBe(2);
    expect(head([parked], 1)).toBe("none");
  });

  it.each(BARRIERS)("is blocked by a wait for %s", (reason) => {
    const waiting = ledgerEntry(1, { wait: wait(reason, NOW + 1) });
    expect(isParked(waiting)).toBe(false);
    expect(selectHead([waiting, ledgerEntry(2)], 1, NOW)).toEqual({
      kind: "blocked",
      reason,
      dueAt: NOW + 1,
    });
  });

  it("is ready again at the very instant its wait is due, and never without a due time", () => {
    expect(head([ledgerEntry(1, { wait: wait("retry-backoff", NOW) })], 1)).toBe(1);
    expect(head([ledgerEntry(1, { wait: wait("retry-backoff", NOW + 1) })], 1)).toBe("blocked");
    expect(selectHead([ledgerEntry(1, { wait: wait("binding") })], 1, NOW)).toMatchObject({
      dueAt: null,
    });
  });

  it("[RUN-17] is a parked run that was resolved before input that was never claimed, but after the active run", () => {
    const resolved = ledgerEntry(1, { firstSequence: 2 });
    expect(head([resolved, ledgerEntry(3)], 2)).toBe(1);
    expect(head([resolved, ledgerEntry(2), ledgerEntry(3)], 2)).toBe(2);
  });
});

describe("[RUN-18] the state of a submission", () => {
  it.each<[Partial<LedgerEntry>, number | null, string]>([
    [{}, null, "queued"],
    [{}, 1, "queued"],
    [{}, 2, "running"],
    [{ wait: wait("approval") }, 2, "waiting"],
    [{ wait: wait("unknown-outcome") }, 1, "waiting"],
    [{ outcome: "completed" }, 2, "settled"],
    [{ outcome: "aborted", wait: wait("approval") }, 2, "settled"],
  ])("of %j with claimed run %j is %s", (changes, claimedRun, state) => {
    expect(deriveState(ledgerEntry(2, changes), claimedRun)).toBe(state);
  });
});

const THREAD: ThreadRow = {
  number: 0,
  threadId: "t",
  createdBy: "ann",
  createdAt: T0,
  epoch: 0,
  claimedRun: null,
  claimedRunFirst: null,
  charge: 0,
  chargedAt: 0,
  yieldedEpoch: 0,
  unboundUnder: null,
  deleted: null,
  fault: null,
};

function claim(thread: Partial<ThreadRow>, changes: Partial<ClaimFacts> = {}) {
  return decideClaim({
    thread: { ...THREAD, ...thread },
    run: 1,
    firstSequence: 2,
    lastProgress: 3,
    maxFruitlessAttempts: 5,
    ...changes,
  });
}

describe("[REC-10] what a claim is charged", () => {
  it("the first attempt is epoch 1 with charge 1 and takes over from nobody", () => {
    expect(claim({})).toEqual({
      kind: "claim",
      claim: { epoch: 1, claimedRun: 1, claimedRunFirst: 2, charge: 1, chargedAt: 3 },
      supersededEpoch: null,
    });
  });

  it("an attempt without a new record since the last charge adds to it", () => {
    const before = { epoch: 4, claimedRun: 1, charge: 2, chargedAt: 3 };
    expect(claim(before)).toMatchObject({ claim: { epoch: 5, charge: 3 }, supersededEpoch: 4 });
  });

  it("one new record starts the count again", () => {
    const before = { epoch: 4, claimedRun: 1, charge: 5, chargedAt: 3 };
    expect(claim(before, { lastProgress: 4 })).toMatchObject({
      claim: { charge: 1, chargedAt: 4 },
      supersededEpoch: 4,
    });
  });

  it("another run starts its own count and takes over from nobody", () => {
    const before = { epoch: 4, claimedRun: 9, charge: 5, chargedAt: 30 };
    expect(claim(before)).toMatchObject({
      claim: { epoch: 5, charge: 1 },
      supersededEpoch: null,
    });
  });

  it.each([
    [4, "claim"],
    [5, "park"],
    [6, "park"],
  ] as const)("after %i fruitless attempts the next is a %s", (charge, kind) => {
    expect(claim({ epoch: 9, claimedRun: 1, charge, chargedAt: 3 }).kind).toBe(kind);
  });

  it("parking says how many attempts there were", () => {
    expect(claim({ epoch: 9, claimedRun: 1, charge: 5, chargedAt: 3 })).toEqual({
      kind: "park",
      attempts: 5,
    });
  });
});

describe("where a run's records begin", () => {
  it("is in its own row once it waited, else in the thread's, else nowhere", () => {
    const thread = { ...THREAD, epoch: 1, claimedRun: 2, claimedRunFirst: 7 };
    expect(firstSequenceOf(thread, ledgerEntry(1, { firstSequence: 3 }))).toBe(3);
    expect(firstSequenceOf(thread, ledgerEntry(2))).toBe(7);
    expect(firstSequenceOf(thread, ledgerEntry(3))).toBeNull();
  });
});
