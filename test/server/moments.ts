// Moments that a plan names: reached to a fraction of a millisecond.
import { setTimeout as sleep } from "node:timers/promises";

/** Timers are a millisecond coarse; the window between two commits is not. */
export async function waitExactly(millis: number): Promise<void> {
  const until = performance.now() + millis;
  if (millis > 2) await sleep(millis - 2);
  while (performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
}
