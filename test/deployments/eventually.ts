// Waiting for what can be seen, with an end to the wait.
import { setTimeout as sleep } from "node:timers/promises";

/** Far beyond what a busy machine needs. */
export const DEADLINE_MILLIS = 20_000;
const POLL_MILLIS = 20;

/** The first answer of the probe that is not null; rejects, naming what was waited for, where none comes. */
export async function eventually<Seen>(
  what: string,
  probe: () => Promise<Seen | null> | Seen | null,
): Promise<Seen> {
  const endsAt = performance.now() + DEADLINE_MILLIS;
  for (;;) {
    const seen = await probe();
    if (seen !== null) return seen;
    if (performance.now() > endsAt) throw new Error(`never came: ${what}`);
    await sleep(POLL_MILLIS);
  }
}
