// The safeguards that the promise rests on, each with the edit that takes it out and the suites that have to miss it.

export interface Mutation {
  /** What is taken out. */
  readonly safeguard: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  readonly suites: readonly string[];
}

export const MUTATIONS: readonly Mutation[] = [
  {
    safeguard: "the fence: a commit carries the thread's epoch",
    file: "durable-objects/thread/thread-core.ts",
    find: "if (live.hasEnded || this.row.epoch() !== epoch) {",
    replace: "if (live.hasEnded) {",
    suites: ["test/objects/recovery.test.ts"],
  },
  {
    safeguard: "the intent before a tool's handler",
    file: "durable-objects/thread/run/tool-batch.ts",
    find: 'core.commitAsAttempt(live, "intents", [...rejections, intents]);',
    replace: "void intents;",
    suites: ["test/objects/run-loop.test.ts"],
  },
  {
    safeguard: "a lost call is an unknown outcome",
    file: "durable-objects/thread/run/plan-batch.ts",
    find: 'if (call.phase === "prepared" && !isRepeatable) lost.push(call);',
    replace: 'if (call.phase === "settled" && !isRepeatable) lost.push(call);',
    suites: ["test/objects/recovery.test.ts"],
  },
  {
    safeguard: "an abort that is on record stops the live attempt",
    file: "durable-objects/thread/run/live-run.ts",
    find: 'if (state.abort !== null) this.stop("abort");',
    replace: "",
    suites: ["test/objects/recovery.test.ts"],
  },
  {
    safeguard: "the look-up of an idempotency key",
    file: "durable-objects/thread/admission/submit.ts",
    find: "isNewThread ? null : core.ledger.findByKey(principal, idempotencyKey)",
    replace: "null as ReturnType<typeof core.ledger.findByKey>",
    suites: ["test/objects/admission.test.ts"],
  },
  {
    safeguard: "the digest of a replayed command",
    file: "durable-objects/thread/admission/decide-admission.ts",
    find: "return acceptedDigest === commandDigest ? ",
    replace: "return acceptedDigest !== null || commandDigest ? ",
    suites: ["test/objects/admission.test.ts"],
  },
  {
    safeguard: "the same decision once, another one refused",
    file: "durable-objects/thread/control/decide-operation.ts",
    find: "return earlier.decisionDigest === decisionDigest",
    replace: "return earlier.decisionDigest !== null",
    suites: ["test/objects/decisions.test.ts", "test/objects/operations.test.ts"],
  },
  {
    safeguard: "one settlement of a submission",
    file: "durable-objects/thread/run/fold-run.ts",
    find: "if (state.settlement !== null) throw new LogCorrupt(`${record.type} after the settlement`);",
    replace: "",
    suites: ["test/core/run/fold-run.test.ts"],
  },
  {
    safeguard: "the due time of accepted work",
    file: "durable-objects/thread/admission/submit.ts",
    find: 'core.enrolNative("submitted");',
    replace: "void core;",
    suites: ["test/objects/alarm.test.ts"],
  },
  {
    safeguard: "the alarm armed with every due time",
    file: "durable-objects/scheduler/due-queue.ts",
    find: "    this.#slot.arm(this.#store.earliest());",
    replace: "    void this.#slot;",
    suites: ["test/objects/alarm.test.ts"],
  },
  {
    safeguard: "the alarm armed again when an object wakes",
    file: "durable-objects/scheduler/due-queue.ts",
    find: "if (earliest !== null) this.#slot.arm(earliest);",
    replace: "void earliest;",
    suites: ["test/objects/alarm.test.ts"],
  },
  {
    safeguard: "the cap on attempts without a record",
    file: "durable-objects/thread/ledger/decide-claim.ts",
    find: "if (charge > facts.maxFruitlessAttempts) return",
    replace: "if (charge === Infinity) return",
    suites: ["test/core/ledger/ledger.test.ts", "test/objects/recovery.test.ts"],
  },
  {
    safeguard: "the log's chain of digests",
    file: "durable-objects/thread/journal/verify-chain.ts",
    find: "if (chainDigest(before.digest, row.json) !== row.digest) {",
    replace: "if (chainDigest(before.digest, row.json) === null) {",
    suites: ["test/core/ledger/verify-chain.test.ts", "test/objects/verification.test.ts"],
  },
  {
    safeguard: "an answer that an external call's handler lost is an unknown outcome",
    file: "durable-objects/tools/run-tool.ts",
    find: 'tool.effect === "external" && OutcomeUnknown.isInstance(raced.error)',
    replace: "raced.error === OutcomeUnknown",
    suites: ["test/core/platform/tool-output.test.ts"],
  },
  {
    safeguard: "a call of an MCP tool counts as sent once it leaves",
    file: "shared/mcp/call-requests.ts",
    find: "if (isCall) dispatched = true;",
    replace: "void isCall;",
    suites: ["test/core/mcp/server-away.test.ts"],
  },
  {
    safeguard: "a call that was lost inside a step is an unknown outcome",
    file: "durable-objects/thread/run/run-state.ts",
    find: "return !call.isResumable || call.steps.some((step) => step.output === undefined);",
    replace: "return !call.isResumable;",
    suites: ["test/objects/lost-calls.test.ts"],
  },
  {
    safeguard: "joined input settles where a response followed it, and nowhere else",
    file: "durable-objects/thread/run/run-state.ts",
    find: "return state.turns.length > joined.afterTurn;",
    replace: "return state.turns.length >= joined.afterTurn;",
    suites: ["test/objects/busy.test.ts"],
  },
  {
    safeguard: "what a lane was handed stays until a wave drained",
    file: "durable-objects/scheduler/lanes.ts",
    find: "if (isDrained) store.acknowledge(row.lane, through);",
    replace: "store.acknowledge(row.lane, through);",
    suites: ["test/objects/lanes.test.ts"],
  },
  {
    safeguard: "a tombstone refuses what comes late",
    file: "durable-objects/thread/deletion/delete-thread.ts",
    find: "if (tombstone === null || ANSWERED.has(operation)) return;",
    replace: "if (tombstone === null || operation !== undefined) return;",
    suites: ["test/objects/deletion.test.ts"],
  },
];
