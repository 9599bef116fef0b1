// Time as a port. Decisions take `now` as an argument; only shells hold a Clock.

/** Milliseconds since the Unix epoch. */
export type EpochMillis = number;

/** The only source of the current time for the runtime. Contract: never goes backwards by more than the platform's own clock does. */
export interface Clock {
  now(): EpochMillis;
}

/** An ISO 8601 instant in UTC with milliseconds, the form that every record and every answer uses. */
export function toIsoInstant(at: EpochMillis): string {
  return new Date(at).toISOString();
}
