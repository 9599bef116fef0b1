// What others' users reported about stopping, deciding and resuming, as kinds of fault: each control in each state, and two at once.
import { afterEach, describe, expect, it } from "vitest";
import { must } from "../../../shared/assert.ts";
import type { Outcome } from "../../../shared/wire/settlement.ts";
import { expectSound } from "../../support/expect-sound.ts";
import { resetOptions, testOptions } from "../../support/test-options.ts";
import { ThreadDriver } from "../../support/thread-driver.ts";
import { world } from "../../support/world.ts";
import {
  awaitingApproval,
  backingOff,
  executionsOf,
  exhausted,
  modelCallsOf,
  only,
  refusalOf,
  runIdOf,
  submit,
  unknownOutcome,
} from "./situations.ts";

afterEach(() => {
  world.disarm();
  resetOptions();
});

interface Stoppable {
  readonly thread: ThreadDriver;
  readonly submissionId: string;
  /** What the run waits at, if anything: opened after the abort, it must lead to nothing. */
  readonly gate?: string;
}

async function atGate(
  planOf: (gate: string) => Parameters<typeof submit>[1],
  arrived = "",
): Promise<Stoppable> {
  const thread = new ThreadDriver("report");
  const gate = `${thread.threadId}-gate`;
  const { receipt } = await submit(thread, planOf(gate));
  await thread.arrival(`${gate}${arrived}`);
  return { thread, submissionId: receipt.submissionId, gate: `${gate}${arrived}` };
}

const then = [{ calls: [{ tool: "act" }] }, { text: "never" }];

/** Each state that work can be in, and what an abort says that it did there. */
const STATES: readonly (readonly [
  string,
  effect: "dequeued" | "signalled",
  () => Promise<Stoppable>,
])[] = [
  [
    "queued behind another",
    "dequeued",
    async () => {
      const first = await atGate((gate) => [{ text: "first", gate }]);
      const { receipt } = await first.thread.submit(then, { note: "behind" });
      return { ...first, submissionId: receipt.submissionId };
    },
  ],
  ["in a model call", "signalled", () => atGate((gate) => [{ ...then[0], gate }, ...then])],
  [
    "in the middle of a model's stream",
    "signalled",
    () => atGate((gate) => [{ pieces: ["half", "way"], pieceGate: gate, ...then[0] }], "-1"),
  ],
  ...(["look", "bump", "act"] as const).flatMap((tool) =>
    (["gate", "deaf-gate"] as const).map(
      (behave) =>
        [
          `in a handler of ${tool} that ${behave === "gate" ? "hears" : "does not hear"} its signal`,
          "signalled",
          () => atGate((gate) => [{ calls: [{ tool, input: { behave, gate } }] }, ...then]),
        ] as const,
    ),
  ),
  ["waiting for an approval", "signalled", () => awaitingApproval(then)],
  ["backing off from its model", "signalled", () => backingOff(9)],
  ["parked with an unknown outcome", "signalled", unknownOutcome],
  ["parked with no attempt left", "signalled", exhausted],
];

describe("an abort", () => {
  it.each(STATES)(
    "field report 24: stops what is %s, says its real effect (%s), and nothing is dispatched after it",
    async (_state, effect, bring) => {
      const { thread, submissionId, gate } = await bring();
      const executed = executionsOf(submissionId);
      const result = await thread.abort(submissionId);
      expect(result.effect).toBe(effect);
      if (gate !== undefined) await thread.openGate(gate);
      const called = modelCallsOf(thread);
      const settlement = await thread.settlement(submissionId);
      expect(settlement.outcome).toBe("aborted");
      await thread.toQuiescence();
      await thread.redeliverAlarm();
      expect(modelCallsOf(thread)).toBe(called);
      expect(executionsOf(submissionId)).toEqual(executed);
      expect(await thread.abort(submissionId)).toEqual({ effect: "already-settled", settlement });
      const own = (await thread.records()).filter(
        (record) => "submissionId" in record && record.submissionId === submissionId,
      );
      // Stored first: the abort is in the log before the outcome that it led to.
      const types = own.map(({ type }) => type);
      expect(types.at(-1)).toBe("SubmissionSettled");
      expect(types.filter((type) => type === "AbortRequested")).toHaveLength(1);
      await expectSound(thread);
    },
  );

  it("field report: of what nobody submitted is refused as that, and is no silent success", async () => {
    const { thread, submissionId } = await awaitingApproval();
    const before = await thread.dump();
    expect(await refusalOf(thread.abort(`${submissionId}x`))).toBe("SubmissionNotFound");
    expect(await thread.dump()).toEqual(before);
    await thread.abort(submissionId);
  });

  it.each(["abort:after", "settle:inside", "settle:after"] as const)(
    "field report 24: holds over a death at %s: once it is stored, nobody has to send it again",
    async (point) => {
      const { thread, submissionId, gate } = await atGate((gate) => [
        { ...then[0], gate },
        ...then,
      ]);
      world.armCrashes({ point, mode: "sync-abort" });
      await thread.abort(submissionId).catch(() => undefined);
      await expect.poll(() => world.disarm()).toBe(0);
      const called = modelCallsOf(thread);
      // Who waited there is gone with the object; nobody comes there again.
      world.forgetGates();
      await thread.toQuiescence();
      expect(world.hasArrivedAt(must(gate, "it waited at one"))).toBe(false);
      expect((await thread.submission(submissionId)).settlement?.outcome).toBe("aborted");
      expect(modelCallsOf(thread)).toBe(called);
      expect(executionsOf(submissionId).size).toBe(0);
      await expectSound(thread);
    },
  );

  it("field report: while its run backs off takes effect at once, and not at the end of the wait", async () => {
    const { thread, submissionId } = await backingOff(1);
    const now = world.now;
    const { settlement } = await thread.abort(submissionId);
    expect(settlement).toMatchObject({ outcome: "aborted" });
    expect(world.now).toBe(now);
    expect(await thread.alarmAt()).toBe(null);
    expect(modelCallsOf(thread)).toBe(1);
    await expectSound(thread);
  });
});

describe("a call that is about to touch the outside", () => {
  it.each(["act", "bump"] as const)(
    "field report: of %s is in the log before its handler runs, and is no clean success after a death in its middle",
    async (tool) => {
      const { thread, submissionId, gate } = await atGate((gate) => [
        { calls: [{ tool: "look" }] },
        { calls: [{ tool: "look" }] },
        { calls: [{ tool, input: { behave: "deaf-gate", gate } }] },
        { text: "ok" },
      ]);
      const operationId = `${runIdOf(submissionId)}.t3.c0`;
      const [intent] = only(await thread.records(), "ToolsPrepared");
      expect(intent?.payload.calls).toMatchObject([{ operationId, dispatch: 1 }]);
      expect(world.executions.get(operationId)).toBe(1);
      await thread.crash();
      await thread.openGate(must(gate, "it waits at one"));
      await thread.toQuiescence();
      const view = await thread.submission(submissionId);
      if (tool === "bump") {
        // It may be repeated, under the same key.
        expect(world.executions.get(operationId)).toBe(2);
        expect(view.settlement?.outcome).toBe("completed");
      } else {
        expect(world.executions.get(operationId)).toBe(1);
        expect(view).toMatchObject({ state: "waiting", wait: { operationIds: [operationId] } });
        expect(only(await thread.records(), "ToolSettled").map(({ turn }) => turn)).toEqual([1, 2]);
        // Only a person's word lets it run again.
        await thread.decide(operationId, "safe-to-retry");
        await thread.settlement(submissionId);
        expect(world.executions.get(operationId)).toBe(2);
        expect(only(await thread.records(), "OperationDecided")).toHaveLength(1);
      }
      await expectSound(thread);
    },
  );
});

describe("two decisions of one operation", () => {
  const kinds = [
    ["approval", awaitingApproval, ["approve", "deny"]],
    ["unknown outcome", unknownOutcome, ["never-started", "failed"]],
  ] as const;

  it.each(kinds)(
    "field report: of an %s do not both win, however many come at once",
    async (_kind, bring, [first, second]) => {
      const { thread, submissionId, operation } = await bring();
      const gate = `${thread.threadId}-flight`;
      await thread.openGate(gate);
      const before = executionsOf(submissionId).get(operation.operationId) ?? 0;
      const outcomes = await Promise.all(
        [first, second, first, second, first, second].map((decision) =>
          thread.decide(operation.operationId, decision).catch((error: unknown) => {
            expect(error).toMatchObject({ code: "DecisionConflict" });
            return "refused";
          }),
        ),
      );
      const times = (what: string): number => outcomes.filter((each) => each === what).length;
      expect([times("applied"), times("replayed"), times("refused")]).toEqual([1, 2, 3]);
      await thread.settlement(submissionId);
      expect(only(await thread.records(), "OperationDecided")).toHaveLength(1);
      const after = executionsOf(submissionId).get(operation.operationId) ?? 0;
      expect(after - before).toBe(outcomes[0] === "refused" ? 0 : 1);
      await expectSound(thread);
    },
  );

  it.each(kinds)(
    "field report: of an %s: a resume and an abort at once end in one outcome",
    async (_kind, bring, [first]) => {
      const { thread, submissionId, operation } = await bring();
      await thread.openGate(`${thread.threadId}-flight`);
      const [decided] = await Promise.allSettled([
        thread.decide(operation.operationId, first),
        thread.abort(submissionId),
        thread.decide(operation.operationId, first),
      ]);
      expect(decided.status).toBe("fulfilled");
      await thread.toQuiescence();
      const outcomes: readonly Outcome[] = ["completed", "aborted"];
      const settled = only(await thread.records(), "SubmissionSettled");
      expect(settled).toHaveLength(1);
      expect(outcomes).toContain(settled[0]?.payload.outcome);
      await expectSound(thread);
    },
  );
});

describe("an approval that comes before anybody waits for it", () => {
  it.each([
    "before the question",
    "after the question",
    "after the question and an eviction",
  ] as const)("field report: counts: %s it leads to the same end", async (when) => {
    const thread = new ThreadDriver("report");
    const gate = `${thread.threadId}-authorizing`;
    testOptions.authorize = async () => {
      await world.passGate(gate);
      return true;
    };
    const { receipt } = await submit(thread, [{ calls: [{ tool: "guarded" }] }, { text: "ok" }]);
    const { submissionId } = receipt;
    const operationId = `${runIdOf(submissionId)}.t1.c0`;
    await thread.recordThat((record) => record.type === "ModelResponded");
    await thread.arrival(gate);
    if (when === "before the question") {
      expect(await thread.decide(operationId, "approve")).toBe("applied");
      await thread.openGate(gate);
    } else {
      await thread.openGate(gate);
      await thread.waitingFor(submissionId, "approval");
      if (when.endsWith("eviction")) await thread.evict();
      expect(await thread.decide(operationId, "approve")).toBe("applied");
    }
    expect(await thread.settlement(submissionId)).toMatchObject({ outcome: "completed" });
    expect(world.executions.get(operationId)).toBe(1);
    await expectSound(thread);
  });
});
