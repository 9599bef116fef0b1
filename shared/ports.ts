// The world's edge as the runtime sees it: clock, ids and crash points. Tests hand in their own.
import type { Failpoints } from "./failpoints.ts";
import type { IdSource } from "./ids.ts";
import type { Clock } from "./time.ts";

/** An object as far as a crash point has to know it, so that it can be lost. */
export interface LosableObject {
  abort(reason?: string): void;
  waitUntil(work: Promise<unknown>): void;
  readonly storage: { sync(): Promise<void> };
}

export interface Ports {
  readonly clock: Clock;
  readonly ids: IdSource;
  /** One set of crash points per object, so that a crash can abort the object that reached it. */
  failpoints(object: LosableObject): Failpoints;
}
