// What a submission does where the thread is busy: joins the run, is refused, or interrupts it.
import { afterEach, describe, expect, it } from "vitest";
import type { SubmitResult } from "../../shared/wire/submission.ts";
import { expectSound } from "../support/expect-sound.ts";
import { seenPrompts, type PlannedTurn } from "../support/scripted-model.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";

afterEach(resetOptions);

type Call = NonNullable<PlannedTurn["calls"]>[number];

const at = (gate: string): Call => ({ tool: "act", input: { behave: "gate", gate } });
const idOf = ({ receipt }: SubmitResult): string => receipt.submissionId;
const runOf = (submissionId: string): string => submissionId.replace("sub-", "run-");

/** What the model was asked last, user by user. */
function askedLast(): string[] {
  return (seenPrompts.at(-1)?.prompt ?? []).flatMap(({ role, content }) =>
    role === "user" && typeof content !== "string"
      ? content.map((part) => (part.type === "text" ? part.text : ""))
      : [],
  );
}

/** A host that waits in a tool call, and one submission more. */
async function withHost(
  onBusy: "join" | "reject" | "interrupt",
  options: { hostAgent?: string; agent?: string; plan?: PlannedTurn[] } = {},
) {
  const thread = new ThreadDriver("busy");
  const gate = `${thread.threadId}-host`;
  const host = await thread.submit([{ calls: [at(gate)] }, { text: "host" }], {
    agent: options.hostAgent ?? "plain",
  });
  await thread.arrival(gate);
  const submit = (): Promise<SubmitResult> =>
    thread.submit(options.plan ?? [{ text: "both" }], { agent: options.agent ?? "plain", onBusy });
  return { thread, gate, host: idOf(host), submit };
}

describe("join", () => {
  it("[RUN-09] goes into the run at its next turn boundary, and settles with it", async () => {
    const { thread, gate, host, submit } = await withHost("join");
    const joiner = idOf(await submit());
    expect(await thread.submission(joiner)).toMatchObject({ state: "queued" });
    const before = await thread.explain();
    expect(before.submissions[1]?.why).toMatch(/joins the active run/);
    await thread.openGate(gate);
    const settlement = await thread.settlement(joiner);
    const hosted = { submissionId: host, runId: runOf(host) };
    expect(settlement).toMatchObject({ outcome: "completed", finishReason: "stop", host: hosted });
    expect(settlement.output).toBeUndefined();
    expect(settlement.usage).toMatchObject({ turns: 0, inputTokens: 0 });
    expect(await thread.settlement(host)).toMatchObject({ outcome: "completed", output: "both" });
    // The call of the batch has its result before the input, and both stand before the answer.
    const records = await thread.records();
    expect(records.slice(3).map(({ type }) => type)).toEqual([
      "ModelResponded",
      "ToolsPrepared",
      "ToolSettled",
      "InputRecorded",
      "ModelResponded",
      "SubmissionSettled",
      "SubmissionSettled",
    ]);
    expect(records[6]).toMatchObject({
      submissionId: joiner,
      runId: runOf(host),
      payload: { kind: "joined" },
    });
    expect(askedLast()).toHaveLength(2);
    await expectSound(thread);
  });

  it("[RUN-09] is shown while it is part of another run, and an abort of it aborts nothing", async () => {
    const { thread, gate, host, submit } = await withHost("join", {
      plan: [{ text: "both", gate: "busy-answer" }],
    });
    const joiner = idOf(await submit());
    await thread.openGate(gate);
    await thread.arrival("busy-answer");
    const hosted = { submissionId: host, runId: runOf(host) };
    expect(await thread.submission(joiner)).toMatchObject({ state: "joined", host: hosted });
    expect(await thread.abort(joiner)).toEqual({ effect: "joined", host: hosted });
    const explained = await thread.explain();
    expect(explained.submissions[1]).toMatchObject({ state: "joined" });
    expect(explained.submissions[1]?.why).toContain(host);
    await thread.openGate("busy-answer");
    expect((await thread.settlement(joiner)).outcome).toBe("completed");
    await expectSound(thread);
  });

  it("[RUN-09] gets a run of its own where no response of the host followed, and is not appended again", async () => {
    const { thread, gate, host, submit } = await withHost("join", {
      plan: [{ text: "own", gate: "busy-never" }],
    });
    const joiner = idOf(await submit());
    await thread.openGate(gate);
    await thread.arrival("busy-never");
    await thread.abort(host);
    await thread.openGate("busy-never");
    expect((await thread.settlement(host)).outcome).toBe("aborted");
    const settlement = await thread.settlement(joiner);
    expect(settlement).toMatchObject({ outcome: "completed", output: "own" });
    expect(settlement.host).toBeUndefined();
    const inputs = (await thread.records()).filter(
      (record) => record.type === "InputRecorded" && record.submissionId === joiner,
    );
    expect(inputs).toMatchObject([{ runId: runOf(host), payload: { kind: "joined" } }]);
    const start = (await thread.records()).find(
      (record) => record.type === "RunStarted" && record.submissionId === joiner,
    );
    expect(start).toMatchObject({ payload: { inputAt: inputs[0]?.sequence } });
    // The model of the host was asked with it, and the model of its own run once, not twice.
    expect(askedLast().filter((text) => text.includes("busy-never"))).toHaveLength(1);
    await expectSound(thread);
  });

  it("[RUN-09] goes on from the record of its input after an eviction", async () => {
    const { thread, gate, host, submit } = await withHost("join", {
      plan: [{ calls: [{ tool: "guarded" }] }, { text: "own" }],
    });
    const joiner = idOf(await submit());
    await thread.openGate(gate);
    await thread.waitingFor(host, "approval");
    // The response that asked for approval was the host's answer to it: it settles with the host.
    await thread.evict();
    const [operation] = await thread.operations();
    await thread.decide(operation?.operationId ?? "", "approve");
    expect(await thread.settlement(joiner)).toMatchObject({ outcome: "completed" });
    await expectSound(thread);
  });

  it.each([
    ["inside", "queued"],
    ["after", "joined"],
  ] as const)("[RUN-09] %s the commit of the input a crash leaves it %s", async (place, _state) => {
    const { thread, gate, host, submit } = await withHost("join");
    const joiner = idOf(await submit());
    const { world } = await import("../support/world.ts");
    world.armCrashes({ point: `join:${place}`, mode: "sync-abort" });
    await thread.openGate(gate).catch(() => undefined);
    await thread.toQuiescence();
    expect(world.disarm()).toBe(0);
    expect(await thread.settlement(host)).toMatchObject({ outcome: "completed", output: "both" });
    expect(await thread.settlement(joiner)).toMatchObject({ host: { submissionId: host } });
    await expectSound(thread);
  });

  it("[RUN-09] enqueues where the active run is of another agent, or nothing is active", async () => {
    const { thread, gate, submit } = await withHost("join", {
      agent: "structured",
      plan: [{ text: '{"answer":"1"}' }],
    });
    const other = idOf(await submit());
    await thread.openGate(gate);
    expect(await thread.settlement(other)).toMatchObject({ output: { answer: "1" } });
    const alone = await thread.submit([{ text: "alone" }], { onBusy: "join" });
    expect(await thread.settlement(idOf(alone))).toMatchObject({ output: "alone" });
    await expectSound(thread);
  });

  it("[RUN-09] gets a run of its own where the agent's own code refuses it", async () => {
    const thread = new ThreadDriver("busy");
    const gate = `${thread.threadId}-host`;
    const broken = { agent: "broken" };
    const host = await thread.submit([{ calls: [at(gate)] }, { text: "host" }], broken);
    await thread.arrival(gate);
    const refused = await thread.submit([], { ...broken, note: "throw", onBusy: "join" });
    const taken = await thread.submit([{ text: "both" }], { ...broken, onBusy: "join" });
    await thread.openGate(gate);
    expect(await thread.settlement(idOf(host))).toMatchObject({ output: "both" });
    expect(await thread.settlement(idOf(taken))).toMatchObject({ host: {} });
    expect(await thread.settlement(idOf(refused))).toMatchObject({
      failure: { tag: "PreparationFailed" },
    });
    await expectSound(thread);
  });

  it("[RUN-09] enqueues for another principal, for whom the run's tools do not act", async () => {
    const { thread, gate, host } = await withHost("join");
    const options = { onBusy: "join", principal: "somebody-else" } as const;
    const theirs = idOf(await thread.submit([{ text: "theirs" }], options));
    await thread.openGate(gate);
    expect(await thread.settlement(host)).toMatchObject({ output: "host" });
    expect(await thread.settlement(theirs)).toMatchObject({ output: "theirs" });
    await expectSound(thread);
  });

  it("[RUN-09, RUN-17] waits behind no run that is parked, and joins none", async () => {
    const thread = new ThreadDriver("busy");
    const parked = await thread.submit([
      { calls: [{ tool: "hasty_act", input: { behave: "honour-signal" } }] },
      { text: "late" },
    ]);
    await thread.waitingFor(idOf(parked), "unknown-outcome");
    const free = await thread.submit([{ text: "free" }], { onBusy: "join" });
    expect(await thread.settlement(idOf(free))).toMatchObject({ output: "free" });
    const unbothered = await thread.submit([{ text: "too" }], { onBusy: "reject" });
    expect(await thread.settlement(idOf(unbothered))).toMatchObject({ output: "too" });
    await expectSound(thread);
  });

  it("[RUN-06, RUN-09] input that joined a run blocks later input while that run is parked", async () => {
    const { thread, gate, host, submit } = await withHost("join", {
      plan: [
        { calls: [{ tool: "hasty_act", input: { behave: "honour-signal" } }] },
        { text: "both" },
      ],
    });
    const joiner = idOf(await submit());
    const later = idOf(await thread.submit([{ text: "later" }]));
    await thread.openGate(gate);
    await thread.waitingFor(host, "unknown-outcome");
    await thread.quiet();
    expect(await thread.submission(joiner)).toMatchObject({ state: "joined" });
    expect(await thread.submission(later)).toMatchObject({ state: "queued" });
    // What is in the way is the host, and nothing else has a run.
    expect(await thread.view()).toMatchObject({ activeSubmission: host });
    expect((await thread.explain()).submissions[0]?.why).toContain("waits too");
    await expect(thread.submit([], { onBusy: "reject" })).rejects.toMatchObject({
      code: "ThreadBusy",
      fields: { submissionId: host, runId: runOf(host) },
    });
    const [operation] = await thread.operations();
    await thread.decide(operation?.operationId ?? "", "failed");
    expect(await thread.settlement(joiner)).toMatchObject({ host: { submissionId: host } });
    expect(await thread.settlement(later)).toMatchObject({ output: "later" });
    await expectSound(thread);
  });
});

describe("restartOnJoinedInput", () => {
  it("[RUN-09] takes another turn for input that joined while the run answered", async () => {
    const thread = new ThreadDriver("busy");
    const gate = `${thread.threadId}-answer`;
    const host = idOf(await thread.submit([{ text: "first", gate }], { agent: "restarting" }));
    await thread.arrival(gate);
    const options = { agent: "restarting", onBusy: "join" } as const;
    const joiner = idOf(await thread.submit([{ text: "second" }], options));
    await thread.openGate(gate);
    expect(await thread.settlement(host)).toMatchObject({ output: "second", usage: { turns: 2 } });
    expect(await thread.settlement(joiner)).toMatchObject({ host: { submissionId: host } });
    await expectSound(thread);
  });

  it("[RUN-09] without it the input gets a run of its own", async () => {
    const thread = new ThreadDriver("busy");
    const gate = `${thread.threadId}-answer`;
    const host = idOf(await thread.submit([{ text: "first", gate }]));
    await thread.arrival(gate);
    const joiner = idOf(await thread.submit([{ text: "second" }], { onBusy: "join" }));
    await thread.openGate(gate);
    expect(await thread.settlement(host)).toMatchObject({ output: "first", usage: { turns: 1 } });
    expect(await thread.settlement(joiner)).toMatchObject({ output: "second" });
    await expectSound(thread);
  });

  it("[RUN-09] stays inside maxTurns", async () => {
    const thread = new ThreadDriver("busy");
    const gate = `${thread.threadId}-answer`;
    const plan = [{ calls: [{ tool: "look" }] }, { calls: [{ tool: "look" }] }];
    const host = idOf(
      await thread.submit([...plan, { text: "last", gate }], { agent: "restarting" }),
    );
    await thread.arrival(gate);
    const options = { agent: "restarting", onBusy: "join" } as const;
    const joiner = idOf(await thread.submit([{ text: "own" }], options));
    await thread.openGate(gate);
    expect(await thread.settlement(host)).toMatchObject({ output: "last", usage: { turns: 3 } });
    expect(await thread.settlement(joiner)).toMatchObject({ output: "own" });
    await expectSound(thread);
  });

  it("[RUN-09] ends with the answer that it has where the input leaves no room for another turn", async () => {
    testOptions.agents = (all) =>
      all.map((agent) =>
        agent.id === "resubmitting"
          ? { ...agent, policy: { ...agent.policy, contextTokenLimit: 5_000 } }
          : agent,
      );
    const thread = new ThreadDriver("busy");
    const gate = `${thread.threadId}-model`;
    const options = { agent: "resubmitting", onBusy: "join" } as const;
    const result: PlannedTurn = { calls: [{ tool: "submit_result", input: { answer: "1" } }] };
    const host = idOf(await thread.submit([{ ...result, gate }], options));
    await thread.arrival(gate);
    const joiner = idOf(await thread.submit([], { ...options, note: "x".repeat(100_000) }));
    const settlement = await thread.settlementAfter(gate, host);
    expect(settlement).toMatchObject({ outcome: "completed", output: { answer: "1" } });
    // Its own run has no room for it either.
    expect((await thread.settlement(joiner)).failure?.tag).toBe("ContextBudgetError");
    await expectSound(thread);
  });

  it("[RUN-09] gives a result that came too early back to its tool", async () => {
    const thread = new ThreadDriver("busy");
    const gate = `${thread.threadId}-answer`;
    const result = (answer: string) => ({ calls: [{ tool: "submit_result", input: { answer } }] });
    const options = { agent: "resubmitting", onBusy: "join" } as const;
    const host = idOf(await thread.submit([{ ...result("1"), gate }], { agent: "resubmitting" }));
    await thread.arrival(gate);
    const joiner = idOf(await thread.submit([result("2")], options));
    await thread.openGate(gate);
    expect(await thread.settlement(host)).toMatchObject({ output: { answer: "2" } });
    expect(await thread.settlement(joiner)).toMatchObject({ host: { submissionId: host } });
    await expectSound(thread);
  });
});

describe("reject", () => {
  it("[RUN-09] refuses with ThreadBusy that names the run, and admits nothing", async () => {
    const { thread, gate, host, submit } = await withHost("reject");
    await expect(submit()).rejects.toMatchObject({
      code: "ThreadBusy",
      fields: { submissionId: host, runId: runOf(host) },
    });
    expect((await thread.list()).submissions).toHaveLength(1);
    await thread.openGate(gate);
    await thread.settlement(host);
    await thread.quiet();
    const free = await submit();
    expect((await thread.settlement(idOf(free))).outcome).toBe("completed");
    await expectSound(thread);
  });
});

describe("interrupt", () => {
  it("[RUN-09] aborts the active run durably with the admission, then runs", async () => {
    const { thread, host, submit } = await withHost("interrupt");
    const next = idOf(await submit());
    expect(await thread.settlement(host)).toMatchObject({ outcome: "aborted" });
    expect(await thread.settlement(next)).toMatchObject({ output: "both" });
    const records = await thread.records();
    const abort = records.find(({ type }) => type === "AbortRequested");
    expect(abort).toMatchObject({ submissionId: host, payload: { author: "tester" } });
    await expectSound(thread);
  });

  it.each(["submit:inside", "abort:inside"] as const)(
    "[RUN-09] a crash at %s leaves neither the abort nor the admission",
    async (point) => {
      const { world } = await import("../support/world.ts");
      const { thread, gate, host, submit } = await withHost("interrupt");
      world.armCrashes({ point, mode: "throw" });
      await expect(submit()).rejects.toThrow();
      expect((await thread.list()).submissions).toHaveLength(1);
      await thread.openGate(gate);
      expect(await thread.settlement(host)).toMatchObject({ output: "host" });
      await expectSound(thread);
    },
  );

  it("[RUN-09] leaves queued work its place", async () => {
    const { thread, host, submit } = await withHost("interrupt");
    const queued = idOf(await thread.submit([{ text: "queued" }]));
    const next = idOf(await submit());
    expect((await thread.settlement(host)).outcome).toBe("aborted");
    const first = await thread.settlement(queued);
    const second = await thread.settlement(next);
    expect(first).toMatchObject({ outcome: "completed", output: "queued" });
    expect(second.sequence).toBeGreaterThan(first.sequence);
    await expectSound(thread);
  });
});

describe("metadata", () => {
  it("[THR-11] is decoded, stored, and handed to tools and their authorization", async () => {
    const { testOptions } = await import("../support/test-options.ts");
    const asked: unknown[] = [];
    testOptions.authorize = ({ metadata }) => asked.push(metadata) > 0;
    const thread = new ThreadDriver("busy");
    const tell = { calls: [{ tool: "look", input: { behave: "tell-metadata" } }] };
    const routed = { agent: "routed", metadata: { note: "n" } };
    const { receipt } = await thread.submit([tell, { text: "ok" }], routed);
    await thread.settlement(receipt.submissionId);
    const told = (await thread.records()).find(({ type }) => type === "ToolSettled");
    const stored = { note: "n", region: "eu" };
    expect(told).toMatchObject({
      payload: { output: { value: { value: JSON.stringify(stored) } } },
    });
    expect(asked).toEqual([stored]);
    await expectSound(thread);
  });

  it("[THR-11, THR-03] is part of the compared command, and checked before anything is written", async () => {
    const thread = new ThreadDriver("busy");
    const submit = (metadata: unknown, agent = "routed", key = "one") =>
      thread.submitRequest(
        {
          agent,
          input: { plan: [{ text: "ok" }] },
          metadata: JSON.parse(JSON.stringify(metadata)),
        },
        { key },
      );
    await expect(submit({ region: 7 })).rejects.toMatchObject({
      code: "InvalidInput",
      errors: [{ pointer: "/metadata/region" }],
    });
    await expect(submit({ note: "x".repeat(20_000) })).rejects.toMatchObject({
      code: "InvalidInput",
      errors: [{ pointer: "/metadata", message: "at most 16384 bytes" }],
    });
    await expect(submit({}, "plain")).rejects.toMatchObject({ code: "InvalidInput" });
    const first = await submit({ region: "us" });
    expect(await submit({ region: "us" })).toEqual({ receipt: first.receipt, replayed: true });
    await expect(submit({ region: "eu" })).rejects.toMatchObject({ code: "IdempotencyConflict" });
    await thread.settlement(idOf(first));
    await expectSound(thread);
  });
});
