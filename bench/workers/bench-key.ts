// The credential of the benchmark's caller, worth something on the temporary servers that it starts alone.
import { createHash } from "node:crypto";

export const BENCH_TENANT = "bench";
export const BENCH_KEY = "bench-key-of-a-temporary-server";

/** The value of HOLDFAST_API_KEYS. */
export function benchApiKeys(): string {
  const sha256 = createHash("sha256").update(BENCH_KEY).digest("hex");
  const key = { id: "bench", sha256, tenant: BENCH_TENANT, principal: "bench" };
  return JSON.stringify([{ ...key, permissions: ["admin"] }]);
}
