// A recovery fault: the ladder of its tries, and what the host is told of each submission.
import { describe, expect, it } from "vitest";
import {
  planAdmission,
  planAnnouncement,
  planClear,
  planFault,
  type FaultChange,
} from "../../../durable-objects/thread/recovery/fault.ts";
import type { Fault, FaultFailure } from "../../../shared/wire/fault.ts";
import { T0 } from "../support/builders.ts";

const GAP: FaultFailure = { class: "log-unreadable", diagnostic: "record 3 is missing" };
const OTHER: FaultFailure = { class: "log-unreadable", diagnostic: "record 9 is missing" };

const told = ({ transitions }: Pick<FaultChange, "transitions">) =>
  transitions.map(({ transition, submissionId }) => `${transition} ${submissionId}`);

function first(owed: readonly string[] = ["a"]): Fault {
  return planFault(null, GAP, owed, T0).fault;
}

describe("a recovery fault", () => {
  it("[REC-04] is tried again after 5, 10, 20, 40, then 60 seconds for ever", () => {
    let fault: Fault | null = null;
    const waits: number[] = [];
    for (let attempt = 0; attempt < 7; attempt += 1) {
      fault = planFault(fault, GAP, ["a"], T0).fault;
      waits.push((Date.parse(fault.retryAt) - T0) / 1_000);
    }
    expect(waits).toEqual([5, 10, 20, 40, 60, 60, 60]);
    expect(fault?.attempts).toBe(7);
  });

  it("[REC-05] is created for each owed submission once, admissions while it waits included", () => {
    const begun = planFault(null, GAP, ["a", "b"], T0);
    expect(told(begun)).toEqual(["created a", "created b"]);
    const admitted = planAdmission(begun.fault, "c", T0 + 1);
    expect(told(admitted)).toEqual(["created c"]);
    expect(told(planFault(admitted.fault, GAP, ["a", "b", "c"], T0 + 5))).toEqual([]);
    expect(told(planFault(admitted.fault, GAP, ["b", "c", "d"], T0 + 5))).toEqual(["created d"]);
  });

  it("[REC-05] changes with its class or its diagnostic alone, and keeps when it first came", () => {
    const changed = planFault(first(), OTHER, ["a", "b"], T0 + 5_000);
    expect(told(changed)).toEqual(["changed a", "created b"]);
    expect(changed.fault.failedAt).toBe(new Date(T0).toISOString());
    expect(changed.fault.changedAt).toBe(new Date(T0 + 5_000).toISOString());
    expect(changed.transitions[0]).toMatchObject({ failure: OTHER });
  });

  it("[REC-05] clears every submission that it kept waiting, settled ones too", () => {
    const known = planFault(first(["a", "b"]), GAP, ["b"], T0 + 1).fault;
    expect(planClear(known, T0 + 2).map(({ submissionId }) => submissionId)).toEqual(["a", "b"]);
  });

  it("[REC-05] is announced whole to a handler that comes later", () => {
    expect(told({ transitions: planAnnouncement(first(["a", "b"]), T0) })).toEqual([
      "created a",
      "created b",
    ]);
  });
});
