// Figures as text for a person: one table of timings, one of exact figures, and what became worse than the baseline.
import {
  isMet,
  ratioOf,
  renderLine,
  type ExactFigure,
  type ExactResult,
  type Spread,
  type Timing,
} from "./figures.ts";
import type { Machine } from "./machine.ts";
import type { Baseline } from "./results.ts";

export function renderMachine(machine: Machine): string {
  const { cpus, model, memoryGib, load, system, node, workerd, miniflare, ai } = machine;
  return `${cpus} × ${model}, ${memoryGib} GiB, load ${load}, ${system}; node ${node}, workerd ${workerd}, miniflare ${miniflare}, ai ${ai}`;
}

export function renderTimings(timings: readonly Timing[], baseline: Baseline | null): string {
  const rows = timings.map((timing) => {
    const { measure, unit, floor, leanFloor, ours, line, stretch } = timing;
    const ratio = ratioOf(timing);
    const before = baseline?.timings[timing.key];
    return [
      measure,
      middle(floor, unit),
      middle(leanFloor, unit),
      `${number(ours.p50)} / ${number(ours.p95)} ${unit}`,
      ratio === null ? "–" : ratio.toFixed(2),
      line === null ? "–" : renderLine(line),
      line === null ? "–" : isMet(timing, line) ? "yes" : "NO",
      stretch === null ? "–" : `${renderLine(stretch)}: ${isMet(timing, stretch) ? "yes" : "no"}`,
      before === undefined ? "–" : number(before),
    ];
  });
  const head = ["measure", "floor p50", "lean floor p50", "ours p50 / p95", "ratio", "line", "met"];
  return table([[...head, "stretch", "baseline p50"], ...rows]);
}

export function renderExact(exact: ExactResult, baseline: Baseline | null): string {
  const rows = exact.figures.map((figure) => [
    figure.measure,
    `${figure.value}`,
    figure.line === null ? "–" : `≤ ${figure.line}`,
    isWithinLine(figure) ? "yes" : "NO",
    figure.stretch === null
      ? "–"
      : `≤ ${figure.stretch}: ${figure.value <= figure.stretch ? "yes" : "no"}`,
    `${baseline?.exact[figure.key] ?? "–"}`,
  ]);
  const checks = exact.checks.map(({ measure, holds, found }) => [
    measure,
    found,
    "holds",
    holds ? "yes" : "NO",
    "–",
    "–",
  ]);
  return table([
    ["exact figure", "ours", "line", "met", "stretch", "baseline"],
    ...rows,
    ...checks,
  ]);
}

/** What makes the exit status non-zero: a line that is passed, a property that does not hold, and under --check a worse figure. */
export function findFailures(exact: ExactResult, baseline: Baseline | null): string[] {
  const passed = exact.figures
    .filter((figure) => !isWithinLine(figure))
    .map(({ measure, value, line }) => `${measure}: ${value}, and the line is ${line}`);
  const broken = exact.checks
    .filter((check) => !check.holds)
    .map(({ measure, found }) => `${measure}: does not hold (${found})`);
  const worse = exact.figures.flatMap(({ key, measure, value, heldByBaseline }) => {
    const before = baseline?.exact[key];
    return heldByBaseline && before !== undefined && value > before
      ? [`${measure}: ${value}, and the baseline is ${before}`]
      : [];
  });
  return [...passed, ...broken, ...worse];
}

function isWithinLine({ value, line }: ExactFigure): boolean {
  return line === null || value <= line;
}

function middle(spread: Spread | null, unit: Timing["unit"]): string {
  return spread === null ? "–" : `${number(spread.p50)} ${unit}`;
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const render = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => (row[column] ?? "").padEnd(width)).join(" | ")} |`;
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  const [head = [], ...body] = rows;
  return [render(head), rule, ...body.map(render)].join("\n");
}
