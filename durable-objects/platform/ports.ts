// The world's edge as the runtime sees it: clock, ids and crash points. Tests hand in their own.
import type { IdSource } from "../../shared/ids.ts";
import type { Clock } from "../../shared/time.ts";
import { NO_FAILPOINTS, type Failpoints } from "./failpoints.ts";

export interface Ports {
  readonly clock: Clock;
  readonly ids: IdSource;
  /** One set of crash points per object, so that a crash can abort the object that reached it. */
  failpoints(ctx: DurableObjectState): Failpoints;
}

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

export const systemPorts: Ports = {
  clock: { now: () => Date.now() },
  ids: {
    token: () =>
      Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => BASE32[byte & 31]).join(""),
    random: () => Math.random(),
  },
  failpoints: () => NO_FAILPOINTS,
};
