// Chance that a seed repeats. Pure.

/** A number in [0, 1) from a 32-bit state (mulberry32). */
export type Random = () => number;

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<T>(values: readonly [T, ...T[]], random: Random): T {
  return values[Math.floor(random() * values.length)] ?? values[0];
}

export function shuffle<T>(values: readonly T[], random: Random): T[] {
  return values
    .map((value) => ({ value, rank: random() }))
    .toSorted((left, right) => left.rank - right.rank)
    .map(({ value }) => value);
}
