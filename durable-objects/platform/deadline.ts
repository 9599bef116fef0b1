// Timers that end: every wait on something outside is raced against a signal, and every timer is cleared.

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

/** The longest delay that every setTimeout keeps; no event lives as long, so a longer one needs no timer. */
const MAX_TIMER_MILLIS = 2_147_483_647;

/** A timer that aborts `controller` with `reason`; the returned function clears it. */
export function abortAfter(
  controller: AbortController,
  millis: number,
  reason: unknown,
): () => void {
  if (millis > MAX_TIMER_MILLIS) return () => undefined;
  const timer = setTimeout(() => controller.abort(reason), Math.max(0, millis));
  return () => clearTimeout(timer);
}
