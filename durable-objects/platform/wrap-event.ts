// The host's hook around each invocation of an object: for its own context, traces or metrics. It cannot change what the invocation does.
import { errorName, logEvent } from "./log.ts";

export interface ObjectEvent {
  readonly kind: "rpc" | "alarm";
  /** The operation; `alarm` for the alarm. */
  readonly name: string;
}

/** Contract: calls `run` once and awaits it. A hook that does not call it, or fails, is logged by its error's class alone, and the invocation
 * runs all the same. `run` never rejects. */
export type OnEvent = (event: ObjectEvent, run: () => Promise<void>) => void | Promise<void>;

/** Runs `invocation` once, inside the hook where that lets it, and answers with it. */
export async function wrapEvent<T>(
  onEvent: OnEvent | null,
  event: ObjectEvent,
  invocation: () => Promise<T>,
): Promise<T> {
  if (onEvent === null) return invocation();
  let started: Promise<T> | null = null;
  const start = (): Promise<T> => (started ??= invocation());
  try {
    await onEvent(event, async () => {
      // Its failure is the invocation's answer, and none of the hook's business.
      await start().catch(() => undefined);
    });
  } catch (error) {
    logEvent("error", "on-event-failed", { ...event, error: errorName(error) });
  }
  if (started === null) logEvent("error", "on-event-skipped", { ...event });
  return start();
}
