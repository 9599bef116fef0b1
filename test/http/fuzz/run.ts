// Sends random requests one after the other, each a property of its own, so that one that fails is shrunk where it stands; and counts.
import * as fc from "fast-check";
import { expect } from "vitest";
import type { FuzzReport } from "./settings.ts";

/** One kind of request, and what is expected of each. */
export interface Slot {
  readonly run: (seed: number) => Promise<void>;
}

/** A request that is not answered by then has failed, and one that failed is not shrunk for longer. */
const MAX_MILLIS = 30_000;
const MAX_SHOWN = 2_000;

export function slotOf<T>(requests: fc.Arbitrary<T>, ask: (request: T) => Promise<void>): Slot {
  const shown = requests.map((request) => ({
    request,
    [fc.toStringMethod]: () => fc.stringify(request).slice(0, MAX_SHOWN),
  }));
  const property = fc.asyncProperty(shown, ({ request }) => ask(request));
  return {
    run: (seed) =>
      fc.assert(property, {
        seed,
        numRuns: 1,
        interruptAfterTimeLimit: MAX_MILLIS,
        markInterruptAsFailure: true,
      }),
  };
}

/** Every slot as often as every other, in rounds of another order each. */
export async function runSlots(
  slots: readonly Slot[],
  requests: number,
  seed: number,
): Promise<void> {
  let round: Slot[] = [];
  for (let sent = 0; sent < requests; sent += 1) {
    if (round.length === 0) round = shuffle(slots, mix(seed, sent));
    await round.pop()?.run(mix(seed, sent));
  }
}

function shuffle(slots: readonly Slot[], seed: number): Slot[] {
  const all = { minLength: slots.length, maxLength: slots.length };
  return fc.sample(fc.noBias(fc.shuffledSubarray([...slots], all)), { seed, numRuns: 1 }).flat();
}

/** Another number for each request: neighbouring seeds begin alike. */
function mix(seed: number, index: number): number {
  let mixed = Math.imul(seed ^ Math.imul(index + 1, 0x9e3779b1), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) | 0;
}

export class Tally {
  readonly #answers = new Map<string, Map<string, number>>();
  readonly #accepted = new Set<string>();
  readonly #refused = new Set<string>();
  #requests = 0;
  refusedWithoutWrite = 0;
  readsWithoutWrite = 0;

  add(operation: string, answer: string, isAccepted: boolean): void {
    this.#requests += 1;
    const answers = this.#answers.get(operation) ?? new Map<string, number>();
    this.#answers.set(operation, answers);
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
    (isAccepted ? this.#accepted : this.#refused).add(operation);
  }

  /** Expects that each of the operations was accepted and refused: that what is sent reaches past the front door, and is stopped there. */
  expectBoth(operations: readonly string[]): void {
    const report = JSON.stringify(this.#report());
    for (const operation of operations) {
      expect(this.#accepted, `accepted: ${report}`).toContain(operation);
      expect(this.#refused, `refused: ${report}`).toContain(operation);
    }
  }

  report(surface: string, threadsChecked: number): FuzzReport {
    const { refusedWithoutWrite, readsWithoutWrite } = this;
    return {
      surface,
      requests: this.#requests,
      refusedWithoutWrite,
      readsWithoutWrite,
      threadsChecked,
      answers: this.#report(),
    };
  }

  #report(): Record<string, Record<string, number>> {
    return Object.fromEntries(
      [...this.#answers].map(([operation, answers]) => [operation, Object.fromEntries(answers)]),
    );
  }
}

/** Operations that may change a thread. */
const WRITES = new Set(["submit", "abort", "decideOperations", "repair"]);

export function isWrite(operation: string): boolean {
  return WRITES.has(operation);
}
