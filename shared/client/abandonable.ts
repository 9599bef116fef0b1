// A caller that gives up waits for nobody: it is answered with its own reason, whatever the other side still does.

/** Rejects with the signal's reason as soon as it aborts, and asks nothing when it has already. */
export async function abandonable<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const answer = ask();
  try {
    return await Promise.race([answer, aborted]);
  } catch (error) {
    void answer.then(letGo, () => undefined);
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** A stream that comes after its reader left would be held open for nobody. */
function letGo(late: unknown): void {
  if (late instanceof ReadableStream) void late.cancel().catch(() => undefined);
}
