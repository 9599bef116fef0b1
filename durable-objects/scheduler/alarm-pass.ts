// One event's pass over the object's due work: single-flight, never throws, and always leaves either nothing owed or an armed alarm.
// An admission starts it at once; the alarm, a few milliseconds later, finds it running and awaits it, which keeps the object alive.
import {
  EVENT_CEILING_MILLIS,
  MAX_ATTEMPTS_AT_ONCE,
  YIELD_AFTER_MILLIS,
} from "../../shared/limits.ts";
import type { Clock } from "../../shared/time.ts";
import type { Database } from "../platform/database.ts";
import type { Failpoints } from "../../shared/failpoints.ts";
import { errorName, logEvent } from "../platform/log.ts";
import { planRetry, type Due, type LaneEntry } from "./due.ts";
import type { DueQueue } from "./due-queue.ts";
import type { Lanes } from "./lanes.ts";
import type { EventBudget, NativeLanes, WaveEntry } from "./native-lanes.ts";

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
  readonly natives: NativeLanes;
  readonly lanes: Lanes;
  readonly tracer: PassTracer;
  /** Ends this incarnation: the last resort when the re-arm itself cannot be committed. Awaited, so that the alarm's delivery fails with
   * it and the platform redelivers it. */
  readonly abortObject: (reason: string) => Promise<void>;
}

export class AlarmPass {
  readonly #ports: AlarmPassPorts;
  #running: Promise<void> | null = null;
  /** There may be due runs that no wave of this pass has looked for. */
  #isNativeWanted = false;
  #look: () => void = () => undefined;
  /** An alarm was delivered to the pass that runs: the slot is empty. */
  #hasUsedAlarm = false;

  constructor(ports: AlarmPassPorts) {
    this.#ports = ports;
    ports.lanes.onEnrolled = () => this.#look();
  }

  /** Runs a pass, or joins the one that runs. Never rejects (ALM-03). */
  drain(cause: PassCause): Promise<void> {
    const { tracer } = this.#ports;
    if (cause.kind === "alarm") {
      this.#hasUsedAlarm = true;
      tracer.hold();
    }
    this.#isNativeWanted = true;
    this.#look();
    this.#running ??= this.#pass(cause).finally(() => {
      tracer.release();
      this.#running = null;
      this.#hasUsedAlarm = false;
    });
    return this.#running;
  }

  async #pass(cause: PassCause): Promise<void> {
    const { clock, limits, dueQueue, lanes } = this.#ports;
    const startedAt = clock.now();
    const budget: EventBudget = {
      yieldAt: startedAt + limits.yieldAfterMillis,
      ceilingAt: startedAt + limits.ceilingMillis,
    };
    try {
      await this.#runPhases(cause, budget);
      // An alarm that came early, or for a lane that is not due yet, used up the slot.
      if (this.#hasUsedAlarm && lanes.mayBeDue) dueQueue.rearmOwed();
    } catch (error) {
      logEvent("error", "rearm-failed", { error: errorName(error) });
      await this.#ports.abortObject("the due queue could not be written");
    }
  }

  /** The runs and the concurrent lanes side by side, each as it becomes due; the lanes that come after, one by one, while neither runs. */
  async #runPhases(cause: PassCause, budget: EventBudget): Promise<void> {
    const { lanes } = this.#ports;
    /** Lanes that have failed, or had the one wave of their phase. */
    const closed = new Set<string>();
    const running = new Map<string, Promise<void>>();
    const failures: unknown[] = [];
    const runs = new Set<string>();
    const start = (lane: string, work: () => Promise<void>): void => {
      const run = async (): Promise<void> => {
        try {
          await work();
        } catch (error) {
          failures.push(error);
        }
        running.delete(lane);
        this.#look();
      };
      running.set(lane, run());
    };
    for (;;) {
      if (failures.length > 0) {
        await Promise.all(running.values());
        throw failures[0];
      }
      const looked = this.#looking();
      for (const lane of this.#nextNatives(closed, runs)) {
        runs.add(lane);
        start(lane, async () => {
          if (!(await this.#runNative(lane, cause, budget))) closed.add(lane);
          runs.delete(lane);
        });
      }
      for (const row of lanes.due("concurrent", budget.ceilingAt, closed)) {
        if (running.has(row.lane)) continue;
        start(row.lane, async () => {
          if (!(await lanes.runWave(row))) closed.add(row.lane);
        });
      }
      if (running.size > 0) {
        await looked;
        continue;
      }
      const [after] = lanes.due("after-native", budget.ceilingAt, closed);
      if (after === undefined) return;
      closed.add(after.lane);
      await lanes.runWave(after);
    }
  }

  /** The lanes of threads that start now: two at most run at once (ALM-02). */
  #nextNatives(closed: ReadonlySet<string>, runs: ReadonlySet<string>): string[] {
    const { natives } = this.#ports;
    if (!this.#isNativeWanted) return [];
    const free = MAX_ATTEMPTS_AT_ONCE - runs.size;
    const open = natives.next().filter((lane) => !closed.has(lane) && !runs.has(lane));
    const starting = open.slice(0, free);
    // Where threads take turns, the next to end makes room for another.
    this.#isNativeWanted = natives.isShared() && open.length > 0;
    for (const lane of starting) natives.granted(lane);
    return starting;
  }

  /** Resolves once something is to be looked at: work that ended, or that was enrolled. */
  #looking(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#look = resolve;
    return promise;
  }

  /** Waves of the runs. False when no further one may run in this event: it failed, or its time is up. */
  async #runNative(lane: string, cause: PassCause, budget: EventBudget): Promise<boolean> {
    const { clock, dueQueue, natives } = this.#ports;
    for (;;) {
      const seen = dueQueue.read(lane);
      if (seen === null || seen.dueAt === null) return true;
      if (seen.dueAt > clock.now()) {
        // An alarm that came early used up the slot: it is armed again for the work's own time.
        if (this.#hasUsedAlarm) dueQueue.rearmOwed();
        return true;
      }
      const isSuspect = seen.attempts > 0 || (cause.kind === "alarm" && cause.isRetry);
      const end = await this.#wave(lane, { ...seen, isSuspect }, budget);
      if (end !== "again") return end === "over";
      // Where threads take turns, this one has had its own.
      if (natives.isShared()) return true;
    }
  }

  /** `again` when a newer enrolment came meanwhile; `closed` when the lane is not to run again in this event. */
  async #wave(
    lane: string,
    seen: WaveEntry,
    budget: EventBudget,
  ): Promise<"over" | "closed" | "again"> {
    const { dueQueue, database, failpoints, natives } = this.#ports;
    let due: Due;
    try {
      due = await natives.run(lane, budget, seen);
      failpoints.hit("finish-pass:before");
    } catch (error) {
      this.#failWave(lane, seen.attempts + 1, error);
      return "closed";
    }
    if (isAlreadyStored(dueQueue.read(lane), seen.revision, due)) return "over";
    const acknowledged = database.transact(() => {
      const done = dueQueue.acknowledge(lane, seen.revision, due);
      failpoints.hit("finish-pass:inside");
      return done;
    });
    failpoints.hit("finish-pass:after");
    // The event's time is up, whatever came meanwhile: its alarm is armed.
    if (due.reason === "yield" || due.reason === "pass-failed") return "closed";
    return acknowledged ? "over" : "again";
  }

  #failWave(lane: string, attempts: number, error: unknown): void {
    const { clock, dueQueue, database, failpoints, random } = this.#ports;
    logEvent("error", "pass-failed", { error: errorName(error), attempts });
    const due = planRetry(attempts, clock.now(), random());
    database.transact(() => {
      dueQueue.fail(lane, due, attempts);
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
