// Checks of our own invariants. A failure here is a bug in the runtime: it fails the event and is never caught to keep going.

/** A broken invariant of the runtime. Never thrown for bad input: that is a `HoldfastError`. */
export class InvariantViolation extends Error {
  override readonly name = "InvariantViolation";
}

/** Throws `InvariantViolation` unless `condition` holds. `claim` states what should have been true, without payload text. */
export function assert(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new InvariantViolation(claim);
}

/** Returns `value`, or throws `InvariantViolation` when it is null or undefined. */
export function must<T>(value: T | null | undefined, claim: string): T {
  if (value === null || value === undefined) throw new InvariantViolation(claim);
  return value;
}

/** The last arm of a switch over a union: does not compile while a case is missing. */
export function unreachable(value: never): never {
  throw new InvariantViolation(`unreachable case: ${typeof value}`);
}
