// The judge of concurrent callers is judged itself: every planted fault is found, and whatever a sequential thread does is let pass, however the
// calls overlap.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { must } from "../../../shared/assert.ts";
import {
  specificationFrom,
  type Answer,
  type Asked,
  type Thread,
} from "../../simulation/admission-spec.ts";
import { findOrder, type Call } from "../../simulation/linearize.ts";

type Heard = Call<Asked, Answer>;

const START: Thread = {
  admitted: [{ key: "head", command: "asks", submissionId: "sub-1", state: "active" }],
  decisions: {},
};
const specification = specificationFrom(START);

function isExplained(...calls: readonly Heard[]): boolean {
  return findOrder(calls, specification) !== null;
}

/** A call that was asked and answered at these ticks. */
function at(askedAt: number, answeredAt: number, asked: Asked, answer: Answer): Heard {
  return { asked, answer, askedAt, answeredAt };
}

function unanswered(askedAt: number, asked: Asked): Heard {
  return { asked, answer: null, askedAt, answeredAt: Infinity };
}

function submit(key: string, command = "one"): Asked {
  return { kind: "submit", key, command };
}

function receipt(
  queueSequence: number,
  replayed = false,
  submissionId = `sub-${queueSequence}`,
): Answer {
  return { kind: "receipt", submissionId, queueSequence, replayed };
}

function abort(submissionId: string): Asked {
  return { kind: "abort", submissionId };
}

function read(submissionId: string): Asked {
  return { kind: "read", submissionId };
}

function decide(...decisions: readonly (readonly [string, string])[]): Asked {
  return {
    kind: "decide",
    decisions: decisions.map(([operationId, decision]) => ({ operationId, decision })),
  };
}

function said(what: string): Answer {
  return { kind: "said", said: what };
}

function decided(...statuses: readonly string[]): Answer {
  return { kind: "decided", statuses };
}

const CONFLICT: Answer = { kind: "refused", code: "DecisionConflict" };
const CLOSED: Answer = { kind: "refused", code: "InvalidState" };
const OTHER_COMMAND: Answer = { kind: "refused", code: "IdempotencyConflict" };

describe("a planted fault", () => {
  it.each<[string, readonly Heard[]]>([
    [
      "two receipts of one key",
      [at(1, 3, submit("a"), receipt(2)), at(2, 4, submit("a"), receipt(3))],
    ],
    [
      "an acknowledged admission that is lost",
      [at(1, 2, submit("a"), receipt(2)), at(3, 4, submit("a"), receipt(2))],
    ],
    ["a replay of what nobody asked for", [at(1, 2, submit("a"), receipt(2, true))]],
    [
      "a place in the queue that is given out twice",
      [at(1, 3, submit("a"), receipt(2)), at(2, 4, submit("b"), receipt(2, false, "sub-9"))],
    ],
    ["a place in the queue that is left out", [at(1, 2, submit("a"), receipt(3))]],
    [
      "an order of the queue against the time that was seen",
      [at(1, 2, submit("a"), receipt(3)), at(3, 4, submit("b"), receipt(2))],
    ],
    [
      "one id of two submissions",
      [at(1, 2, submit("a"), receipt(2)), at(3, 4, submit("b"), receipt(3, false, "sub-2"))],
    ],
    [
      "another command under the same key",
      [at(1, 2, submit("a", "one"), receipt(2)), at(3, 4, submit("a", "two"), receipt(2, true))],
    ],
    ["a conflict that nothing caused", [at(1, 2, submit("a", "one"), OTHER_COMMAND)]],
    [
      "work that is dequeued twice",
      [
        at(1, 2, submit("a"), receipt(2)),
        at(3, 5, abort("sub-2"), said("dequeued")),
        at(4, 6, abort("sub-2"), said("dequeued")),
      ],
    ],
    ["begun work that is dequeued", [at(1, 2, abort("sub-1"), said("dequeued"))]],
    [
      "an end that nobody brought about",
      [at(1, 2, submit("a"), receipt(2)), at(3, 4, abort("sub-2"), said("already-settled"))],
    ],
    [
      "an acknowledged abort that is forgotten",
      [
        at(1, 2, submit("a"), receipt(2)),
        at(3, 4, abort("sub-2"), said("dequeued")),
        at(5, 6, read("sub-2"), said("queued")),
      ],
    ],
    [
      "an end that is taken back",
      [
        at(1, 2, abort("sub-1"), said("signalled")),
        at(3, 4, read("sub-1"), said("settled")),
        at(5, 6, read("sub-1"), said("running")),
      ],
    ],
    [
      "work that begins before its turn",
      [at(1, 2, submit("a"), receipt(2)), at(3, 4, read("sub-2"), said("running"))],
    ],
    [
      "an operation that is decided twice",
      [
        at(1, 3, decide(["op", "approve"]), decided("applied")),
        at(2, 4, decide(["op", "deny"]), decided("applied")),
      ],
    ],
    [
      "a decision that is replayed before it was made",
      [at(1, 2, decide(["op", "deny"]), decided("replayed"))],
    ],
    [
      "a decision that is forgotten",
      [
        at(1, 2, decide(["op", "deny"]), decided("applied")),
        at(3, 4, decide(["op", "deny"]), decided("applied")),
      ],
    ],
    ["a conflict with no other decision", [at(1, 2, decide(["op", "deny"]), CONFLICT)]],
    [
      "a batch of which a part was done",
      [
        at(1, 2, decide(["op", "deny"]), decided("applied")),
        at(3, 4, decide(["other", "deny"], ["op", "approve"]), CONFLICT),
        at(5, 6, decide(["other", "deny"]), decided("replayed")),
      ],
    ],
    [
      "a decision on a run that was stopped",
      [
        at(1, 2, abort("sub-1"), said("signalled")),
        at(3, 4, decide(["op", "deny"]), decided("applied")),
      ],
    ],
    ["a refusal of what waits", [at(1, 2, decide(["op", "deny"]), CLOSED)]],
  ])("[QUA-02] is found: %s", (_what, calls) => {
    expect(isExplained(...calls)).toBe(false);
  });
});

describe("what may have happened", () => {
  it("[THR-01] is let pass: a call without an answer that was carried out, and one that was not", () => {
    const lost = unanswered(1, submit("a"));
    expect(isExplained(lost, at(2, 3, submit("a"), receipt(2, true)))).toBe(true);
    expect(isExplained(lost, at(2, 3, submit("a"), receipt(2)))).toBe(true);
    // It may be carried out later still.
    expect(isExplained(lost, at(2, 3, submit("b"), receipt(2)))).toBe(true);
    // But not before it was asked.
    expect(isExplained(at(1, 2, submit("a"), receipt(2, true)), unanswered(3, submit("a")))).toBe(
      false,
    );
  });

  it("is let pass: overlapping calls in the order that their answers call for", () => {
    expect(
      isExplained(
        at(1, 6, submit("a"), receipt(3)),
        at(2, 5, submit("b"), receipt(2)),
        at(3, 7, decide(["op", "deny"]), decided("replayed")),
        at(4, 8, decide(["op", "deny"]), decided("applied")),
      ),
    ).toBe(true);
  });

  it("names the order", () => {
    const calls = [at(1, 4, submit("a"), receipt(2, true)), at(2, 3, submit("a"), receipt(2))];
    expect(findOrder(calls, specification)).toEqual([1, 0]);
  });
});

const askedArb: fc.Arbitrary<Asked> = fc.oneof(
  fc
    .record({ key: fc.constantFrom("a", "b"), command: fc.constantFrom("one", "two") })
    .map(({ key, command }) => submit(key, command)),
  fc.constantFrom("sub-1", "sub-2").map(abort),
  fc.constantFrom("sub-1", "sub-2").map(read),
  fc
    .array(fc.tuple(fc.constantFrom("op", "other"), fc.constantFrom("approve", "deny", "abort")), {
      minLength: 1,
      maxLength: 2,
    })
    .map((decisions) => decide(...new Map(decisions))),
);

/** All answers that there are to these questions. */
const ANSWERS: readonly Answer[] = [
  ...[2, 3].flatMap((place) => [receipt(place), receipt(place, true)]),
  ...["dequeued", "signalled", "already-settled"].map(said),
  ...["queued", "running", "waiting", "settled"].map(said),
  ...["applied", "replayed"].flatMap((one) => [
    decided(one),
    decided(one, "applied"),
    decided(one, "replayed"),
  ]),
  CONFLICT,
  CLOSED,
  OTHER_COMMAND,
];

/** A thread that does one thing after the other, and chooses among what it may. */
function runInOrder(
  all: readonly Asked[],
  choices: readonly number[],
): (readonly [Asked, Answer])[] {
  let thread = START;
  return all.flatMap((asked, index): (readonly [Asked, Answer])[] => {
    const possible = ANSWERS.flatMap((answer) =>
      specification.next(thread, asked, answer).map((after) => ({ answer, after })),
    );
    // Of a submission that is not there nothing is known.
    if (possible.length === 0) return [];
    const choice = must(possible[(choices[index] ?? 0) % possible.length], "one of them");
    thread = choice.after;
    return [[asked, choice.answer]];
  });
}

describe("a sequential thread", () => {
  it("[QUA-01] is explained however its calls overlap, and whichever answers are lost", () => {
    fc.assert(
      fc.property(
        fc.array(askedArb, { maxLength: 8 }),
        fc.array(fc.nat(20), { maxLength: 8 }),
        fc.array(fc.tuple(fc.nat(25), fc.nat(25)), { minLength: 8, maxLength: 8 }),
        fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
        (asked, choices, stretches, isLost) => {
          const calls = runInOrder(asked, choices).map(([question, answer], index): Heard => {
            // Each is done at its own moment, somewhere between the question and the answer.
            const done = (index + 1) * 10;
            const [before, after] = must(stretches[index], "as many as calls");
            return isLost[index] === true && index % 3 === 0
              ? unanswered(done - before, question)
              : at(done - before, done + after, question, answer);
          });
          expect(isExplained(...calls)).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
});
