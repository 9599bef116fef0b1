// The whole table of a call's moves, written down a second time.
import { describe, expect, it } from "vitest";
import {
  CALL_MOVES,
  type CallEvent,
  type CallPhase,
} from "../../../durable-objects/thread/run/call-phase.ts";

const NO = "refused" as const;

// Total by its type: a new phase or event does not compile until it is written here.
const EXPECTED: Record<CallPhase, Record<CallEvent, CallPhase | "refused">> = {
  declared: {
    "approval-requested": "awaiting-approval",
    approved: "approved",
    denied: "denied",
    prepared: "prepared",
    lost: NO,
    cleared: NO,
    settled: "settled",
  },
  "awaiting-approval": {
    "approval-requested": NO,
    approved: "approved",
    denied: "denied",
    prepared: NO,
    lost: NO,
    cleared: NO,
    settled: "settled",
  },
  approved: {
    "approval-requested": NO,
    approved: NO,
    denied: NO,
    prepared: "prepared",
    lost: NO,
    cleared: NO,
    settled: "settled",
  },
  denied: {
    "approval-requested": NO,
    approved: NO,
    denied: NO,
    prepared: NO,
    lost: NO,
    cleared: NO,
    settled: "settled",
  },
  prepared: {
    "approval-requested": NO,
    approved: NO,
    denied: NO,
    prepared: NO,
    lost: "unknown",
    cleared: NO,
    settled: "settled",
  },
  unknown: {
    "approval-requested": NO,
    approved: NO,
    denied: NO,
    prepared: NO,
    lost: NO,
    cleared: "cleared",
    settled: "settled",
  },
  cleared: {
    "approval-requested": NO,
    approved: NO,
    denied: NO,
    prepared: "prepared",
    lost: NO,
    cleared: NO,
    settled: "settled",
  },
  settled: {
    "approval-requested": NO,
    approved: NO,
    denied: NO,
    prepared: NO,
    lost: NO,
    cleared: NO,
    settled: NO,
  },
};

describe("the moves of a tool call", () => {
  for (const [phase, moves] of Object.entries(EXPECTED)) {
    for (const [event, to] of Object.entries(moves)) {
      it(`${phase} on ${event} goes to ${to}`, () => {
        const actual = Object.entries(CALL_MOVES).find(([name]) => name === phase)?.[1];
        expect(Object.entries(actual ?? {}).find(([name]) => name === event)?.[1]).toBe(to);
      });
    }
  }

  it("[QUA-04, TOOL-04] only a person's decision leads from an unknown outcome to another dispatch", () => {
    const toPrepared = Object.entries(CALL_MOVES)
      .filter(([, moves]) => moves.prepared === "prepared")
      .map(([phase]) => phase);
    expect(toPrepared.toSorted()).toEqual(["approved", "cleared", "declared"]);
    const toCleared = Object.entries(CALL_MOVES)
      .filter(([, moves]) => moves.cleared !== "refused")
      .map(([phase]) => phase);
    expect(toCleared).toEqual(["unknown"]);
  });

  it("a settled call takes no further event", () => {
    expect(new Set(Object.values(CALL_MOVES.settled))).toEqual(new Set(["refused"]));
  });
});
