// The threads of one object: each with its own log, ledger and lane, all with one alarm. Almost every object has one; what more than one costs is
// paid by those alone.
import type { ThreadCore } from "../thread-core.ts";
import { threadNumberOfLane } from "../../scheduler/due.ts";
import type { NativeLanes } from "../../scheduler/native-lanes.ts";
import type { NativeLanesStore } from "../../scheduler/native-lanes.store.ts";
import { resumeUnbound } from "../run/park-unbound.ts";
import { runHeads } from "../run/run-heads.ts";
import type { Clock } from "../../../shared/time.ts";
import type { ThreadsStore } from "./threads.store.ts";

export interface PlacedThreadsPorts {
  readonly store: ThreadsStore;
  readonly lanes: NativeLanesStore;
  readonly clock: Clock;
  readonly makeCore: (threadId: string, number: number) => ThreadCore;
}

export class PlacedThreads {
  readonly #ports: PlacedThreadsPorts;
  readonly #byId = new Map<string, ThreadCore>();
  #first: ThreadCore | null = null;
  #isShared = false;

  constructor(ports: PlacedThreadsPorts) {
    this.#ports = ports;
  }

  /** Takes up what storage holds, as far as an object that wakes has to: no history, and of several threads only those that wait for a binding. */
  wake(): void {
    const { store } = this.#ports;
    const [first, second] = store.firstTwo();
    if (first === undefined) return;
    this.#first = this.#open(first.threadId, first.number);
    this.#isShared = second !== undefined;
    const unbound = this.#isShared ? store.unbound() : [first];
    for (const { threadId, number, isUnbound } of unbound) {
      if (isUnbound) resumeUnbound(this.#open(threadId, number));
    }
  }

  /** Null while the object holds no thread. */
  get first(): ThreadCore | null {
    return this.#first;
  }

  /** The thread of that id, or null. */
  find(threadId: string): ThreadCore | null {
    const known = this.#byId.get(threadId);
    if (known !== undefined || !this.#isShared) return known ?? null;
    const placed = this.#ports.store.find(threadId);
    return placed === null ? null : this.#open(placed.threadId, placed.number);
  }

  /** A thread that is not there yet. Nothing is written: its admission does. */
  draft(threadId: string): ThreadCore {
    const number = this.#first === null ? 1 : this.#ports.store.nextNumber();
    return this.#ports.makeCore(threadId, number);
  }

  /** Call after the transaction that began the thread committed. */
  adopt(core: ThreadCore): void {
    if (this.#byId.has(core.threadId)) return;
    this.#byId.set(core.threadId, core);
    if (this.#first === null) this.#first = core;
    else this.#isShared = true;
  }

  /** What the pass runs: of one thread its lane, of several those that are due, in turn. */
  nativeLanes(): NativeLanes {
    const { lanes, clock } = this.#ports;
    return {
      isShared: () => this.#isShared,
      next: () => {
        if (this.#first === null) return [];
        return this.#isShared ? lanes.dueInTurn(clock.now()) : [this.#first.nativeLane];
      },
      granted: (lane) => {
        if (this.#isShared) lanes.turn(threadNumberOfLane(lane));
      },
      run: async (lane, budget, entry) => {
        const core = this.#coreOfLane(lane);
        if (core === null) return { reason: "idle", dueAt: null };
        return runHeads(core, { ...budget, isShared: this.#isShared }, entry);
      },
    };
  }

  #coreOfLane(lane: string): ThreadCore | null {
    if (this.#first?.nativeLane === lane) return this.#first;
    const placed = this.#ports.store.at(threadNumberOfLane(lane));
    return placed === null ? null : this.#open(placed.threadId, placed.number);
  }

  #open(threadId: string, number: number): ThreadCore {
    const known = this.#byId.get(threadId);
    if (known !== undefined) return known;
    const core = this.#ports.makeCore(threadId, number);
    core.takeUp();
    this.#byId.set(threadId, core);
    return core;
  }
}
