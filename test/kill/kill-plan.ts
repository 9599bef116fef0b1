// What a run of the kill test does, drawn from its seed alone: the same seed gives the same plan, whatever the timing does with it. Pure.
import { pick, seeded, shuffle, type Random } from "../server/seeded.ts";
import { STEPS, type Step } from "./job-steps.ts";

export const PHASES = [
  "admission",
  "model-call",
  "tool-first",
  "tool-third",
  "tool-last",
  "tool-repeatable",
  "settlement",
] as const;
export type Phase = (typeof PHASES)[number];

export interface JobPlan {
  /** Names the job everywhere, and is its idempotency key. */
  readonly key: string;
  readonly thread: string;
  /** How long the stub takes for each step before the kill. */
  readonly delaysMillis: readonly number[];
}

/** What the kill aims at: the submits as they leave, the first receipt that comes back, or a call of the victim at the stub. */
export type Target =
  | { readonly kind: "submit" }
  | { readonly kind: "receipt" }
  | { readonly kind: "call"; readonly step: Step; readonly moment: "arrival" | "reply" };

export interface KillPlan {
  readonly index: number;
  readonly phase: Phase;
  readonly target: Target;
  /** From that moment to the SIGKILL. */
  readonly offsetMillis: number;
  /** The first is the victim, whose call is the target; the others are load. */
  readonly jobs: readonly [JobPlan, ...JobPlan[]];
}

const MAX_DELAY_MILLIS = 25;
/** A job in three opens a thread of its own; the others share these, so that logs grow long and hold many interrupted runs. */
const SHARED_THREADS = 16;

export function planKills(seed: number, kills: number): KillPlan[] {
  const random = seeded(seed);
  const plans: KillPlan[] = [];
  let block: Phase[] = [];
  for (let index = 1; index <= kills; index++) {
    // Phases come in shuffled blocks, so that a short run reaches each of them.
    if (block.length === 0) block = shuffle(PHASES, random);
    const phase = block.shift() ?? "admission";
    plans.push({ index, phase, ...planMoment(phase, random), jobs: planJobs(index, random) });
  }
  return plans;
}

function planMoment(phase: Phase, random: Random): Pick<KillPlan, "target" | "offsetMillis"> {
  const after = random() < 0.4;
  const spread = random();
  const aim = (step: Step) =>
    ({
      target: { kind: "call", step, moment: after ? "reply" : "arrival" },
      offsetMillis: spread * (after ? 30 : 50),
    }) as const;
  switch (phase) {
    case "admission":
      // The other receipts follow the first within a few milliseconds: most of these kills fall among them.
      return after
        ? { target: { kind: "submit" }, offsetMillis: spread * 15 }
        : { target: { kind: "receipt" }, offsetMillis: spread ** 3 * 15 };
    case "model-call":
      return {
        target: {
          kind: "call",
          step: pick(["model-1", "model-2", "model-3", "model-4"], random),
          moment: "arrival",
        },
        offsetMillis: spread * 50,
      };
    case "tool-first":
      return aim("charge-0");
    case "tool-third":
      return aim("charge-2");
    case "tool-last":
      return aim("charge-3");
    case "tool-repeatable":
      return aim(pick(["look_up", "save_note"], random));
    case "settlement":
      return {
        target: { kind: "call", step: "model-4", moment: "reply" },
        offsetMillis: spread * 15,
      };
  }
}

function planJobs(index: number, random: Random): KillPlan["jobs"] {
  const shared = shuffle(
    Array.from({ length: SHARED_THREADS }, (_, thread) => `shared-${thread}`),
    random,
  );
  const job = (number: number, thread: string): JobPlan => ({
    key: `k${index}-j${number}`,
    thread,
    delaysMillis: STEPS.map(() => Math.floor(random() * MAX_DELAY_MILLIS)),
  });
  const threadOf = (number: number): string =>
    random() < 1 / 3 ? `own-${index}-${number}` : (shared[number] ?? "shared");
  const victim = job(0, threadOf(0));
  const others = Array.from({ length: 3 + Math.floor(random() * 4) }, (_, other) =>
    job(other + 1, threadOf(other + 1)),
  );
  // Sometimes more work waits behind the victim: it must run whether the victim goes on or parks.
  const behind = random() < 1 / 3 ? [job(others.length + 1, victim.thread)] : [];
  return [victim, ...others, ...behind];
}
