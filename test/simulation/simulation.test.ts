// Seeds over real objects: random commands, crashes, evictions, alarms that come early, late and twice, lost replies, and jumps of the clock.
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { resetOptions } from "../support/test-options.ts";
import { world } from "../support/world.ts";
import { planCommands } from "./plan-commands.ts";
import { runSeed, type SeedReport } from "./run-seed.ts";
import { renderCommand, type Command } from "./commands.ts";
import { SIMULATION } from "./settings.ts";

describe("seed", () => {
  it.each(Array.from({ length: SIMULATION.seeds }, (_, i) => SIMULATION.first + i))(
    "%i",
    async (seed) => {
      const commands = planCommands(seed);
      let report: SeedReport;
      try {
        report = await runSeed(commands);
      } catch (cause) {
        throw new Error(`seed ${seed}\n${commands.map(renderCommand).join("\n")}`, { cause });
      }
      if (SIMULATION.seeds === 1) console.info(report.transcript.join("\n"));
      expect(report.steps).toBeGreaterThan(0);
    },
  );
});
