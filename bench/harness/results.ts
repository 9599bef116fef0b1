// Results on disk: one file a run, and the baseline that later runs are held against.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, URL } from "node:url";
import { z } from "zod";
import { isMet, ratioOf, type ExactResult, type Timing } from "./figures.ts";
import type { Machine } from "./machine.ts";

const folder = fileURLToPath(new URL("../results", import.meta.url));
const baselineFile = fileURLToPath(new URL("../baseline.json", import.meta.url));

const BaselineSchema = z.object({
  takenAt: z.iso.datetime(),
  machine: z.record(z.string(), z.union([z.string(), z.number()])),
  /** p50 by key: shown, never asserted. */
  timings: z.record(z.string(), z.number()),
  exact: z.record(z.string(), z.int()),
});
export type Baseline = z.infer<typeof BaselineSchema>;

export function readBaseline(): Baseline | null {
  if (!existsSync(baselineFile)) return null;
  return BaselineSchema.parse(JSON.parse(readFileSync(baselineFile, "utf8")));
}

export interface Results {
  readonly takenAt: string;
  readonly machine: Machine;
  readonly timings: readonly Timing[];
  readonly exact: ExactResult;
}

/** A run of the exact figures alone leaves the timings of `before` as they are. */
export function writeBaseline(results: Results, before: Baseline | null): string {
  const { takenAt, machine, timings, exact } = results;
  const taken = Object.fromEntries(timings.map(({ key, ours }) => [key, round(ours.p50)]));
  const baseline = {
    takenAt,
    machine: { ...machine },
    timings: { ...before?.timings, ...taken },
    exact: Object.fromEntries(exact.figures.map(({ key, value }) => [key, value])),
  } satisfies Baseline;
  writeFileSync(baselineFile, `${JSON.stringify(baseline, null, 2)}\n`);
  return "bench/baseline.json";
}

/** One file a run, named by its time, so that no run overwrites another. */
export function writeResults(results: Results): string {
  mkdirSync(folder, { recursive: true });
  const name = `${results.takenAt.slice(0, 19).replaceAll(":", "-")}.json`;
  const timings = results.timings.map((timing) => ({
    ...timing,
    ratio: ratioOf(timing),
    met: timing.line === null ? null : isMet(timing, timing.line),
  }));
  writeFileSync(`${folder}/${name}`, `${JSON.stringify({ ...results, timings }, null, 2)}\n`);
  return `bench/results/${name}`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
