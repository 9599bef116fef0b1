// How many random requests a run sends and from which seed, as the configuration says; and what it reports of them.
import { inject } from "vitest";

export interface FuzzSettings {
  readonly requests: number;
  readonly seed: number;
}

/** What a run saw, for `npm run test:fuzz` to print. */
export interface FuzzReport {
  readonly surface: string;
  readonly requests: number;
  readonly refusedWithoutWrite: number;
  readonly readsWithoutWrite: number;
  readonly threadsChecked: number;
  /** How often each operation gave each answer. */
  readonly answers: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

declare module "vitest" {
  interface ProvidedContext {
    fuzz: FuzzSettings;
  }
  interface TaskMeta {
    fuzz?: FuzzReport;
  }
}

export const FUZZ = inject("fuzz");

/** A run of many requests takes its time. */
export const FUZZ_TIMEOUT_MILLIS = 60_000 + FUZZ.requests * 60;
