// What the soak test's load and faults are, drawn from its seed: kinds of work, their sizes, and the times between kills. Pure, and imported
// by the deployment: nothing of a platform.
import type { OnBusy } from "../../shared/wire/submission.ts";
import { pick, type Random } from "../server/seeded.ts";

export const KINDS = ["answer", "tools", "approval", "abort"] as const;
export type Kind = (typeof KINDS)[number];

/** How often each kind comes. */
const MIX: readonly [Kind, ...Kind[]] = [
  "answer",
  "answer",
  "answer",
  "tools",
  "tools",
  "tools",
  "tools",
  "approval",
  "approval",
  "abort",
];

/** External calls of one `tools` turn. */
export const CHARGES = 3;

export interface JobPlan {
  /** Names the job everywhere, and is its idempotency key. The deployment reads its kind from it. */
  readonly key: string;
  readonly kind: Kind;
  /** What a person says to an `approval`. */
  readonly decision: "approve" | "deny" | "edit";
  /** On a thread that is meant to be busy: what it does there. Elsewhere it enqueues. */
  readonly onBusy: OnBusy;
  /** When an `abort` is sent after its receipt. */
  readonly abortAfterMillis: number;
  /** Its events are followed to the end. */
  readonly isFollowed: boolean;
  /** From its receipt to the next submit on the thread, whether or not it has settled by then. */
  readonly pauseMillis: number;
}

export function planJob(name: string, random: Random): JobPlan {
  const kind = pick(MIX, random);
  return {
    key: `${kind}-${name}`,
    kind,
    decision: pick(["approve", "deny", "edit"], random),
    onBusy: pick(["enqueue", "join", "join", "reject", "interrupt"], random),
    abortAfterMillis: random() * 800,
    isFollowed: random() < 0.3,
    pauseMillis: random() * 600,
  };
}

export function kindOf(key: string): Kind | null {
  return KINDS.find((kind) => key.startsWith(`${kind}-`)) ?? null;
}

/** How long the stub takes: mostly a moment, now and then long enough for a kill to find many calls open. */
export function planDelayMillis(random: Random): number {
  return random() < 0.2 ? random() * 1_500 : random() * 60;
}

/** From one kill to the next. */
export function planKillMillis(random: Random): number {
  return 20_000 + random() * 40_000;
}
