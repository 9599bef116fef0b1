// Repeating what failed in passing. Every operation may be repeated as it is: work by its key, decisions and controls by what they name.
import { planBackoff } from "../backoff.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";

export interface RetryPolicy {
  /** Repeats after the first try. */
  readonly maxRetries: number;
  readonly baseMillis: number;
  readonly capMillis: number;
}

/** What a timer can hold: a longer time would pass at once. */
const MAX_DELAY_MILLIS = 2 ** 31 - 1;

export const RETRY_POLICY: RetryPolicy = { maxRetries: 4, baseMillis: 250, capMillis: 8_000 };

/** How long to wait before the next try, or null when the error is an answer. `attempt` counts from 1. Pure. */
export function planRetry(
  error: unknown,
  attempt: number,
  policy: RetryPolicy,
  random: number,
): number | null {
  if (!(error instanceof HoldfastError) || !error.retryable) return null;
  if (attempt > policy.maxRetries) return null;
  const asked = error.fields["retryAfterSeconds"];
  const backoff = planBackoff(policy, attempt, random);
  return typeof asked === "number" ? Math.max(asked * 1_000, backoff) : backoff;
}

/** Rejects with the last error, or with the signal's reason. */
export async function withRetries<T>(
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      const millis = planRetry(error, attempt, policy, Math.random());
      if (millis === null) throw error;
      await delay(millis, signal);
    }
  }
}

/** Resolves after the time; rejects with the signal's reason at once when it aborts. */
export async function delay(millis: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.min(millis, MAX_DELAY_MILLIS));
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
