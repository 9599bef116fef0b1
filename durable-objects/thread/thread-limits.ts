// The limits of a thread that a deployment may set; the defaults are the numbers of shared/limits.ts.
import {
  MAX_DATABASE_BYTES,
  MAX_FRUITLESS_ATTEMPTS,
  MAX_INPUT_BYTES,
  MAX_QUEUE_DEPTH,
} from "../../shared/limits.ts";
import { DEFAULT_EVENT_LIMITS, type EventLimits } from "../scheduler/alarm-pass.ts";

export interface ThreadLimits {
  /** THR-06. */
  readonly maxQueueDepth: number;
  readonly maxInputBytes: number;
  readonly maxDatabaseBytes: number;
  /** REC-10. */
  readonly maxFruitlessAttempts: number;
  /** ALM-02. */
  readonly event: EventLimits;
}

export const DEFAULT_THREAD_LIMITS: ThreadLimits = {
  maxQueueDepth: MAX_QUEUE_DEPTH,
  maxInputBytes: MAX_INPUT_BYTES,
  maxDatabaseBytes: MAX_DATABASE_BYTES,
  maxFruitlessAttempts: MAX_FRUITLESS_ATTEMPTS,
  event: DEFAULT_EVENT_LIMITS,
};
