// Which seeds a run goes through, as the configuration says, and what it reports of them.
import { inject } from "vitest";

export interface SimulationSettings {
  readonly first: number;
  readonly seeds: number;
}

/** What a run saw, for `npm run test:simulation` to print. */
export interface SimulationReport {
  readonly seeds: number;
  readonly steps: number;
  readonly crashes: Readonly<Record<string, number>>;
  readonly outcomes: Readonly<Record<string, number>>;
  /** How often each thing was seen that has to be seen sometimes (QUA-03). */
  readonly sometimes: Readonly<Record<string, number>>;
}

declare module "vitest" {
  interface ProvidedContext {
    simulation: SimulationSettings;
  }
  interface TaskMeta {
    simulation?: SimulationReport;
    /** How often each thing was seen of concurrent callers. */
    linearizability?: Readonly<Record<string, number>>;
  }
}

export const SIMULATION = inject("simulation");

/** As many as `npm test` runs: so many reach everything that has to be reached. */
export const ENOUGH_SEEDS = 300;
