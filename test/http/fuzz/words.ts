// What fields of the API are called and what means something in them: ids of the scene's thread, agents of the deployment, plans.
import * as fc from "fast-check";
import { RECORD_TYPES } from "../../../shared/wire/records.ts";
import type { Words } from "../../support/schema-values.ts";
import { TOKENS, type SceneKind } from "./scenes.ts";

const PLANS = [
  [{ text: "ok" }],
  [{ calls: [{ tool: "look" }] }, { text: '{"answer":"x"}' }],
  [{ calls: [{ tool: "act" }, { tool: "nothing" }] }, { text: "" }],
  [{ calls: [{ tool: "guarded" }] }, { text: "ok" }],
  [{ fail: { how: "throw" } }],
  [{ text: "cut", finish: "length" }],
];

const input = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...PLANS).map((plan) => ({ plan })) },
  fc.record({
    plan: fc.array(fc.record({ text: fc.string() }), { maxLength: 2 }),
    note: fc.string(),
  }),
);

const reason = fc.constantFrom("as tested", "x", "<b>&amp;\u0000</b>", "\ud83d\ude00");

/** Decisions that suit what waits in the scene. */
function decision(kind: SceneKind): fc.Arbitrary<unknown> {
  const made = (decisions: readonly string[], more: Record<string, unknown> = {}) =>
    fc
      .record({ choice: fc.constantFrom(...decisions), reason, isBound: fc.boolean() })
      .map(({ choice, reason: why, isBound }) => ({
        operationId: TOKENS.operation,
        decision: choice,
        reason: why,
        ...(isBound ? { argumentsDigest: TOKENS.digest } : {}),
        ...more,
      }));
  return kind === "unknown"
    ? fc.oneof(
        made(["failed", "never-started", "safe-to-retry", "abort"]),
        made(["completed"], { result: { value: "done" } }),
      )
    : fc.oneof(
        made(["approve", "deny", "abort"]),
        made(["edit"], { arguments: { behave: "answer", value: "edited" } }),
      );
}

const submissionId = fc.constantFrom(TOKENS.settled, TOKENS.owed, TOKENS.queued);

const WORDS: Readonly<Record<string, (kind: SceneKind) => fc.Arbitrary<unknown>>> = {
  thread: () => fc.constant(TOKENS.thread),
  threadId: () => fc.constant(TOKENS.thread),
  submission: submissionOf,
  submissionId: submissionOf,
  target: submissionOf,
  operationId: () => fc.constant(TOKENS.operation),
  argumentsDigest: () => fc.constant(TOKENS.digest),
  // Mostly the one that takes metadata, with or without any.
  agent: () =>
    fc.oneof(
      { weight: 12, arbitrary: fc.constant("routed") },
      fc.constantFrom("plain", "structured", "frugal", "strict", "throwing"),
    ),
  metadata: () => fc.constantFrom({}, { region: "us" }, { note: "n" }),
  // Mostly nothing that a busy thread refuses.
  onBusy: () =>
    fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom("enqueue", "join") },
      fc.constantFrom("reject", "interrupt"),
    ),
  input: () => input,
  // Mostly nothing is expected: of digests at random no deployment has any.
  expectDefinitions: () => fc.constant({}),
  reason: () => reason,
  Decision: decision,
  decisions: (kind) => decision(kind).map((one) => [one]),
  "idempotency-key": keys,
  idempotencyKey: keys,
  waitId: () => fc.constantFrom("wait-1", "wait-2", "é"),
  prefer: () =>
    fc.constantFrom("wait=0", "wait=20", "respond-async, wait=1", "wait=99999", "wait="),
  types: () =>
    fc.subarray([...RECORD_TYPES], { minLength: 1, maxLength: 4 }).map((types) => types.join()),
  tenant: () => fc.constant("dev"),
  principal: () => fc.constantFrom("tester", "someone", "\ud83d\ude00"),
};

/** Where nothing is owed, what is settled is all there is. */
function submissionOf(kind: SceneKind): fc.Arbitrary<string> {
  return kind === "rest" ? fc.constant(TOKENS.settled) : submissionId;
}

/** Mostly new ones; the few others meet again, with the same command or another. */
function keys(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.uuid() },
    fc.nat(3).map((key) => `key-${key}`),
  );
}

/** Of these the document says in prose what is right: which field goes with which decision, that none is decided twice, what is in a list
 * of types. */
const CLOSED = new Set(["Decision", "decisions", "types"]);

/** @param isSure no other values of the schema among them: a request that is right is then mostly accepted */
export function wordsOf(kind: SceneKind, isSure = false): Words {
  return (names, { pattern, type }, any) => {
    const name = names.find((each) => Object.hasOwn(WORDS, each)) ?? "";
    // A digest is none of these, whatever its field is called; and a list of types in a query is one text.
    if (pattern?.includes("[0-9a-f]{64}") === true && name !== "argumentsDigest") return any;
    if (name === "types" && type !== "string") return any;
    const known = WORDS[name]?.(kind);
    if (known === undefined) return any;
    if (isSure || CLOSED.has(name)) return known;
    return fc.oneof({ weight: 12, arbitrary: known }, { weight: 1, arbitrary: any });
  };
}
