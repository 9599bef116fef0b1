// In-memory waits for the log to grow. Reading and subscribing are one synchronous stretch, so that no commit between the two is missed.
// What is waited for is always read from storage: a wake-up carries nothing.
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import { MAX_CANCEL_HINTS, MAX_RECORD_WAITERS, MAX_WAITERS } from "../../../shared/limits.ts";

type WakeUp = "committed" | "timeout" | "cancelled";

/** What a wait is for: any new record, or a settlement. A commit of the other kind does not wake it. */
export type Awaited = "record" | "settlement";

interface Waiter {
  readonly awaited: Awaited;
  readonly wake: (how: WakeUp) => void;
}

export class ProgressWaiters {
  readonly #waiting = new Map<string, Waiter>();
  /** Waits that were cancelled, oldest first: their ids are used up. */
  readonly #cancelHints = new Set<string>();
  #unnamed = 0;

  /** Wakes those whom the commit concerns: called after each. */
  notify(hasSettled: boolean): void {
    for (const [id, { awaited, wake }] of this.#waiting) {
      if (awaited === "settlement" && !hasSettled) continue;
      this.#waiting.delete(id);
      wake("committed");
    }
  }

  /** Ends one wait, whose caller gave up; true when it was there. It is remembered either way, so that a wait that comes late, or a
   * duplicate of one that ended, does not park (OBS-07). */
  cancel(waitId: string): boolean {
    this.#cancelHints.delete(waitId);
    this.#cancelHints.add(waitId);
    const [oldest] = this.#cancelHints;
    if (oldest !== undefined && this.#cancelHints.size > MAX_CANCEL_HINTS) {
      this.#cancelHints.delete(oldest);
    }
    return this.#end(waitId);
  }

  #end(waitId: string): boolean {
    const waiter = this.#waiting.get(`caller:${waitId}`);
    this.#waiting.delete(`caller:${waitId}`);
    waiter?.wake("cancelled");
    return waiter !== undefined;
  }

  /**
   * What `read` returns as soon as that is not null; null after the timeout or a cancellation. `read` must be synchronous.
   * Throws `Overloaded` when too many wait already.
   */
  async waitFor<T>(
    awaited: Awaited,
    waitId: string | undefined,
    timeoutMillis: number,
    read: () => T | null,
  ): Promise<T | null> {
    const isCancelled = waitId !== undefined && this.#cancelHints.has(waitId);
    const until = isCancelled ? 0 : Date.now() + timeoutMillis;
    for (;;) {
      // Nothing can commit between this read and the place among the waiters: both are in one synchronous stretch.
      const value = read();
      if (value !== null || Date.now() >= until) return value;
      const wait = this.#subscribe(awaited, waitId, until - Date.now());
      try {
        if ((await wait.woken) !== "committed") return null;
      } finally {
        wait.leave();
      }
    }
  }

  #subscribe(
    awaited: Awaited,
    waitId: string | undefined,
    millis: number,
  ): { woken: Promise<WakeUp>; leave: () => void } {
    // A duplicate of a wait takes its place: its first caller is gone or will ask again.
    if (waitId !== undefined) this.#end(waitId);
    // Who watches an idle thread must not take the last places of those who wait for their work.
    const places = awaited === "record" ? MAX_RECORD_WAITERS : MAX_WAITERS;
    if (this.#waiting.size >= places) {
      throw new HoldfastError("Overloaded", "Too many callers wait on this thread. Poll instead.", {
        fields: { retryAfterSeconds: 1 },
      });
    }
    const id = waitId === undefined ? `own:${(this.#unnamed += 1)}` : `caller:${waitId}`;
    const { promise, resolve } = Promise.withResolvers<WakeUp>();
    const timer = setTimeout(() => resolve("timeout"), Math.max(0, millis));
    const waiter: Waiter = { awaited, wake: resolve };
    this.#waiting.set(id, waiter);
    return {
      woken: promise,
      leave: () => {
        clearTimeout(timer);
        if (this.#waiting.get(id) === waiter) this.#waiting.delete(id);
      },
    };
  }
}
