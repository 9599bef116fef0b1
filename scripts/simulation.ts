// `npm run test:simulation -- --seeds N [--from S]`, or `--seed S` for one: seeds of test/simulation, as in `npm test` but as many as asked for,
// and what they saw. A seed that breaks a promise is printed with its commands; run alone, with those of them that it takes.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";

const CountsSchema = z.record(z.string(), z.number());
const RunSchema = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(
        z.object({
          meta: z.object({
            simulation: z
              .object({
                seeds: z.number(),
                steps: z.number(),
                crashes: CountsSchema,
                outcomes: CountsSchema,
                sometimes: CountsSchema,
              })
              .optional(),
            linearizability: CountsSchema.optional(),
          }),
        }),
      ),
    }),
  ),
});

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "300" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
  },
});
const SeedSchema = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const first = SeedSchema.parse(values.seed ?? values.from);
const seeds = values.seed === undefined ? SeedSchema.min(1).parse(values.seeds) : 1;

function render(counts: Readonly<Record<string, number>>): string {
  const shown = Object.entries(counts).map(([what, times]) => `${times} ${what}`);
  return shown.length === 0 ? "none" : shown.join(", ");
}

const startedAt = performance.now();
const folder = mkdtempSync(join(tmpdir(), "holdfast-simulation-"));
const file = join(folder, "report.json");
console.log(
  seeds === 1 ? `simulation: seed ${first}` : `simulation: ${seeds} seeds from ${first} on`,
);
const { status } = spawnSync(
  "vitest",
  [
    "run",
    "--project=objects",
    // What the objects log of each crash is not read by anybody; of a single seed it is.
    `--silent=${seeds > 1}`,
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${file}`,
    "test/simulation",
  ],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      SIMULATION_FIRST: String(first),
      SIMULATION_SEEDS: String(seeds),
      WRANGLER_SEND_METRICS: "false",
    },
  },
);
const metas = RunSchema.parse(JSON.parse(readFileSync(file, "utf8"))).testResults.flatMap(
  ({ assertionResults }) => assertionResults.map(({ meta }) => meta),
);
rmSync(folder, { recursive: true });
for (const { simulation, linearizability } of metas) {
  if (simulation !== undefined) {
    const { crashes, outcomes, sometimes, steps } = simulation;
    console.log(`\nseeds           ${simulation.seeds}, ${steps} steps`);
    console.log(`crashes fired   ${render(crashes)}`);
    console.log(`settlements     ${render(outcomes)}`);
    console.log(`sometimes       ${render(sometimes)}`);
  }
  if (linearizability !== undefined) console.log(`concurrent      ${render(linearizability)}`);
}
console.log(`${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
if (status !== 0) {
  console.error(
    "A promise was broken: the failure above says which seed, and how to run it again.",
  );
  process.exit(1);
}
