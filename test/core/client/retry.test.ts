// What the client repeats, when, and when it gives up: the pure decision, and the loop around it with the machine's timers held.
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  delay,
  planRetry,
  RETRY_POLICY,
  withRetries,
  type RetryPolicy,
} from "../../../shared/client/retry.ts";
import { ERROR_CODES, type ErrorCode } from "../../../shared/errors/codes.ts";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import { outcomeOf } from "./fakes.ts";

const POLICY: RetryPolicy = { maxRetries: 3, baseMillis: 100, capMillis: 250 };

const CODES = z
  .array(z.custom<ErrorCode>((name) => typeof name === "string" && name in ERROR_CODES))
  .parse(Object.keys(ERROR_CODES));

describe("[UX-06] planning a retry", () => {
  it.each(CODES)("follows the table of errors: %s", (code) => {
    const planned = planRetry(new HoldfastError(code, "x"), 1, POLICY, 0.5);
    expect(planned).toBe(ERROR_CODES[code].retryable ? 75 : null);
  });

  it.each([
    ["one whose own field forbids it", "AdmissionLimitExceeded", { retryable: false }, null],
    ["one whose own field allows it", "InvalidState", { retryable: true }, 75],
    ["one with the time to wait", "RateLimited", { retryAfterSeconds: 7 }, 7_000],
    ["one whose time is shorter than ours", "RateLimited", { retryAfterSeconds: 0 }, 75],
    ["one whose time is before now", "RateLimited", { retryAfterSeconds: -5 }, 75],
    ["one whose time is no number", "RateLimited", { retryAfterSeconds: "7" }, 75],
    ["a refusal with a time", "InvalidInput", { retryAfterSeconds: 7 }, null],
  ] as const)("knows %s", (_what, code, fields, millis) => {
    expect(planRetry(new HoldfastError(code, "x", { fields }), 1, POLICY, 0.5)).toBe(millis);
  });

  it.each([
    ["an error of the caller's own", new Error("x")],
    ["a reason to abort", new DOMException("x", "AbortError")],
    ["a look-alike", { name: "HoldfastError", code: "Unavailable", retryable: true, fields: {} }],
    ["nothing", undefined],
  ])("passes %s on", (_what, error) => {
    expect(planRetry(error, 1, POLICY, 0.5)).toBeNull();
  });

  it("waits longer each time, up to the cap, and ends after the last retry", () => {
    const error = new HoldfastError("Unavailable", "x");
    const planned = [1, 2, 3, 4, 5].map((attempt) => planRetry(error, attempt, POLICY, 0.999));
    expect(planned).toEqual([100, 200, 250, null, null]);
  });

  it("repeats nothing where the policy says so", () => {
    const error = new HoldfastError("Unavailable", "x", { fields: { retryAfterSeconds: 1 } });
    expect(planRetry(error, 1, { ...POLICY, maxRetries: 0 }, 0.5)).toBeNull();
  });

  it("never waits less than half of what is planned, nor more than the cap, unless it was told to", () => {
    fc.assert(
      fc.property(
        fc.nat(10),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempt, random) => {
          const millis = planRetry(
            new HoldfastError("Overloaded", "x"),
            attempt,
            { ...RETRY_POLICY, maxRetries: 10 },
            random,
          );
          const ceiling = Math.min(8_000, 250 * 2 ** (Math.max(attempt, 1) - 1));
          expect(millis).toBeGreaterThanOrEqual(ceiling / 2);
          expect(millis).toBeLessThanOrEqual(ceiling);
        },
      ),
    );
  });
});

describe("[UX-06] repeating a call", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, "random").mockReturnValue(0.999);
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  /** Fails with these, one after the other, and then answers; keeps when each call came. */
  function failing(...errors: readonly unknown[]) {
    const left = [...errors];
    const times: number[] = [];
    const began = Date.now();
    const call = async (): Promise<string> => {
      times.push(Date.now() - began);
      if (left.length === 0) return "answer";
      throw left.shift();
    };
    return { call, times };
  }

  const unavailable = new HoldfastError("Unavailable", "x");

  it("answers what the first try that succeeds answers", async () => {
    const { call, times } = failing(unavailable, unavailable);
    const outcome = outcomeOf(withRetries(POLICY, undefined, call));
    await vi.runAllTimersAsync();
    expect(await outcome).toEqual({ value: "answer" });
    expect(times).toEqual([0, 100, 300]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("fails with the last error, after as many retries as the policy has", async () => {
    const last = new HoldfastError("Overloaded", "the last");
    const { call, times } = failing(unavailable, unavailable, unavailable, last);
    const outcome = outcomeOf(withRetries(POLICY, undefined, call));
    await vi.runAllTimersAsync();
    expect(await outcome).toEqual({ error: last });
    expect(times).toEqual([0, 100, 300, 550]);
  });

  it("passes an answer that is an error on at once", async () => {
    const refusal = new HoldfastError("InvalidInput", "x");
    const { call, times } = failing(refusal);
    expect(await outcomeOf(withRetries(POLICY, undefined, call))).toEqual({ error: refusal });
    expect(times).toEqual([0]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("waits as long as it was told to", async () => {
    const { call, times } = failing(
      new HoldfastError("RateLimited", "x", { fields: { retryAfterSeconds: 30 } }),
    );
    const outcome = outcomeOf(withRetries(POLICY, undefined, call));
    await vi.advanceTimersByTimeAsync(29_999);
    expect(times).toEqual([0]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toEqual({ value: "answer" });
  });

  it("does not take a time that no timer can hold for none at all", async () => {
    const { call, times } = failing(
      new HoldfastError("RateLimited", "x", { fields: { retryAfterSeconds: 1e9 } }),
    );
    const controller = new AbortController();
    const outcome = outcomeOf(withRetries(POLICY, controller.signal, call));
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(times).toEqual([0]);
    controller.abort("enough");
    expect(await outcome).toEqual({ error: "enough" });
  });

  it("ends at once when the caller gives up while it waits", async () => {
    const controller = new AbortController();
    const { call, times } = failing(unavailable);
    const outcome = outcomeOf(withRetries(POLICY, controller.signal, call));
    await vi.advanceTimersByTimeAsync(50);
    const reason = new Error("changed my mind");
    controller.abort(reason);
    expect(await outcome).toEqual({ error: reason });
    expect(times).toEqual([0]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does not begin to wait for a caller that gave up during the try", async () => {
    const controller = new AbortController();
    const outcome = await outcomeOf(
      withRetries(POLICY, controller.signal, async () => {
        controller.abort("gone");
        throw unavailable;
      }),
    );
    expect(outcome).toEqual({ error: "gone" });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("leaves no listener on a signal that lives longer", async () => {
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    const waited = outcomeOf(delay(10, signal));
    await vi.runAllTimersAsync();
    expect(await waited).toEqual({ value: undefined });
    expect(add).toHaveBeenCalledTimes(1);
    expect(remove.mock.calls[0]?.[1]).toBe(add.mock.calls[0]?.[1]);
  });
});
