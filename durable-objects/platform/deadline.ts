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
