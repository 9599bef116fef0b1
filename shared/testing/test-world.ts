// The world's edge as objects under test see it: a clock that stands still, ids that count, crash points, gates to wait at, and the counters of
// tool stubs. One per isolate, outside every object, so that an object's crash does not touch it.
import { FAILPOINTS, type Failpoint, type Failpoints } from "../failpoints.ts";
import type { LosableObject, Ports } from "../ports.ts";

/** Far ahead of the machine's clock, so that no alarm fires by itself: tests drive every one. */
const EPOCH = Date.parse("2036-01-01T00:00:00.000Z");

/** `throw`: the event goes on with an error. `abort`: the object is lost with all writes since the last real wait. `sync-abort`: it is
 * lost after everything that was committed reached the disk. */
export type CrashMode = "throw" | "abort" | "sync-abort";

/** What a crash point throws. */
export class Crash extends Error {
  override readonly name = "Crash";
}

interface ArmedCrash {
  readonly point: Failpoint;
  readonly mode: CrashMode;
  hitsLeft: number;
}

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

export class TestWorld {
  #now = EPOCH;
  #tokens = 0;
  #armed: readonly ArmedCrash[] = [];
  readonly reached = new Map<Failpoint, number>();
  readonly fired = new Map<Failpoint, number>();
  /** Executions of tool handlers by operation id: what really happened outside. */
  readonly executions = new Map<string, number>();
  /** Gates that handlers and models of the scripts wait at, by name: those that are open, and who waits at the others. Each has a promise of
   * its own, as one of an object that is gone never resolves. */
  readonly #open = new Set<string>();
  readonly #waiting = new Map<string, PromiseWithResolvers<void>[]>();
  readonly #arrived = new Set<string>();
  /** Model calls by the text of the input that they were for. */
  readonly modelCalls = new Map<string, number>();

  readonly ports: Ports = {
    clock: { now: () => this.#now },
    ids: {
      token: () => {
        this.#tokens += 1;
        let rest = this.#tokens;
        return Array.from({ length: 16 }, () => {
          const letter = BASE32[rest % 32] ?? "a";
          rest = Math.floor(rest / 32);
          return letter;
        }).join("");
      },
      random: () => 0.5,
    },
    failpoints: (ctx) => this.#failpointsOf(ctx),
  };

  get now(): number {
    return this.#now;
  }

  advance(millis: number): void {
    this.#now += millis;
  }

  advanceTo(at: number): void {
    this.#now = Math.max(this.#now, at);
  }

  /** Crashes, one after the other: the next object that passes the first point for its `hit`th time crashes there, once; then the next
   * point is armed. */
  armCrashes(...crashes: readonly { point: Failpoint; mode: CrashMode; hit?: number }[]): void {
    this.#armed = crashes.map(({ point, mode, hit }) => ({ point, mode, hitsLeft: hit ?? 1 }));
  }

  /** Disarms, and says how many crashes never came. */
  disarm(): number {
    const pending = this.#armed.length;
    this.#armed = [];
    return pending;
  }

  countExecution(operationId: string): void {
    this.executions.set(operationId, (this.executions.get(operationId) ?? 0) + 1);
  }

  /** Waits at a gate until it is opened. */
  async passGate(name: string): Promise<void> {
    this.#arrived.add(name);
    if (this.#open.has(name)) return;
    const own = Promise.withResolvers<void>();
    this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), own]);
    await own.promise;
  }

  /** Someone waits at the gate. */
  hasArrivedAt(name: string): boolean {
    return this.#arrived.has(name);
  }

  /** Someone waits at the gate now. */
  isHeldAt(name: string): boolean {
    return this.#waiting.has(name);
  }

  /** Call inside the object that waits: the runtime forbids resolving another object's promises. */
  openGate(name: string): void {
    this.#open.add(name);
    for (const waiting of this.#waiting.get(name) ?? []) waiting.resolve();
    this.#waiting.delete(name);
  }

  /** Forgets all gates, as after a crash: whoever waited is gone, and a later attempt waits anew. */
  forgetGates(): void {
    this.#open.clear();
    this.#waiting.clear();
    this.#arrived.clear();
  }

  /** Counters that a whole run of the suite must have moved: points that no test reached. */
  unreached(): Failpoint[] {
    return FAILPOINTS.filter((point) => !this.reached.has(point));
  }

  #failpointsOf(ctx: LosableObject): Failpoints {
    let isLost = false;
    return {
      hit: (point) => {
        // Until the object is gone, nothing of it may go on.
        if (isLost) throw new Crash("the object is lost");
        this.reached.set(point, (this.reached.get(point) ?? 0) + 1);
        const [armed, ...later] = this.#armed;
        if (armed === undefined || armed.point !== point) return;
        armed.hitsLeft -= 1;
        if (armed.hitsLeft > 0) return;
        this.#armed = later;
        this.fired.set(point, (this.fired.get(point) ?? 0) + 1);
        if (armed.mode !== "throw") this.forgetGates();
        if (armed.mode === "abort") {
          isLost = true;
          ctx.abort("crash point");
        }
        if (armed.mode === "sync-abort") {
          isLost = true;
          ctx.waitUntil(ctx.storage.sync().then(() => ctx.abort("crash point after sync")));
        }
        throw new Crash(`crash at ${point}`);
      },
    };
  }
}
