// `npm run bench` [PERF-16]: measures the product beside the floor, prints one table, writes bench/results/<date>.json and compares with
// bench/baseline.json. Timings are compared and never asserted; exact figures are. Options: --check (exact figures only, held against the
// baseline), --save-baseline, --memory (what a resident thread holds, alone), --profile (the statements behind the exact figures, and where
// the microseconds of one turn go).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildWorker, measureBundle } from "./harness/build.ts";
import { figure, type ExactResult, type Timing } from "./harness/figures.ts";
import { describeMachine } from "./harness/machine.ts";
import { findFailures, renderExact, renderMachine, renderTimings } from "./harness/report.ts";
import { readBaseline, writeBaseline, writeResults } from "./harness/results.ts";
import { startServer } from "./harness/server.ts";
import { profileTurn } from "./measures/cpu-profile.ts";
import { measureAge } from "./measures/age.ts";
import { measureExact, type Profile } from "./measures/exact.ts";
import {
  measureAdmission,
  measureDeltas,
  measureThroughput,
  measureTurns,
} from "./measures/latency.ts";
import { measureGrowth } from "./measures/growth.ts";
import { measureMemory } from "./measures/memory.ts";
import { measureRestart } from "./measures/restart.ts";
import { benchApiKeys } from "./workers/bench-key.ts";

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    "save-baseline": { type: "boolean", default: false },
    memory: { type: "boolean", default: false },
    profile: { type: "boolean", default: false },
  },
});

const printProfile: Profile = (title, counts) => {
  if (!options.profile) return;
  console.log(`\n${title}: rows written by transaction ${counts.transactions.join(", ")}`);
  const rows = Object.entries(counts.byStatement).toSorted(([, a], [, b]) => b.runs - a.runs);
  for (const [statement, { runs, rowsRead, rowsWritten }] of rows) {
    const text = statement.replaceAll(/\s+/g, " ").slice(0, 120);
    console.log(
      `${runs}`.padStart(4),
      `${rowsRead}`.padStart(4),
      `${rowsWritten}`.padStart(4),
      text,
    );
  }
};

const OURS = { objects: { THREADS: "ThreadObject" } };

async function takeExact(script: string, folder: string): Promise<ExactResult> {
  const bindings = { HOLDFAST_API_KEYS: benchApiKeys(), BENCH_METER: "1" };
  const server = await startServer({ ...OURS, name: "metered", script, folder, bindings });
  try {
    const exact = await measureExact(server.client, printProfile);
    const bundle = await measureBundle(folder);
    const measure = "[PERF-09] bundle, minified, gzip: bytes";
    const size = figure("PERF-09.bytes", measure, bundle, 350 * 1_024, 300 * 1_024);
    return { ...exact, figures: [...exact.figures, { ...size, heldByBaseline: false }] };
  } finally {
    await server.stop();
  }
}

async function printCpuProfile(script: string, folder: string): Promise<void> {
  const server = await startServer({
    ...OURS,
    name: "profiled",
    script,
    folder,
    bindings: { HOLDFAST_API_KEYS: benchApiKeys() },
    isInspected: true,
  });
  try {
    console.log("\nOne turn, microseconds of the isolate by the folder of the function on top:");
    const lines = await profileTurn(server, script);
    for (const { where, microsPerTurn } of lines.filter((line) => line.microsPerTurn >= 1)) {
      console.log(microsPerTurn.toFixed(0).padStart(8), where);
    }
  } finally {
    await server.stop();
  }
}

async function takeTimings(ours: string, floor: string, folder: string): Promise<Timing[]> {
  const memory = () => measureMemory({ ours, floor }, folder);
  if (options.memory) return memory();
  const durable = await startServer({
    ...OURS,
    name: "ours",
    script: ours,
    folder,
    bindings: { HOLDFAST_API_KEYS: benchApiKeys() },
  });
  const bare = await startServer({
    name: "floor",
    script: floor,
    folder,
    objects: { FLOOR: "FloorObject" },
  });
  try {
    const contenders = { ours: durable.client, floor: bare.client };
    return [
      ...(await measureTurns(contenders)),
      await measureAdmission(contenders),
      await measureDeltas(contenders),
      await measureThroughput(contenders),
      ...(await measureAge(durable.client)),
      ...(await measureGrowth(durable.client)),
      await measureRestart(ours, folder),
      ...(await memory()),
    ];
  } finally {
    await durable.stop();
    await bare.stop();
  }
}

const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
try {
  const baseline = readBaseline();
  const machine = describeMachine();
  console.log(`${renderMachine(machine)}; objects on disk\n`);
  const ours = await buildWorker("bench-deployment", folder);
  const timings = options.check
    ? []
    : await takeTimings(ours, await buildWorker("floor-worker", folder), folder);
  const exact = await takeExact(ours, folder);
  if (options.profile) await printCpuProfile(ours, folder);
  if (timings.length > 0) console.log(`${renderTimings(timings, baseline)}\n`);
  console.log(renderExact(exact, baseline));
  const results = { takenAt: new Date().toISOString(), machine, timings, exact };
  if (!options.check) console.log(`\nWrote ${writeResults(results)}`);
  if (options["save-baseline"]) console.log(`Wrote ${writeBaseline(results, baseline)}`);
  if (options.check && baseline === null) {
    console.log("\nThere is no baseline yet: run with --save-baseline.");
  }
  const failures = findFailures(exact, options.check ? baseline : null);
  for (const failure of failures) console.error(`FAILED ${failure}`);
  if (failures.length > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
