// Calling an object, with a new stub for each try. A try may be repeated because every method is idempotent: by key, by operation, or as it
// only reads.
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { RPC_DEADLINE_MILLIS } from "../../shared/limits.ts";
import { raceTimer } from "../../shared/race-timer.ts";
import { unwrap, type RpcResult } from "../../shared/wire/rpc.ts";

const MAX_TRIES = 3;

/**
 * Calls `method` on a fresh stub. The platform marks errors of infrastructure `retryable` and `overloaded`; an overloaded object must
 * not be called again at once. A call that broke off answers `Unavailable`, one without an answer in time `DeadlineExceeded`, both with
 * outcome `unknown`: repeat the identical command.
 * @param waitMillis how long the method itself may wait before it answers
 */
export async function callRpc<Stub, Value>(
  makeStub: () => Stub,
  method: (stub: Stub) => Promise<RpcResult<Value>>,
  waitMillis = 0,
): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return unwrap(
        await raceTimer(method(makeStub()), waitMillis + RPC_DEADLINE_MILLIS, noAnswer),
      );
    } catch (error) {
      if (error instanceof HoldfastError) throw error;
      if (attempt < MAX_TRIES && flag(error, "retryable") && !flag(error, "overloaded")) continue;
      throw new HoldfastError(
        flag(error, "overloaded") ? "Overloaded" : "Unavailable",
        "The thread's object broke off the call. Repeat the identical request: it has its key.",
        { cause: error, fields: { outcome: "unknown", retryAfterSeconds: 1 } },
      );
    }
  }
}

function noAnswer(): never {
  throw new HoldfastError(
    "DeadlineExceeded",
    "The thread's object did not answer in time. Repeat the identical request: it has its key.",
    { fields: { outcome: "unknown" } },
  );
}

function flag(error: unknown, name: "retryable" | "overloaded"): boolean {
  return typeof error === "object" && error !== null && Reflect.get(error, name) === true;
}
