// One event's pass over the object's due work: single-flight, never throws, and always leaves either nothing owed or an armed alarm.
// An admission starts it at once; the alarm, a few milliseconds later, finds it running and awaits it, which keeps the object alive.
import { EVENT_CEILING_MILLIS, YIELD_AFTER_MILLIS } from "../../shared/limits.ts";
import type { Clock, EpochMillis } from "../../shared/time.ts";
import type { Database } from "../platform/database.ts";
import type { Failpoints } from "../../shared/failpoints.ts";
import { errorName, logEvent } from "../platform/log.ts";
import { NATIVE_LANE, planRetry, type Due, type LaneEntry } from "./due.ts";
import type { DueQueue } from "./due-queue.ts";

/** The deadlines that all work of one event shares (ALM-02). New arrivals renew neither. */
export interface EventBudget {
  readonly yieldAt: EpochMillis;
  readonly ceilingAt: EpochMillis;
}

/** What a lane does in an event, given its entry as the event found it. Contract: resolves with what it still owes; a rejection is a
 * failed wave, retried with backoff. */
export type LaneWave = (budget: EventBudget, entry: WaveEntry) => Promise<Due>;

export interface WaveEntry extends LaneEntry {
  /** A wave before this one failed, or died: whatever is started now is charged before anything is read. */
  readonly isSuspect: boolean;
}

export interface EventLimits {
  readonly yieldAfterMillis: number;
  readonly ceilingMillis: number;
}

export const DEFAULT_EVENT_LIMITS: EventLimits = {
  yieldAfterMillis: YIELD_AFTER_MILLIS,
  ceilingMillis: EVENT_CEILING_MILLIS,
};

/** What started a pass. */
export type PassCause =
  /** `isRetry`: the platform delivers it again, as the delivery before it died. */
  { readonly kind: "alarm"; readonly isRetry: boolean } | { readonly kind: "change" };

/** Told which event reports what a pass traces: the alarm's, which awaits it. */
export interface PassTracer {
  hold(): void;
  release(): void;
}

export interface AlarmPassPorts {
  readonly database: Database;
  readonly dueQueue: DueQueue;
  readonly clock: Clock;
  readonly random: () => number;
  readonly failpoints: Failpoints;
  readonly limits: EventLimits;
  readonly runNative: LaneWave;
  readonly tracer: PassTracer;
  /** Ends this incarnation: the last resort when the re-arm itself cannot be committed. Awaited, so that the alarm's delivery fails with
   * it and the platform redelivers it. */
  readonly abortObject: (reason: string) => Promise<void>;
}

export class AlarmPass {
  readonly #ports: AlarmPassPorts;
  #running: Promise<void> | null = null;
  /** An alarm was delivered to the pass that runs: the slot is empty. */
  #hasUsedAlarm = false;

  constructor(ports: AlarmPassPorts) {
    this.#ports = ports;
  }

  /** Runs a pass, or joins the one that runs. Never rejects (ALM-03). */
  drain(cause: PassCause): Promise<void> {
    const { tracer } = this.#ports;
    if (cause.kind === "alarm") {
      this.#hasUsedAlarm = true;
      tracer.hold();
    }
    this.#running ??= this.#pass(cause).finally(() => {
      tracer.release();
      this.#running = null;
      this.#hasUsedAlarm = false;
    });
    return this.#running;
  }

  async #pass(cause: PassCause): Promise<void> {
    const { clock, limits, dueQueue } = this.#ports;
    const startedAt = clock.now();
    const budget: EventBudget = {
      yieldAt: startedAt + limits.yieldAfterMillis,
      ceilingAt: startedAt + limits.ceilingMillis,
    };
    for (;;) {
      try {
        const seen = dueQueue.read(NATIVE_LANE);
        if (seen === null || seen.dueAt === null) return;
        if (seen.dueAt > clock.now()) {
          // An alarm that came early used up the slot: it is armed again for the work's own time.
          if (this.#hasUsedAlarm) dueQueue.rearmOwed();
          return;
        }
        const isSuspect = seen.attempts > 0 || (cause.kind === "alarm" && cause.isRetry);
        if (await this.#wave({ ...seen, isSuspect }, budget)) return;
      } catch (error) {
        logEvent("error", "rearm-failed", { error: errorName(error) });
        await this.#ports.abortObject("the due queue could not be written");
        return;
      }
    }
  }

  /** True when the pass is over; false when a newer enrolment came meanwhile. */
  async #wave(seen: WaveEntry, budget: EventBudget): Promise<boolean> {
    const { dueQueue, database, failpoints, runNative } = this.#ports;
    let due: Due;
    try {
      due = await runNative(budget, seen);
      failpoints.hit("finish-pass:before");
    } catch (error) {
      this.#failWave(seen.attempts + 1, error);
      return true;
    }
    if (isAlreadyStored(dueQueue.read(NATIVE_LANE), seen.revision, due)) return true;
    const acknowledged = database.transact(() => {
      const done = dueQueue.acknowledge(NATIVE_LANE, seen.revision, due);
      failpoints.hit("finish-pass:inside");
      return done;
    });
    failpoints.hit("finish-pass:after");
    // The event's time is up, whatever came meanwhile: its alarm is armed.
    return acknowledged || due.reason === "yield";
  }

  #failWave(attempts: number, error: unknown): void {
    const { clock, dueQueue, database, failpoints, random } = this.#ports;
    logEvent("error", "pass-failed", { error: errorName(error), attempts });
    const due = planRetry(attempts, clock.now(), random());
    database.transact(() => {
      dueQueue.fail(NATIVE_LANE, due, attempts);
      failpoints.hit("rearm:inside");
    });
  }
}

/** A settlement that left nothing owed put the lane to rest in its own transaction. */
function isAlreadyStored(stored: LaneEntry | null, seenRevision: number, due: Due): boolean {
  return (
    stored !== null &&
    stored.revision === seenRevision &&
    stored.dueAt === null &&
    due.dueAt === null
  );
}
