// Seeds over real objects: random commands, crashes, evictions, alarms that come early, late and twice, lost replies, and jumps of the clock.
// Whatever comes, the thread keeps its promises; a seed that finds otherwise is printed with its commands, and can be run alone.
import { afterAll, describe, expect, it } from "vitest";
import { renderCommand, type Command } from "./commands.ts";
import { planCommands } from "./plan-commands.ts";
import { runSeed, type SeedReport } from "./run-seed.ts";
import { shrink } from "./shrink.ts";
import { ENOUGH_SEEDS, SIMULATION } from "./settings.ts";
import { Tally } from "./tally.ts";

/** Seeds of one test: a failure leaves the others of the run to be looked at. */
const BATCH = 25;
const BATCH_TIMEOUT_MILLIS = 120_000;

const tally = new Tally();

const batches = Array.from({ length: Math.ceil(SIMULATION.seeds / BATCH) }, (_, batch) => {
  const first = SIMULATION.first + batch * BATCH;
  return { first, last: Math.min(first + BATCH, SIMULATION.first + SIMULATION.seeds) - 1 };
});

async function runOrTell(seed: number, commands: readonly Command[]): Promise<SeedReport> {
  try {
    return await runSeed(commands);
  } catch (cause) {
    // Alone, the seed is reduced to the commands that it fails by.
    const needed = SIMULATION.seeds === 1 ? await shrink(commands, fails) : commands;
    const listed = needed.map((command) => `  ${renderCommand(command)}`).join("\n");
    throw new Error(
      `seed ${seed} broke a promise. Again: npm run test:simulation -- --seed ${seed}\n${listed}`,
      { cause },
    );
  }
}

function fails(commands: readonly Command[]): Promise<boolean> {
  return runSeed(commands).then(
    () => false,
    () => true,
  );
}

afterAll(() => {
  const { seeds, steps, crashes, outcomes } = tally.report();
  console.info(
    `simulation: ${seeds} seeds, ${steps} steps, crashes ${JSON.stringify(crashes)}, settlements ${JSON.stringify(outcomes)}`,
  );
});

describe("seeds", () => {
  it.each(batches)(
    "[QUA-01, QUA-02, REC-01, RUN-01, ALM-03, ALM-04, THR-01, THR-03] $first to $last keep every promise",
    { timeout: BATCH_TIMEOUT_MILLIS },
    async ({ first, last }) => {
      for (let seed = first; seed <= last; seed += 1) {
        const report = await runOrTell(seed, planCommands(seed));
        expect(report.steps).toBeGreaterThan(0);
        if (SIMULATION.seeds === 1) console.info(report.transcript.join("\n"));
        tally.add(report);
      }
    },
  );

  it("[QUA-01] do the same again", { timeout: BATCH_TIMEOUT_MILLIS }, async () => {
    const { first, seeds } = SIMULATION;
    for (let seed = first; seed < first + Math.min(seeds, 6); seed += 1) {
      const commands = planCommands(seed);
      expect(planCommands(seed)).toEqual(commands);
      const { transcript } = await runOrTell(seed, commands);
      expect((await runOrTell(seed, commands)).transcript).toEqual(transcript);
    }
  });

  it("[QUA-03] are enough to see everything sometimes", ({ task }) => {
    task.meta.simulation = tally.report();
    if (SIMULATION.seeds >= ENOUGH_SEEDS) expect(tally.missing()).toEqual([]);
  });
});
