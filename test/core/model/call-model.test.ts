// One model call against hand-made models: how it ends, whatever the provider does.
import {
  APICallError,
  type JSONValue,
  type LanguageModelV4,
  type LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AssistantPartSchema } from "../../../shared/wire/messages.ts";
import { MAX_CALLS_PER_TURN } from "../../../shared/limits.ts";
import { callModel, type ModelCallOutcome } from "../../../durable-objects/model/call-model.ts";
import {
  classifyModelError,
  ModelNotConfigured,
} from "../../../durable-objects/model/classify-failure.ts";
import { renderModelFault } from "../../../durable-objects/model/render-fault.ts";
import { finish, model, streaming, streamOf, text, toolCall, usage } from "../support/models.ts";

function ask(
  asked: LanguageModelV4,
  signal: AbortSignal = new AbortController().signal,
  idleTimeoutMillis = 5_000,
): Promise<ModelCallOutcome> {
  return callModel({ model: asked, options: { prompt: [] }, signal, idleTimeoutMillis });
}

function httpError(statusCode: number | undefined): APICallError {
  return new APICallError({
    message: "the provider's words",
    url: "https://provider.example/v1",
    requestBodyValues: {},
    responseBody: "secret body",
    // Without a status there was no answer: the clients say that it may be tried again.
    ...(statusCode === undefined ? { isRetryable: true } : { statusCode }),
  });
}

describe("a model call", () => {
  it("responds with what the stream held", async () => {
    expect(await ask(streaming([...text("hello"), finish()]))).toMatchObject({
      kind: "responded",
      response: { content: [{ text: "hello" }], finishReason: "stop" },
    });
  });

  it("[RUN-04] hands on a response that was cut by length", async () => {
    expect(await ask(streaming([toolCall("c"), finish("length")]))).toMatchObject({
      kind: "responded",
      response: { finishReason: "length" },
    });
  });

  it.each([
    [408, true],
    [429, true],
    [500, true],
    [503, true],
    [599, true],
    [400, false],
    [401, false],
    [404, false],
    [409, false],
  ])(
    "[RUN-15] HTTP %i is transient: %s, before the stream or inside it",
    async (status, transient) => {
      const fault = { reason: "http", isTransient: transient, httpStatus: status };
      const refusing = model(() => Promise.reject(httpError(status)));
      expect(await ask(refusing)).toMatchObject({ kind: "failed", fault });
      const inside = streaming([...text("x"), { type: "error", error: httpError(status) }]);
      expect(await ask(inside)).toMatchObject({ kind: "failed", fault });
    },
  );

  it("[RUN-15] a lost connection is transient", async () => {
    const connection = { kind: "failed", fault: { reason: "connection", isTransient: true } };
    const errors = [
      httpError(undefined),
      new TypeError("fetch failed"),
      new Error("Network connection lost."),
      new Error("read ECONNRESET"),
    ];
    for (const error of errors) {
      expect(await ask(model(() => Promise.reject(error)))).toMatchObject(connection);
      expect(await ask(streaming(text("x"), { breaksWith: error }))).toMatchObject(connection);
    }
  });

  it("an error of the provider's own code is not", async () => {
    const failed = { kind: "failed", fault: { reason: "error", isTransient: false } };
    const throwing = model(() => {
      throw new Error("a bug");
    });
    expect(await ask(throwing)).toMatchObject(failed);
    const said = { kind: "failed", fault: { reason: "provider", isTransient: true } };
    expect(await ask(streaming([{ type: "error", error: "words" }]))).toMatchObject(said);
    const lookalike = { name: "AI_APICallError", statusCode: 500 };
    expect(await ask(model(() => Promise.reject(lookalike)))).toMatchObject(failed);
  });

  it("[TOOL-07] keeps what a provider's tool returned, whatever it is, and refuses a part that no record can hold", async () => {
    const own = { toolCallId: "s", toolName: "search" };
    const call = { type: "tool-call", ...own, input: "{}", providerExecuted: true } as const;
    let deep: JSONValue = "end";
    for (let level = 0; level < 80; level += 1) deep = [deep];
    for (const result of [Array.from({ length: 5_000 }, (_, n) => n), deep]) {
      const outcome = await ask(
        streaming([call, { type: "tool-result", ...own, result }, finish()]),
      );
      if (outcome.kind !== "responded") throw new Error(JSON.stringify(outcome));
      const [, kept] = z.array(AssistantPartSchema).parse(outcome.response.content);
      expect(kept).toMatchObject({ output: { type: "text", value: JSON.stringify(result) } });
    }
    const source = { type: "source", sourceType: "url", id: "1" } as const;
    const many = Array.from({ length: 3_000 }, () => ({
      ...source,
      url: `https://a.example/${"x".repeat(1_000)}`,
    }));
    const tooLarge = { kind: "failed", fault: { reason: "too-large", isTransient: false } };
    expect(await ask(streaming([...text("x"), ...many, finish()]))).toMatchObject(tooLarge);
    const wrong = z.custom<LanguageModelV4StreamPart>().parse({ type: "custom", kind: "thing" });
    expect(await ask(streaming([wrong, finish()]))).toMatchObject({
      kind: "failed",
      fault: { reason: "malformed", isTransient: false },
    });
  });

  it("[TOOL-07] takes a model that paused in its own tools for one that goes on", async () => {
    const paused = {
      ...finish(),
      finishReason: { unified: "stop", raw: "pause_turn" },
    } as const;
    expect(await ask(streaming([...text("Let me search."), paused]))).toMatchObject({
      kind: "responded",
      response: { finishReason: "paused" },
    });
  });

  it("[RUN-15] a model that sends nothing has stalled, whether its stream opened or not", async () => {
    const stalled = { kind: "failed", fault: { reason: "stalled", isTransient: true } };
    const { signal } = new AbortController();
    expect(await ask(streaming(text("x"), "stalls"), signal, 20)).toMatchObject(stalled);
    const silent = model(() => Promise.withResolvers<never>().promise);
    expect(await ask(silent, signal, 20)).toMatchObject(stalled);
  });

  it("[RUN-15] a stream that ends without its finish broke off", async () => {
    expect(await ask(streaming(text("half")))).toMatchObject({
      kind: "failed",
      fault: { reason: "broke-off", isTransient: true },
    });
  });

  it.each(["error", "other"] as const)(
    "a finish of %s broke off, and its tokens count",
    async (unified) => {
      expect(await ask(streaming([...text("x"), finish(unified)]))).toMatchObject({
        kind: "failed",
        fault: { reason: "broke-off", isTransient: true },
        usage: { inputTokens: 3, outputTokens: 2 },
      });
    },
  );

  it("a content filter is a failure that calling again does not help", async () => {
    expect(await ask(streaming([...text("x"), finish("content-filter")]))).toMatchObject({
      kind: "failed",
      fault: { reason: "content-filter", isTransient: false },
    });
  });

  it("[CTX-16] token counts that are no counts are refused", async () => {
    for (const count of [-1, 1.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1]) {
      expect(await ask(streaming([...text("x"), finish("stop", usage(count))]))).toMatchObject({
        kind: "failed",
        fault: { reason: "invalid-usage", isTransient: false },
        usage: { inputTokens: 0 },
      });
    }
  });

  it("more calls than a turn may hold are refused, as many as it may are not", async () => {
    const calls = Array.from({ length: MAX_CALLS_PER_TURN }, (_, index) => toolCall(`c${index}`));
    expect(await ask(streaming([...calls, finish("tool-calls")]))).toMatchObject({
      kind: "responded",
    });
    const more = [...calls, toolCall("one more"), finish("tool-calls")];
    expect(await ask(streaming(more))).toMatchObject({
      kind: "failed",
      fault: { reason: "too-large", isTransient: false },
    });
  });

  it("an answer larger than a record is refused", async () => {
    const huge = streaming([...text("x".repeat(1_500_001)), finish()]);
    expect(await ask(huge)).toMatchObject({ fault: { reason: "too-large" } });
  });
});

describe("[RUN-10] the run's signal", () => {
  it("stops a call before it began, and the model is not asked", async () => {
    let asked = 0;
    const counting = model(() => {
      asked += 1;
      return Promise.resolve({ stream: streamOf([finish()]) });
    });
    expect(await ask(counting, AbortSignal.abort("abort"))).toEqual({ kind: "stopped" });
    expect(asked).toBe(0);
  });

  it("stops a call that hangs, tells the provider why, and lets its stream go", async () => {
    const run = new AbortController();
    const opened = Promise.withResolvers<AbortSignal | undefined>();
    const cancelled = Promise.withResolvers<string>();
    const hanging = model(({ abortSignal }) => {
      opened.resolve(abortSignal);
      const stream = streamOf(text("x"), "stalls", () => cancelled.resolve("cancelled"));
      return Promise.resolve({ stream });
    });
    const outcome = ask(hanging, run.signal);
    const signal = await opened.promise;
    run.abort("abort");
    expect(await outcome).toEqual({ kind: "stopped" });
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toBe("abort");
    expect(await cancelled.promise).toBe("cancelled");
  });

  it("wins over an answer that came with it", async () => {
    const run = new AbortController();
    const late = model(() => {
      run.abort("deadline");
      return Promise.resolve({ stream: streamOf([...text("x"), finish()]) });
    });
    expect(await ask(late, run.signal)).toEqual({ kind: "stopped" });
  });

  it("is let go of by the provider's signal once the call is over", async () => {
    let given: AbortSignal | undefined;
    const answering = model(({ abortSignal }) => {
      given = abortSignal;
      return Promise.resolve({ stream: streamOf([...text("x"), finish()]) });
    });
    expect(await ask(answering)).toMatchObject({ kind: "responded" });
    expect(given?.aborted).toBe(true);
  });
});

describe("what a failure says", () => {
  it("[RUN-12] never holds the provider's words", () => {
    const errors = [httpError(500), httpError(400), httpError(undefined), new Error("secret body")];
    for (const error of errors) {
      const rendered = renderModelFault(classifyModelError(error));
      expect(rendered).not.toMatch(/secret|words|provider\.example/);
    }
  });

  it("[GW-03] a model that is not configured says what to set", () => {
    const fault = classifyModelError(new ModelNotConfigured("set X"));
    expect(fault).toMatchObject({ reason: "not-configured", isTransient: false });
    expect(renderModelFault(fault)).toBe("set X");
  });

  it.each([
    "connection",
    "stalled",
    "broke-off",
    "content-filter",
    "too-large",
    "invalid-usage",
    "not-configured",
    "error",
  ] as const)("has a sentence for %s", (reason) => {
    const fault = { reason, isTransient: false, httpStatus: null };
    expect(renderModelFault(fault)).toMatch(/^[A-Z].*\.$/);
  });
});
