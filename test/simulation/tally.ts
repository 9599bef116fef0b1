// What a whole run of seeds saw, and what it has to see sometimes (QUA-03). Pure.
import { LIVING_POINTS } from "../support/crash-points.ts";
import { DecisionKindSchema } from "../../shared/wire/operations.ts";
import { RECORD_TYPES } from "../../shared/wire/records.ts";
import { OutcomeSchema } from "../../shared/wire/settlement.ts";
import { OnBusySchema, SubmissionStateSchema } from "../../shared/wire/submission.ts";
import { COMMAND_KINDS } from "./commands.ts";
import { CRASH_MODES } from "./plan-commands.ts";
import { BROKEN } from "./reply.ts";
import type { SeedReport } from "./run-seed.ts";
import type { SimulationReport } from "./settings.ts";

/** Seen sometimes, each in the words of those who note it. A run that never does has lost its reach. */
export const SOMETIMES: readonly string[] = [
  ...COMMAND_KINDS.map((kind) => `command: ${kind}`),
  ...CRASH_MODES.map((mode) => `crash: ${mode}`),
  ...LIVING_POINTS.map((point) => `fired: ${point}`),
  ...OutcomeSchema.options.map((outcome) => `outcome: ${outcome}`),
  ...DecisionKindSchema.options.map((kind) => `decided: ${kind}`),
  ...RECORD_TYPES.map((type) => `record: ${type}`),
  ...each("submit", "accepted", "replayed", "reply lost", "IdempotencyConflict", BROKEN),
  ...each("submit", "AdmissionLimitExceeded", "ThreadBusy", "AgentNotFound"),
  ...OnBusySchema.options.map((onBusy) => `accepted: ${onBusy}`),
  ...each("abort", "dequeued", "signalled", "joined", "already-settled", BROKEN),
  ...each("decide", "applied", "replayed", "DecisionConflict", "InvalidState"),
  ...each("decide-all", "applied", "nothing to decide"),
  ...each("retry", "resumed", "not-parked"),
  ...SubmissionStateSchema.options.map((state) => `view: ${state}`),
  ...each("wait", "approval", "unknown-outcome", "retry-backoff", "attempts-exhausted", "binding"),
  ...each("alarm", "early", "due", "late", "again"),
  ...each("limit", "duration"),
  "gate: opened",
];

function each(what: string, ...came: readonly string[]): string[] {
  return came.map((one) => `${what}: ${one}`);
}

export class Tally {
  #seeds = 0;
  #steps = 0;
  readonly #seen = new Map<string, number>();

  add({ steps, seen }: SeedReport): void {
    this.#seeds += 1;
    this.#steps += steps;
    for (const what of seen) this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1);
  }

  /** What was never seen, and has to be sometimes. */
  missing(): string[] {
    return SOMETIMES.filter((what) => !this.#seen.has(what));
  }

  report(): SimulationReport {
    return {
      seeds: this.#seeds,
      steps: this.#steps,
      crashes: this.#count("crash: "),
      outcomes: this.#count("outcome: "),
      sometimes: Object.fromEntries(SOMETIMES.map((what) => [what, this.#seen.get(what) ?? 0])),
    };
  }

  #count(prefix: string): Record<string, number> {
    const entries = [...this.#seen].filter(([what]) => what.startsWith(prefix));
    return Object.fromEntries(entries.map(([what, times]) => [what.slice(prefix.length), times]));
  }
}
