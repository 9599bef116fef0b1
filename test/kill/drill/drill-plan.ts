// What one SIGKILL of the drill hits: a turn of slow external calls on each of many threads, at once, each at its own place and its own
// offset into the call. Drawn from a seed. Pure, and imported by the deployment: nothing of a platform.
import { shuffle, type Random } from "../../server/seeded.ts";

/** Calls of the one turn. They run one after the other. */
export const DRILL_CALLS = 5;

/** How long a handler takes: a call is killed at an offset within. */
export const HANDLER_MILLIS = 2_000;

export const PLACES = ["first", "third", "last"] as const;
export type Place = (typeof PLACES)[number];

export const INDEX_OF: Record<Place, number> = { first: 0, third: 2, last: DRILL_CALLS - 1 };

export interface DrillJobPlan {
  /** Names the job everywhere, and is its idempotency key and its thread. */
  readonly key: string;
  readonly place: Place;
  /** From the moment that the call may begin to the SIGKILL. */
  readonly offsetMillis: number;
}

/** Offsets lie evenly over the handler's time, each by chance within its share, for each place alike. */
export function planRound(round: number, threads: number, random: Random): DrillJobPlan[] {
  const perPlace = Math.ceil(threads / PLACES.length);
  const plans = PLACES.flatMap((place) =>
    Array.from({ length: perPlace }, (_, share) => ({
      place,
      offsetMillis: ((share + random()) / perPlace) * HANDLER_MILLIS,
    })),
  );
  return shuffle(plans, random)
    .slice(0, threads)
    .map((plan, index) => ({ ...plan, key: `drill-${round}-${index}` }));
}
