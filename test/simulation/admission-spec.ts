// What admissions and controls of one thread do, as if one came after the other: a map from key to receipt, a state for each submission, one
// decision for each operation. For threads whose runs never end by themselves: only aborts settle them. Pure.
import type { Specification } from "./linearize.ts";

/** `active`: begun. `stopping`: an abort was signalled, and it settles at any time. */
export type State = "queued" | "active" | "stopping" | "settled";

interface Admitted {
  readonly key: string;
  readonly command: string;
  /** Null while no answer named it. */
  readonly submissionId: string | null;
  readonly state: State;
}

export interface Thread {
  /** In the order of their queue sequences, from 1. */
  readonly admitted: readonly Admitted[];
  /** Of the operations of the first submission, by their ids; of a call that was lost, by its own name. */
  readonly decisions: Readonly<Record<string, string>>;
}

export interface OneDecision {
  readonly operationId: string;
  readonly decision: string;
}

export type Asked =
  | { readonly kind: "submit"; readonly key: string; readonly command: string }
  | { readonly kind: "abort"; readonly submissionId: string }
  | { readonly kind: "decide"; readonly decisions: readonly OneDecision[] }
  | { readonly kind: "read"; readonly submissionId: string };

export type Answer =
  | {
      readonly kind: "receipt";
      readonly submissionId: string;
      readonly queueSequence: number;
      readonly replayed: boolean;
    }
  /** An abort's effect, or the state that was read. */
  | { readonly kind: "said"; readonly said: string }
  | { readonly kind: "decided"; readonly statuses: readonly string[] }
  | { readonly kind: "refused"; readonly code: string };

/** A thread whose first submission waits for decisions. */
export function specificationFrom(start: Thread): Specification<Thread, Asked, Answer> {
  return { start, next, keyOf: (thread) => JSON.stringify(thread) };
}

function next(thread: Thread, asked: Asked, answer: Answer | null): readonly Thread[] {
  return outcomes(thread, asked).flatMap(([given, after]) => {
    if (answer === null) return [after];
    const isGiven = JSON.stringify(withoutId(given)) === JSON.stringify(withoutId(answer));
    if (!isGiven) return [];
    return answer.kind === "receipt" ? named(after, answer) : [after];
  });
}

type Outcome = readonly [Answer, Thread];

function outcomes(thread: Thread, asked: Asked): readonly Outcome[] {
  switch (asked.kind) {
    case "submit":
      return [submit(thread, asked.key, asked.command)];
    case "abort":
      return abort(thread, asked.submissionId);
    case "decide":
      return decide(thread, asked.decisions);
    case "read":
      return read(thread, asked.submissionId);
  }
}

/** One admission per key, at the end of the queue. */
function submit(thread: Thread, key: string, command: string): Outcome {
  const at = thread.admitted.findIndex((each) => each.key === key);
  const known = thread.admitted[at];
  if (known === undefined) {
    const admitted = [
      ...thread.admitted,
      { key, command, submissionId: null, state: "queued" } as const,
    ];
    return [receipt(admitted.length, false), { ...thread, admitted }];
  }
  return known.command === command
    ? [receipt(at + 1, true), thread]
    : [{ kind: "refused", code: "IdempotencyConflict" }, thread];
}

/** Which id it names is held against the thread afterwards. */
function receipt(queueSequence: number, replayed: boolean): Answer {
  return { kind: "receipt", submissionId: "", queueSequence, replayed };
}

/** An answer names a submission that had no name, or the one that it has. */
function named(thread: Thread, answer: Answer & { readonly kind: "receipt" }): Thread[] {
  const { submissionId, queueSequence } = answer;
  const at = queueSequence - 1;
  const isTaken = thread.admitted.some(
    (each, index) => index !== at && each.submissionId === submissionId,
  );
  const known = thread.admitted[at]?.submissionId ?? submissionId;
  if (isTaken || known !== submissionId) return [];
  const admitted = thread.admitted.map((each, index) =>
    index === at ? { ...each, submissionId } : each,
  );
  return [{ ...thread, admitted }];
}

function abort(before: Thread, submissionId: string): readonly Outcome[] {
  return here(before, submissionId).flatMap(([thread, at]): Outcome[] => {
    switch (thread.admitted[at]?.state) {
      case "queued":
        return [
          [say("dequeued"), become(thread, at, "settled")],
          ...(mayHaveBegun(thread, at)
            ? [[say("signalled"), become(thread, at, "stopping")] as const]
            : []),
        ];
      case "active":
        return [[say("signalled"), become(thread, at, "stopping")]];
      case "stopping":
        return [
          [say("signalled"), thread],
          [say("already-settled"), become(thread, at, "settled")],
        ];
      default:
        return [[say("already-settled"), thread]];
    }
  });
}

function read(before: Thread, submissionId: string): readonly Outcome[] {
  return here(before, submissionId).flatMap(([thread, at]): Outcome[] => {
    const begun = (as: State): Outcome[] =>
      ["running", "waiting"].map((state) => [say(state), become(thread, at, as)]);
    switch (thread.admitted[at]?.state) {
      case "queued":
        return [[say("queued"), thread], ...(mayHaveBegun(thread, at) ? begun("active") : [])];
      case "active":
        return begun("active");
      case "stopping":
        return [...begun("stopping"), [say("settled"), become(thread, at, "settled")]];
      default:
        return [[say("settled"), thread]];
    }
  });
}

/** Decided one after the other, all of them or none. */
function decide(thread: Thread, asked: readonly OneDecision[]): readonly Outcome[] {
  const refused = new Set<string>();
  let decided: readonly { readonly statuses: readonly string[]; readonly after: Thread }[] = [
    { statuses: [], after: thread },
  ];
  for (const one of asked) {
    decided = decided.flatMap(({ statuses, after }) =>
      decideOne(after, one).flatMap((came) => {
        if (typeof came !== "string") {
          return [{ statuses: [...statuses, came.status], after: came.after }];
        }
        refused.add(came);
        return [];
      }),
    );
  }
  return [
    ...decided.map(({ statuses, after }): Outcome => [{ kind: "decided", statuses }, after]),
    ...[...refused].map((code): Outcome => [{ kind: "refused", code }, thread]),
  ];
}

/** What may come of one decision: a refusal's code, or its status and what it leaves. */
function decideOne(
  thread: Thread,
  { operationId, decision }: OneDecision,
): readonly (string | { readonly status: string; readonly after: Thread })[] {
  const made = thread.decisions[operationId];
  const lost = thread.decisions[lossOf(operationId)];
  if (made === decision || lost === decision) return [{ status: "replayed", after: thread }];
  if (made === undefined) {
    return thread.admitted[0]?.state === "active"
      ? [{ status: "applied", after: take(thread, operationId, decision) }]
      : ["InvalidState"];
  }
  if (decision !== "abort") return ["DecisionConflict"];
  // An approval is past once its call ran; where the call was lost, an abort is about the loss, which has the same id.
  return made === "approve" && thread.admitted[0]?.state === "active"
    ? [
        "DecisionConflict",
        "InvalidState",
        { status: "applied", after: take(thread, lossOf(operationId), decision) },
      ]
    : ["DecisionConflict", "InvalidState"];
}

function take(thread: Thread, operation: string, decision: string): Thread {
  const after = { ...thread, decisions: { ...thread.decisions, [operation]: decision } };
  return decision === "abort" ? become(after, 0, "stopping") : after;
}

function lossOf(operationId: string): string {
  return `the loss of ${operationId}`;
}

/** Where the submission stands. One that no answer named yet may be it, and has its name from then on. */
function here(thread: Thread, submissionId: string): readonly (readonly [Thread, number])[] {
  const known = thread.admitted.findIndex((each) => each.submissionId === submissionId);
  if (known !== -1) return [[thread, known]];
  return thread.admitted.flatMap((each, at) => {
    if (each.submissionId !== null) return [];
    return [
      [{ ...thread, admitted: thread.admitted.with(at, { ...each, submissionId }) }, at] as const,
    ];
  });
}

/** Everything before it has ended, or is about to, or blocks nobody: a call that was approved, and lost, parks its run (RUN-17). */
function mayHaveBegun(thread: Thread, at: number): boolean {
  const mayBeParked = Object.values(thread.decisions).includes("approve");
  return thread.admitted
    .slice(0, at)
    .every(
      ({ state }, index) =>
        state === "settled" || state === "stopping" || (index === 0 && mayBeParked),
    );
}

function become(thread: Thread, at: number, state: State): Thread {
  const admitted = thread.admitted.map((each, index) => (index === at ? { ...each, state } : each));
  return { ...thread, admitted };
}

function say(said: string): Answer {
  return { kind: "said", said };
}

function withoutId(answer: Answer): Answer {
  return answer.kind === "receipt" ? { ...answer, submissionId: "" } : answer;
}
