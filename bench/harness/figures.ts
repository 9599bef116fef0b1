// What a measurement hands to the report: spreads of timings, which are compared and never asserted, and exact figures, which are.

export interface Spread {
  readonly p50: number;
  readonly p95: number;
  readonly samples: number;
}

export function spreadOf(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((left, right) => left - right);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), samples: sorted.length };
}

/** A timing beside its floor; so is memory, which varies from run to run as well. */
export interface Timing {
  /** Stable name for comparisons with the baseline. */
  readonly key: string;
  /** Begins with the requirement's id in brackets. */
  readonly measure: string;
  readonly unit: "ms" | "turns/s" | "kB";
  readonly floor: Spread | null;
  /** The same loop on the provider's interface alone, where it was measured. */
  readonly leanFloor: Spread | null;
  readonly ours: Spread;
  /** Null where the requirements have no line for it. */
  readonly line: Line | null;
  readonly stretch: Line | null;
}

/** What ours is held against: a multiple of the floor, or an absolute bound. */
export type Line =
  | { readonly kind: "at-most-floor-times"; readonly factor: number }
  | { readonly kind: "at-least-floor-times"; readonly factor: number }
  | { readonly kind: "at-most"; readonly bound: number };

export function ratioOf({ floor, ours }: Timing): number | null {
  return floor === null ? null : ours.p50 / floor.p50;
}

export function isMet(timing: Timing, line: Line): boolean {
  const ratio = ratioOf(timing) ?? Number.NaN;
  switch (line.kind) {
    case "at-most-floor-times":
      return ratio <= line.factor;
    case "at-least-floor-times":
      return ratio >= line.factor;
    case "at-most":
      return timing.ours.p50 <= line.bound;
  }
}

export function renderLine(line: Line): string {
  switch (line.kind) {
    case "at-most-floor-times":
      return `≤ ${line.factor} × floor`;
    case "at-least-floor-times":
      return `≥ ${line.factor} × floor`;
    case "at-most":
      return `≤ ${line.bound}`;
  }
}

/** A count that the same code always gives. Less is better. */
export interface ExactFigure {
  readonly key: string;
  /** Begins with the requirement's id in brackets. */
  readonly measure: string;
  readonly value: number;
  /** Past it the run fails; null where only the baseline holds it. */
  readonly line: number | null;
  readonly stretch: number | null;
  /** False for what grows with every feature: held by its line, not by the baseline. */
  readonly heldByBaseline: boolean;
}

/** A property that holds or does not. */
export interface ExactCheck {
  readonly measure: string;
  readonly holds: boolean;
  readonly found: string;
}

export interface ExactResult {
  readonly figures: readonly ExactFigure[];
  readonly checks: readonly ExactCheck[];
}

export function figure(
  key: string,
  measure: string,
  value: number,
  line: number | null = null,
  stretch: number | null = null,
): ExactFigure {
  return { key, measure, value, line, stretch, heldByBaseline: true };
}
