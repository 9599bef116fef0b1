// The due queue with its alarm: whatever changes a lane's due time re-arms the slot in the same transaction (ALM-01).
import type { AlarmSlot } from "./alarm-slot.ts";
import type { Due, LaneEntry } from "./due.ts";
import type { DueQueueStore } from "./due-queue.store.ts";

export class DueQueue {
  readonly #store: DueQueueStore;
  readonly #slot: AlarmSlot;

  constructor(store: DueQueueStore, slot: AlarmSlot) {
    this.#store = store;
    this.#slot = slot;
  }

  read(lane: string): LaneEntry | null {
    return this.#store.read(lane);
  }

  /** Call inside the transaction that produced the work. */
  enrol(lane: string, due: Due): void {
    this.#store.enrol(lane, due);
    this.rearm();
  }

  /** Call inside a transaction. False when a newer enrolment came: the wave looks again. The slot is armed either way: the alarm that the
   * newer enrolment set may have been delivered, and used up, while the wave ran. */
  acknowledge(lane: string, seenRevision: number, due: Due): boolean {
    const acknowledged = this.#store.acknowledge(lane, seenRevision, due);
    this.rearm();
    return acknowledged;
  }

  /** Notes a wave that failed, whatever came meanwhile: the lane waits for its backoff, and the next wave knows. Call inside a
   * transaction. */
  fail(lane: string, due: Due, attempts: number): void {
    this.#store.fail(lane, due, attempts);
    this.rearm();
  }

  /** For the constructor: an alarm that died is armed at its stored time, not later, as a later time would cancel a delivery in progress
   * (ALM-07). An object that owes nothing is left alone. */
  rearmOwed(): void {
    const earliest = this.#store.earliest();
    if (earliest !== null) this.#slot.arm(earliest);
  }

  /** Arms for the earliest due time of all lanes. Call inside the transaction that changed one past this queue. */
  rearm(): void {
    this.#slot.arm(this.#store.earliest());
  }
}
