// A run as the platform traces it: spans with their names, places and attributes, and nothing that anybody said.
import { env } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { agentSpan } from "../../durable-objects/tracing/spans.ts";
import type { PlannedTurn } from "../support/scripted-model.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";

afterEach(resetOptions);

const SpanSchema = z.object({
  id: z.string(),
  parent: z.string().optional(),
  name: z.string(),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  outcome: z.string().nullable(),
});
type Span = z.infer<typeof SpanSchema>;

const tail = z
  .custom<{ spans(threadId: string): Promise<unknown> }>()
  .parse(Reflect.get(env, "TRACES"));

/** The thread's spans, as soon as there are so many and all of them are over. They reach the tail after the fact. */
async function spansOf(thread: ThreadDriver, count: number): Promise<Span[]> {
  await thread.quiet();
  return vi.waitUntil(
    async () => {
      const spans = z.array(SpanSchema).parse(await tail.spans(thread.threadId));
      return spans.filter(({ outcome }) => outcome !== null).length >= count ? spans : undefined;
    },
    { timeout: 10_000, interval: 5 },
  );
}

/** Submits, lets the alarm join the pass, as it does a moment after every submission, and then lets the model answer. */
async function submitJoined(
  thread: ThreadDriver,
  [first, ...rest]: readonly PlannedTurn[],
  note = thread.threadId,
): Promise<string> {
  const gate = `${thread.threadId}-joined`;
  const { receipt } = await thread.submit([{ ...first, gate }, ...rest], { note });
  await thread.arrival(gate);
  await thread.joinByAlarm(gate);
  return receipt.submissionId;
}

const look: PlannedTurn = { calls: [{ tool: "look" }] };
const done: PlannedTurn = { text: "done" };

function names(spans: readonly Span[]): string[] {
  return spans.map(({ name }) => name);
}

describe("[TRC-01] a run is traced", () => {
  it("as its attempt, with its model calls and handlers inside", async () => {
    const thread = new ThreadDriver("traced");
    await submitJoined(thread, [look, done]);
    const spans = await spansOf(thread, 4);
    expect(names(spans)).toEqual([
      "invoke_agent plain",
      "chat scripted",
      "execute_tool look",
      "chat scripted",
    ]);
    const [attempt, ...inside] = spans;
    for (const span of inside) expect(span.parent).toBe(attempt?.id);
    expect(spans.map(({ outcome }) => outcome)).toEqual(Array(4).fill("ok"));
  });

  it("with agent, conversation, run, turn, model, usage and outcome", async () => {
    const thread = new ThreadDriver("traced");
    const submissionId = await submitJoined(thread, [
      { ...look, inputTokens: 100, cacheReadTokens: 40, outputTokens: 7 },
      done,
    ]);
    const [attempt, chat, tool] = await spansOf(thread, 4);
    const common = {
      "gen_ai.agent.id": "plain",
      "gen_ai.agent.name": "plain",
      "gen_ai.conversation.id": thread.threadId,
      "holdfast.submission.id": submissionId,
      "holdfast.run.id": submissionId.replace("sub-", "run-"),
      "holdfast.attempt": 1,
    };
    const model = { "gen_ai.provider.name": "test", "gen_ai.request.model": "scripted" };
    expect(attempt?.attributes).toEqual({
      ...common,
      ...model,
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.version": "1",
      "holdfast.attempt.end": "settled",
      "holdfast.outcome": "completed",
      "gen_ai.usage.input_tokens": 110,
      "gen_ai.usage.output_tokens": 12,
      "gen_ai.usage.cache_read.input_tokens": 40,
      "gen_ai.usage.cache_creation.input_tokens": 0,
      "holdfast.cost_microusd": 60 * 2 + 40 * 0.2 + 7 * 10 + 10 * 2 + 5 * 10,
    });
    expect(chat?.attributes).toEqual({
      ...common,
      ...model,
      "gen_ai.operation.name": "chat",
      "holdfast.turn": 1,
      "gen_ai.response.finish_reasons": "tool-calls",
      "gen_ai.usage.input_tokens": 100,
      "gen_ai.usage.output_tokens": 7,
      "gen_ai.usage.cache_read.input_tokens": 40,
      "gen_ai.usage.cache_creation.input_tokens": 0,
      "holdfast.cost_microusd": 60 * 2 + 40 * 0.2 + 7 * 10,
    });
    expect(tool?.attributes).toEqual({
      ...common,
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "look",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": "call-0-0",
      "holdfast.turn": 1,
      "holdfast.operation.id": expect.stringMatching(/\.t1\.c0$/),
      "holdfast.dispatch": 0,
      "holdfast.outcome": "success",
    });
  });

  it("with the kind of a failure, and never its words", async () => {
    const thread = new ThreadDriver("traced");
    const fail = { how: "http", status: 401 } as const;
    await submitJoined(thread, [
      { calls: [{ tool: "look", input: { behave: "throw" } }] },
      { fail },
    ]);
    const [attempt, , tool, chat] = await spansOf(thread, 4);
    expect(attempt?.attributes).toMatchObject({
      "holdfast.outcome": "failed",
      "error.type": "ModelFailed",
    });
    expect(tool?.attributes).toMatchObject({ "error.type": "failure" });
    expect(chat?.attributes).toMatchObject({
      "error.type": "http",
      "http.response.status_code": 401,
    });
  });

  it("attempt by attempt: those of one run share its id, and say why each ended", async () => {
    const thread = new ThreadDriver("traced");
    const gate = `${thread.threadId}-gate`;
    const submissionId = await submitJoined(thread, [
      { calls: [{ tool: "guarded" }] },
      { ...look, gate },
      done,
    ]);
    await thread.waitingFor(submissionId, "approval");
    const [operation] = await thread.operations();
    await thread.decide(operation?.operationId ?? "", "approve");
    await thread.arrival(gate);
    await thread.crash();
    await thread.resume(gate);
    await thread.settlement(submissionId);
    const spans = await spansOf(thread, 6);
    const attempts = spans.filter(({ name }) => name.startsWith("invoke_agent"));
    expect(new Set(spans.map(({ attributes }) => attributes["holdfast.run.id"])).size).toBe(1);
    expect(
      attempts.map(({ attributes }) => [
        attributes["holdfast.attempt"],
        attributes["holdfast.attempt.end"],
        attributes["holdfast.wait.reason"],
        attributes["holdfast.attempt.superseded"],
      ]),
    ).toEqual([
      [1, "waiting", "approval", undefined],
      // The second was lost with its object, and a span is told when it ends: the third names it.
      [3, "settled", undefined, 2],
    ]);
  });

  it("with the class of what broke an attempt, and of its cause, and not their messages", async () => {
    const thread = new ThreadDriver("traced");
    const cause = new RangeError("a private reason");
    let asked = 0;
    testOptions.authorize = () => {
      asked += 1;
      if (asked > 1) return true;
      throw new TypeError("the authorizer told a secret", { cause });
    };
    const submissionId = await submitJoined(thread, [{ calls: [{ tool: "act" }] }, done]);
    await thread.quiet();
    await thread.runAlarms(3, 60_000);
    await thread.settlement(submissionId);
    const [broken, , settled] = await spansOf(thread, 5);
    expect(broken?.attributes).toMatchObject({
      "holdfast.attempt": 1,
      "error.type": "TypeError",
      "error.cause.type": "RangeError",
    });
    expect(settled?.attributes).toMatchObject({ "holdfast.attempt": 2 });
    expect(JSON.stringify(await spansOf(thread, 5))).not.toMatch(/private|secret/);
  });

  it("with a lost ownership as what it is: expected, and no failure", async () => {
    const thread = new ThreadDriver("traced");
    let asked = 0;
    testOptions.authorize = async () => {
      asked += 1;
      // Another attempt takes over while this one asks.
      if (asked === 1) {
        await thread.inObject((storage) => {
          storage.sql.exec("UPDATE threads SET epoch = epoch + 1");
        });
      }
      return true;
    };
    const submissionId = await submitJoined(thread, [{ calls: [{ tool: "act" }] }, done]);
    await thread.quiet();
    await thread.runAlarms(3, 60_000);
    await thread.settlement(submissionId);
    const [superseded] = await spansOf(thread, 5);
    expect(superseded?.outcome).toBe("ok");
    expect(superseded?.attributes).toMatchObject({ "storage.outcome": "superseded" });
    expect(superseded?.attributes["error.type"]).toBeUndefined();
  });
});

describe("[TRC-01] a pass that no alarm has joined yet", () => {
  it("is reported by the event that started it, where that waits for the outcome", async () => {
    const thread = new ThreadDriver("traced");
    const input = { plan: [{ calls: [{ tool: "look" }] }, { text: "done" }] };
    await thread.submitRequest({ agent: "plain", input }, { timeoutMillis: 10_000 });
    expect(names(await spansOf(thread, 4))).toHaveLength(4);
  });
});

describe("[TRC-01] a span's name", () => {
  it("is the operation alone where what it is about is long", () => {
    const identity = {
      threadId: "t",
      submissionId: "s",
      runId: "r",
      agentId: "a".repeat(60),
      attempt: 1,
    };
    const { name } = agentSpan(identity, 1, { provider: "p", name: "m" });
    expect(name).toBe("invoke_agent");
    expect(agentSpan({ ...identity, agentId: "short" }, 1, { provider: "p", name: "m" }).name).toBe(
      "invoke_agent short",
    );
  });
});
