// What a lane is: deferred work of the host, or of the runtime itself, that shares an object's one alarm with its runs (LANE-01).
import { z } from "zod";
import type { EpochMillis } from "../../shared/time.ts";
import type { Environment, Services } from "../../shared/define/environment.ts";

/** A change of a thread that may owe something elsewhere (LANE-07). */
export interface Mutation {
  readonly kind: "Admission" | "Settlement" | "WorkerStop";
  readonly threadId: string;
  readonly submissionId: string;
  /** Of `WorkerStop`: the attempt that ended. */
  readonly attempt?: number;
}

/** A mutation as a lane is handed it: the same `id` however often it is delivered, so that a destination can drop what it has seen. */
export interface Envelope extends Mutation {
  readonly id: string;
}

/** One run of a lane. */
export interface LaneWave {
  /** Aborts after the lane's `dispatchTimeoutMillis`. Pass it to every `fetch`: what is not done by then has failed. */
  readonly signal: AbortSignal;
  /** What was armed with mutations and is not acknowledged yet, oldest first, at most 128. A wave that returns null acknowledges these. */
  readonly envelopes: readonly Envelope[];
  /** The highest cursor that the source reported; 0 before. */
  readonly cursor: number;
  readonly now: EpochMillis;
  readonly env: Environment;
  readonly services: Services;
}

export interface Lane {
  /** Unique in the deployment; 1 to 128 characters. The prefix `holdfast:` is the runtime's. */
  readonly id: string;
  /** 1 to 300,000. Covers everything that the wave does, receipts and cleanup included. */
  readonly dispatchTimeoutMillis: number;
  /** `concurrent` (the default): beside the runs. `after-native`: one wave once the runs of the event have ended, however they did. */
  readonly phase?: "concurrent" | "after-native";
  /**
   * Contract: at least once. Null drains the lane. Epoch milliseconds: something is left, and the lane is due again then. Without progress of its
   * source meanwhile that is not before a backoff of 1 s and more, and after eight such waves in a row the lane is parked: it is looked at once an
   * hour, reported, and resumed by progress or by an operator. A throw, a rejection or anything else keeps the obligation, and counts alike.
   */
  readonly run: (wave: LaneWave) => EpochMillis | null | Promise<EpochMillis | null>;
}

/** What a wave is handed of a lane of the runtime's own: what was posted, oldest first. */
export interface RuntimeLane extends Omit<Lane, "run"> {
  readonly run: (
    wave: Omit<LaneWave, "envelopes"> & { readonly posted: readonly unknown[] },
  ) => EpochMillis | null | Promise<EpochMillis | null>;
}

/** Delivers the recovery events of a thread. */
export const RECOVERY_LANE = "holdfast:recovery-events";

/** A lane of the host as one of the runtime's: its posts are envelopes. */
export function asRuntimeLane({ run, ...lane }: Lane): RuntimeLane {
  return {
    ...lane,
    run: ({ posted, ...wave }) =>
      run({ ...wave, envelopes: z.array(EnvelopeSchema).parse(posted) }),
  };
}

const EnvelopeSchema = z.object({
  id: z.string(),
  kind: z.enum(["Admission", "Settlement", "WorkerStop"]),
  threadId: z.string(),
  submissionId: z.string(),
  attempt: z.int().exactOptional(),
});

/** Contract: pure; ids of the deployment's lanes that a mutation owes something to. Asked inside the mutation's transaction. */
export type HostLanesForMutation = (mutation: Mutation) => readonly string[];
