// Handlers return and throw anything at all; what is recorded is plain, bounded and never a signal of ours.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, type ToolContext, type ToolOptions } from "../../../shared/define/tool.ts";
import { OwnershipLikes } from "../support/hostile.ts";
import { encodeReturned, encodeThrown } from "../../../durable-objects/tools/tool-output.ts";
import { runTool, type ToolRun } from "../../../durable-objects/tools/run-tool.ts";
import { ToolOutputSchema } from "../../../shared/wire/messages.ts";
import { must } from "../../../shared/assert.ts";
import { OutcomeUnknown, ToolUnavailable } from "../../../shared/define/index.ts";

type AnyOptions = ToolOptions<z.ZodType, z.ZodType>;

function tool(changes: Partial<AnyOptions> = {}) {
  return defineTool<z.ZodType, z.ZodType>({
    name: "act",
    revision: 1,
    description: "Acts.",
    input: z.object({}),
    execute: () => null,
    ...changes,
  });
}

function returned(value: unknown, maxBytes = 1_000) {
  const answer = encodeReturned(tool(), value, maxBytes);
  expect(ToolOutputSchema.safeParse(answer.output).success).toBe(true);
  return answer;
}

class Money {
  readonly amount = 5;
  readonly #secret = 1;
  toJSON(): unknown {
    return { amount: this.amount, own: this.#secret };
  }
}

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

const NOT_JSON = { outcome: "failure", output: { type: "error-text" } };

describe("[TOOL-08] what a handler returns", () => {
  it.each<[string, unknown, unknown]>([
    ["text", "hello", { type: "text", value: "hello" }],
    ["nothing", undefined, { type: "json", value: null }],
    ["null", null, { type: "json", value: null }],
    ["a number", 4, { type: "json", value: 4 }],
    ["NaN", Number.NaN, { type: "json", value: null }],
    ["an object", { a: [1, undefined] }, { type: "json", value: { a: [1, null] } }],
    ["a date", new Date(0), { type: "json", value: "1970-01-01T00:00:00.000Z" }],
    ["a class instance", new Money(), { type: "json", value: { amount: 5, own: 1 } }],
    ["a map", new Map([[1, 2]]), { type: "json", value: {} }],
    ["a function", () => 1, { type: "json", value: null }],
    ["a symbol", Symbol("s"), { type: "json", value: null }],
  ])("as %s is a success", (_name, value, output) => {
    expect(returned(value)).toEqual({ outcome: "success", output });
  });

  it.each<[string, unknown]>([
    ["a cycle", cyclic],
    ["a bigint", { n: 1n }],
    [
      "a getter that throws",
      {
        get a(): unknown {
          throw new Error("hostile");
        },
      },
    ],
    [
      "a toJSON that throws",
      {
        toJSON(): unknown {
          throw new Error("hostile");
        },
      },
    ],
    [
      "a proxy that throws",
      new Proxy(
        {},
        {
          ownKeys() {
            throw new Error("hostile");
          },
        },
      ),
    ],
    ["a revoked proxy", revoked()],
  ])("as %s is a failed call, not a failed attempt", (_name, value) => {
    expect(returned(value)).toMatchObject(NOT_JSON);
  });

  it("that is too deep is a failed call, and one that is too long is cut", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 80; level += 1) deep = [deep];
    expect(returned(deep)).toMatchObject({
      outcome: "failure",
      output: { value: expect.stringContaining("too-deep") },
    });
    expect(returned({ text: "x".repeat(3_000) })).toMatchObject({
      outcome: "success",
      output: { type: "json", value: { truncatedToolResult: true } },
    });
  });

  it("is a plain copy", () => {
    const own = { list: [1] };
    const answer = returned(own);
    own.list.push(2);
    expect(answer.output).toEqual({ type: "json", value: { list: [1] } });
  });

  it("[TOOL-01] passes the tool's output schema, or is a failed call that names the place", () => {
    const typed = tool({ output: z.object({ n: z.int() }) });
    expect(encodeReturned(typed, { n: 1, extra: 2 }, 1_000)).toEqual({
      outcome: "success",
      output: { type: "json", value: { n: 1 } },
    });
    expect(encodeReturned(typed, { n: "secret" }, 1_000)).toMatchObject({
      outcome: "failure",
      output: { value: expect.stringMatching(/^(?!.*secret).*\/n/) },
    });
  });
});

describe("[TOOL-08] what a handler throws", () => {
  it.each<[string, unknown, string]>([
    ["an error", new Error("the service is down"), "the service is down"],
    ["a text", "no", "no"],
    ["an error without words", new Error(""), "The tool threw a value that is not an error."],
    ["undefined", undefined, "The tool threw a value that is not an error."],
    ["a look-alike", { message: "I am an error" }, "The tool threw a value that is not an error."],
    ["a symbol", Symbol("s"), "The tool threw a value that is not an error."],
    ["a revoked proxy", revoked(), "The tool threw a value that is not an error."],
    [
      "an error with a hostile message",
      Object.defineProperty(new Error("x"), "message", {
        get() {
          throw new Error("hostile");
        },
      }),
      "The tool threw a value that is not an error.",
    ],
    [
      "an error with a message that is no text",
      Object.defineProperty(new Error("x"), "message", { value: { secret: 1 } }),
      "The tool threw a value that is not an error.",
    ],
  ])("as %s is its failure", (_name, thrown, value) => {
    expect(encodeThrown(thrown, 1_000)).toEqual({
      outcome: "failure",
      output: { type: "error-text", value },
    });
  });

  it("is never taken for a signal of ours", () => {
    for (const lookAlike of OwnershipLikes) {
      expect(encodeThrown(lookAlike, 1_000)).toMatchObject({ outcome: "failure" });
    }
  });

  it("[CTX-18] is bounded, and never a stack", () => {
    const answer = encodeThrown(new Error("x".repeat(100_000)), 500);
    expect(answer.output).toMatchObject({
      type: "error-json",
      value: { truncatedToolResult: true },
    });
    expect(JSON.stringify(encodeThrown(new Error("short"), 500))).not.toContain("at ");
  });
});

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

async function run(
  changes: Partial<AnyOptions>,
  signal: AbortSignal = new AbortController().signal,
): Promise<ToolRun> {
  const made = tool(changes);
  const decoded = made.decode({});
  if (!decoded.ok) throw new Error("the arguments fit");
  const context: Omit<ToolContext, "signal"> = {
    principal: "ann",
    threadId: "t",
    runId: "r",
    turn: 1,
    metadata: null,
    toolCallId: "c",
    env: z.custom<ToolContext["env"]>().parse({}),
    services: {},
    idempotencyKey: "key",
    step: () => Promise.resolve(null),
    progress: () => undefined,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  };
  return runTool({ tool: made, decoded: decoded.value, context, signal, maxResultBytes: 1_000 });
}

describe("[TOOL-08] running a handler", () => {
  const hangs = () => Promise.withResolvers<never>().promise;

  it("settles with what it returned or threw", async () => {
    expect(await run({ execute: (_input, { idempotencyKey }) => idempotencyKey })).toEqual({
      kind: "settled",
      outcome: "success",
      output: { type: "text", value: "key" },
    });
    const failing = () => Promise.reject(new Error("down"));
    expect(await run({ execute: failing })).toMatchObject({
      kind: "settled",
      outcome: "failure",
      output: { value: "down" },
    });
  });

  it.each(["read", "idempotent"] as const)("past its timeout settles a %s call", async (effect) => {
    expect(await run({ effect, timeout: "20 milliseconds", execute: hangs })).toMatchObject({
      kind: "settled",
      outcome: "timeout",
    });
  });

  it("past its timeout leaves an external call unknown, and tells the handler", async () => {
    const given = Promise.withResolvers<AbortSignal>();
    const outcome = run({
      timeout: "20 milliseconds",
      execute: (_input, { signal }) => {
        given.resolve(signal);
        return hangs();
      },
    });
    expect(await outcome).toEqual({ kind: "unknown", reason: "timeout" });
    expect((await given.promise).aborted).toBe(true);
  });

  it("is stopped by the run's own signal, whatever the effect", async () => {
    for (const effect of ["read", "idempotent", "external"] as const) {
      const controller = new AbortController();
      const outcome = run({ effect, execute: hangs }, controller.signal);
      controller.abort("abort");
      expect(await outcome).toEqual({ kind: "stopped" });
    }
  });

  it("leaves an external call unknown whose handler says that its answer was lost, and fails the others", async () => {
    const execute = () => Promise.reject(new OutcomeUnknown("the connection broke"));
    expect(await run({ effect: "external", execute })).toEqual({
      kind: "unknown",
      reason: "answer-lost",
    });
    for (const effect of ["read", "idempotent"] as const) {
      expect(await run({ effect, execute })).toMatchObject({
        kind: "settled",
        outcome: "failure",
        output: { value: "the connection broke" },
      });
    }
  });

  it("[TOOL-11] is unavailable where the handler says that its tool is gone", async () => {
    const execute = () => Promise.reject(new ToolUnavailable("the shop has closed"));
    expect(await run({ effect: "external", execute })).toEqual({
      kind: "settled",
      outcome: "unavailable",
      output: { type: "error-text", value: "the shop has closed" },
    });
  });

  it.each<[string, unknown]>([
    ["a name", Object.assign(new Error("x"), { name: "OutcomeUnknown" })],
    ["a prototype", Object.create(OutcomeUnknown.prototype)],
    ["a prototype of the other", Object.create(ToolUnavailable.prototype)],
    ["a proxy", new Proxy(new OutcomeUnknown("x"), {})],
    ["a revoked proxy", revoked()],
  ])("knows what a handler says by the class alone, not by %s", async (_how, thrown) => {
    const outcome = await run({
      effect: "external",
      execute: () => {
        throw thrown;
      },
    });
    expect(outcome).toMatchObject({ kind: "settled", outcome: "failure" });
  });

  it("takes nothing that a handler throws for a timeout or a stop of ours", async () => {
    for (const lookAlike of OwnershipLikes) {
      const outcome = await run({ execute: () => Promise.reject(must(lookAlike, "a value")) });
      expect(outcome).toMatchObject({ kind: "settled", outcome: "failure" });
    }
  });
});
