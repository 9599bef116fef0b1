// Waits that end: everything outside is raced against a signal.

/** Resolves with what `work` did, or with the signal's reason as soon as it aborts; the work itself may go on unheard. */
export type Raced<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "aborted"; readonly reason: unknown };

/** Races `work` against `signal`. Never rejects. A late rejection of abandoned work is observed here, so it is not left unhandled. */
export async function raceSignal<T>(
  work: () => T | PromiseLike<T>,
  signal: AbortSignal,
): Promise<Raced<T>> {
  if (signal.aborted) return { kind: "aborted", reason: signal.reason };
  const { promise: aborted, resolve } = Promise.withResolvers<Raced<T>>();
  const onAbort = (): void => resolve({ kind: "aborted", reason: signal.reason });
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([settleWork(work), aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

async function settleWork<T>(work: () => T | PromiseLike<T>): Promise<Raced<T>> {
  try {
    return { kind: "done", value: await work() };
  } catch (error) {
    return { kind: "threw", error };
  }
}

/** Why work that was raced against its time was aborted. */
export const TIMEOUT = Symbol("timeout");

/**
 * Races `work` against its own time and, where there is one, a signal from outside. Never rejects; `aborted` with `TIMEOUT` when its time was up.
 * Its timer goes with it: `AbortSignal.timeout` would keep an object awake long after the work ended.
 */
export async function raceTimeout<T>(
  timeoutMillis: number,
  outside: AbortSignal | null,
  work: (signal: AbortSignal) => T | PromiseLike<T>,
): Promise<Raced<T>> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(TIMEOUT), timeoutMillis);
  const signal = outside === null ? timeout.signal : AbortSignal.any([outside, timeout.signal]);
  try {
    return await raceSignal(() => work(signal), signal);
  } finally {
    clearTimeout(timer);
  }
}
