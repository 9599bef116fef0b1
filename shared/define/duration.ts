// Durations as authors write them: "30 seconds", "5 minutes", "3 days".
import { z } from "zod";

const UNIT_MILLIS = {
  millisecond: 1,
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
} as const;

type Unit = keyof typeof UNIT_MILLIS;

/** A positive amount and a unit, singular or plural. */
export type Duration = `${number} ${Unit | `${Unit}s`}`;

/** The longest duration accepted anywhere. */
const MAX_DURATION_MILLIS = 365 * UNIT_MILLIS.day;

/** The duration in milliseconds, or null when the text is not one or is not between 1 ms and 365 days. */
export function parseDurationMillis(text: string): number | null {
  const match = /^(\d{1,9}(?:\.\d{1,3})?) (millisecond|second|minute|hour|day)s?$/.exec(text);
  const [, amount, unit] = match ?? [];
  if (amount === undefined || !isUnit(unit)) return null;
  const millis = Math.round(Number(amount) * UNIT_MILLIS[unit]);
  return millis >= 1 && millis <= MAX_DURATION_MILLIS ? millis : null;
}

/** The milliseconds of a duration that its schema accepted. */
export function durationMillis(duration: Duration): number {
  const millis = parseDurationMillis(duration);
  if (millis === null) throw new RangeError("not a duration");
  return millis;
}

export const DurationSchema = z.custom<Duration>(
  (value) => typeof value === "string" && parseDurationMillis(value) !== null,
  {
    message: 'a duration such as "30 seconds", "5 minutes" or "3 days", at most 365 days',
  },
);

function isUnit(text: string | undefined): text is Unit {
  return text !== undefined && Object.hasOwn(UNIT_MILLIS, text);
}
