// The real edge of the world: the platform's clock and randomness, and no crash points.
import { NO_FAILPOINTS } from "../../shared/failpoints.ts";
import type { Ports } from "../../shared/ports.ts";

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
