// The printed result: a table per phase, the totals, and the restart times.
import type { Totals } from "./final-check.ts";
import { PHASES } from "./kill-plan.ts";
import type { KillResult } from "./one-kill.ts";

type Row = Readonly<Record<string, string | number>>;

export function printReport(
  results: readonly KillResult[],
  totals: Totals,
  serverErrors: ReadonlyMap<string, number>,
): void {
  const rows: Record<string, Row> = {};
  for (const phase of PHASES) {
    const ofPhase = results.filter(({ plan }) => plan.phase === phase);
    if (ofPhase.length > 0) rows[phase] = renderRow(ofPhase);
  }
  rows["all"] = renderRow(results);
  console.table(rows);
  console.log(
    [
      `${totals.submissions} submissions on ${totals.threads} threads, ${totals.records} records`,
      `settled exactly once: ${totals.settledOnce} of ${totals.submissions}; acknowledged and lost: ${sum(results, "lost")}`,
      `external calls: ${totals.externalCalls}; executed twice: ${totals.executedTwice}; past what decisions allowed: ${totals.executedPastAllowance}`,
      `reads and idempotent calls repeated with the same key: ${totals.repeats}`,
      `went on without any request: ${sum(results, "continued")} of ${sum(results, "due")} runs that had to`,
      `restart to continued run (PERF-11), from the spawn: port open ${renderTimes(results, "listeningMillis")}; first call ${renderTimes(results, "firstContinuedMillis")}; every run ${renderTimes(results, "allContinuedMillis")}`,
      `errors in the server's log: ${serverErrors.size === 0 ? "none" : [...serverErrors].map(([event, count]) => `${event} ${count}`).join(", ")}`,
    ].join("\n"),
  );
}

function renderRow(results: readonly KillResult[]): Row {
  return {
    kills: results.length,
    submitted: sum(results, "submissions"),
    "acknowledged before": sum(results, "acknowledged"),
    "receipt lost": sum(results, "repliesLost"),
    lost: sum(results, "lost"),
    "had to go on": sum(results, "due"),
    "went on": sum(results, "continued"),
    unknown: sum(results, "unknown"),
    completed: sum(results, "decidedCompleted"),
    "never started": sum(results, "decidedNeverStarted"),
    "restart p50 / p95": renderTimes(results, "firstContinuedMillis"),
  };
}

type Count = {
  [Key in keyof KillResult]: KillResult[Key] extends number ? Key : never;
}[keyof KillResult];

function sum(results: readonly KillResult[], key: Count): number {
  return results.reduce((total, result) => total + result[key], 0);
}

function renderTimes(
  results: readonly KillResult[],
  key: "listeningMillis" | "firstContinuedMillis" | "allContinuedMillis",
): string {
  const times = results.flatMap((result) => result[key] ?? []).toSorted((a, b) => a - b);
  if (times.length === 0) return "-";
  const at = (share: number): string =>
    (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(0);
  return `${at(0.5)} / ${at(0.95)} ms`;
}
