// No call waits for ever: a server that accepts a connection and never answers is given up, as it would be by any other timeout on the way.
import { HoldfastError } from "../errors/holdfast-error.ts";

const LATE = Symbol("late");

/**
 * Calls with a signal that aborts with the caller's, and after `millis`: then it rejects with `DeadlineExceeded`, whose outcome is unknown. Contract
 * of `call`: rejects as soon as its signal aborts.
 */
export async function withinDeadline<T>(
  millis: number,
  signal: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(LATE), millis);
  const abort = (): void => stop.abort(signal?.reason);
  if (signal?.aborted === true) abort();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    return await call(stop.signal);
  } catch (error) {
    if (stop.signal.reason !== LATE) throw error;
    throw new HoldfastError("DeadlineExceeded", "The server did not answer in time.", {
      cause: error,
      fields: { outcome: "unknown" },
    });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
