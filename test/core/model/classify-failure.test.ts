// What errors of real providers mean: their bodies as they send them, in the error that their client makes of it. None of their words is
// repeated.
import { APICallError } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import {
  classifyModelError,
  classifyStreamError,
} from "../../../durable-objects/model/classify-failure.ts";
import { renderModelFault } from "../../../durable-objects/model/render-fault.ts";

function refusal(statusCode: number, body: object, headers: Record<string, string> = {}) {
  return new APICallError({
    message: "the provider's own words",
    url: "https://provider.example/v1",
    requestBodyValues: { prompt: "private" },
    statusCode,
    responseHeaders: headers,
    responseBody: JSON.stringify(body),
    data: body,
  });
}

/** OpenAI and everyone who speaks like it. */
function openai(statusCode: number, code: string, message: string) {
  return refusal(statusCode, { error: { message, type: "invalid_request_error", code } });
}

function anthropic(statusCode: number, type: string, message: string) {
  return refusal(statusCode, { type: "error", error: { type, message } });
}

function google(statusCode: number, status: string, message: string) {
  return refusal(statusCode, { error: { code: statusCode, message, status } });
}

describe("[RUN-15] a refusal that calling again may help", () => {
  it.each<[string, APICallError, number]>([
    ["of OpenAI's rate", openai(429, "rate_limit_exceeded", "Rate limit reached"), 429],
    ["of Anthropic's load", anthropic(529, "overloaded_error", "Overloaded"), 529],
    ["of Google's load", google(503, "UNAVAILABLE", "The model is overloaded."), 503],
    ["of a server's fault", refusal(500, { error: "oops" }), 500],
    ["of a gateway in between", refusal(502, {}), 502],
    ["of a request that took too long", refusal(408, {}), 408],
  ])("%s", (_what, error, httpStatus) => {
    expect(classifyModelError(error)).toMatchObject({
      reason: "http",
      isTransient: true,
      httpStatus,
    });
  });

  it("says how long to wait", () => {
    const asked = refusal(429, {}, { "retry-after": "7" });
    expect(classifyModelError(asked)).toMatchObject({ retryAfterMillis: 7_000 });
  });

  it("is what Google says of a minute's quota, with the time to wait in the body", () => {
    const details = [
      { "@type": "QuotaFailure", violations: [{ quotaId: "RequestsPerMinutePerProject" }] },
      { "@type": "RetryInfo", retryDelay: "31.5s" },
    ];
    const message = "You exceeded your current quota, please check your plan and billing details.";
    const error = refusal(429, { error: { code: 429, message, details } });
    expect(classifyModelError(error)).toMatchObject({
      reason: "http",
      isTransient: true,
      retryAfterMillis: 31_500,
    });
    const daily = [{ violations: [{ quotaId: "RequestsPerDayPerProject" }] }];
    const spent = refusal(429, { error: { code: 429, message, details: daily } });
    expect(classifyModelError(spent)).toMatchObject({ reason: "quota", isTransient: false });
  });

  it.each([
    [429, "Too many tokens, please wait before trying again."],
    [429, "Request too large for model in organization on tokens per minute (TPM)"],
    [503, "while answering: This model's maximum context length is 8192 tokens"],
    [500, "flagged as potentially violating our usage policy"],
  ])("is what a busy provider says, whatever its words are: %i %s", (status, message) => {
    const error = refusal(status, { error: { message } });
    expect(classifyModelError(error)).toMatchObject({ reason: "http", isTransient: true });
  });
});

describe("[RUN-15] a lost connection", () => {
  const caused = (cause: Error) => new Error("something failed", { cause });
  it.each<[string, unknown]>([
    ["before the answer", new TypeError("fetch failed")],
    ["as workerd says it", new Error("Network connection lost.")],
    ["as a cause of a cause", caused(caused(new Error("read ECONNRESET")))],
    ["by a timeout of the client's", new DOMException("timed out", "TimeoutError")],
    ["by an abort that is not ours", new DOMException("aborted", "AbortError")],
    [
      "inside a body that had begun well",
      new APICallError({
        message: "Failed to process successful response",
        url: "https://provider.example/v1",
        requestBodyValues: {},
        statusCode: 200,
        cause: new Error("Network connection lost."),
      }),
    ],
  ])("%s", (_when, error) => {
    expect(classifyModelError(error)).toEqual({
      reason: "connection",
      isTransient: true,
      httpStatus: null,
    });
  });

  it("is not what a client could not read", () => {
    const mismatch = new APICallError({
      message: "Received a Chat Completions stream",
      url: "https://provider.example/v1",
      requestBodyValues: {},
      isRetryable: false,
    });
    expect(classifyModelError(mismatch)).toMatchObject({ reason: "error", isTransient: false });
    let circle = new Error("a");
    circle = new Error("b", { cause: circle });
    Object.assign(circle, { cause: circle });
    expect(classifyModelError(circle)).toMatchObject({ reason: "error" });
  });
});

describe("[RUN-15, CTX-17] a refusal that nothing but a change helps", () => {
  const LONG = [
    openai(
      400,
      "context_length_exceeded",
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    anthropic(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    google(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    openai(
      400,
      "",
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
    ),
    refusal(413, {
      errors: [
        {
          code: 5021,
          message:
            "The estimated number of input and maximum output tokens exceeded this model context window limit: it exceeds the context window",
        },
      ],
    }),
  ];
  it.each(LONG.map((error) => [error.responseBody ?? "", error] as const))(
    "is an overflow: %s",
    (_body, error) => {
      expect(classifyModelError(error)).toMatchObject({
        reason: "context-overflow",
        isTransient: false,
      });
    },
  );

  it.each([
    openai(400, "content_policy_violation", "Your request was rejected by our safety system."),
    openai(400, "content_filter", "The response was filtered due to the content management policy"),
    openai(
      400,
      "invalid_prompt",
      "Invalid prompt: your prompt was flagged as potentially violating",
    ),
    anthropic(400, "invalid_request_error", "Output blocked by content filtering policy"),
  ])("is a matter of content: %#", (error) => {
    expect(classifyModelError(error)).toMatchObject({
      reason: "content-filter",
      isTransient: false,
    });
  });

  it.each([
    openai(429, "insufficient_quota", "You exceeded your current quota, please check your plan"),
    anthropic(400, "invalid_request_error", "Your credit balance is too low to access the API"),
  ])("is a matter of money, though the status says wait: %#", (error) => {
    expect(classifyModelError(error)).toMatchObject({ reason: "quota", isTransient: false });
  });

  it("is not one that only names a word of another", () => {
    const error = openai(400, "invalid_function", "Invalid schema for function 'content_filter'");
    expect(classifyModelError(error)).toMatchObject({ reason: "http", isTransient: false });
  });

  it.each([
    [402, { error: { message: "Payment required" } }],
    [402, { error: { message: "Insufficient Balance" } }],
  ])("is a matter of money by its status: %i %j", (status, body) => {
    expect(classifyModelError(refusal(status, body))).toMatchObject({ reason: "quota" });
  });

  it("is a matter of the credential", () => {
    const fault = classifyModelError(anthropic(401, "authentication_error", "invalid x-api-key"));
    expect(fault).toMatchObject({ reason: "http", isTransient: false, httpStatus: 401 });
    expect(renderModelFault(fault)).toContain("credential");
  });
});

describe("[RUN-15] an error inside a stream", () => {
  it.each<[string, unknown, boolean]>([
    ["with a status", { message: "m", statusCode: 529, data: {} }, true],
    ["that the client knows to be passing", { message: "m", isRetryable: true, data: {} }, true],
    ["that the client knows to stay", { statusCode: 500, isRetryable: false, data: {} }, false],
    ["with a number for its code", { message: "m", type: "server_error", code: 503 }, true],
    ["with a word for its code", { message: "m", code: "server_error" }, true],
    ["of its own timeout", { type: "timeout_error", isRetryable: false }, true],
    ["that blames the request", { message: "m", code: 400 }, false],
    ["that blames it in a word", { message: "m", type: "invalid_request_error" }, false],
    ["in words", "unexpected EOF", true],
    ["of a model that is gone", { message: "Model unloaded." }, true],
    ["without any", undefined, true],
  ])("%s", (_what, error, isTransient) => {
    expect(classifyStreamError(error)).toMatchObject({ reason: "provider", isTransient });
  });

  it("that says what it is is that", () => {
    const long = { code: "context_length_exceeded", message: "m", isRetryable: false };
    expect(classifyStreamError(long)).toMatchObject({ reason: "context-overflow" });
  });

  it("may be anything", () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(classifyStreamError(circle)).toMatchObject({ reason: "provider" });
  });
});

it("[RUN-12] no sentence repeats the provider's", () => {
  for (const error of [
    openai(400, "context_length_exceeded", "private"),
    openai(400, "content_filter", "private"),
    openai(429, "insufficient_quota", "private"),
    refusal(500, { private: true }),
  ]) {
    expect(renderModelFault(classifyModelError(error))).not.toContain("private");
  }
});
