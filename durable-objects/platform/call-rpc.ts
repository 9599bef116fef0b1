// Calling an object, with a new stub for each try. A try may be repeated because every method is idempotent: by key, by operation, or as it
// only reads.
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { unwrap, type RpcResult } from "../../shared/wire/rpc.ts";

const MAX_TRIES = 3;

/**
 * Calls `method` on a fresh stub. The platform marks errors of infrastructure `retryable` and `overloaded`; an overloaded object must
 * not be called again at once. A call that broke off answers `Unavailable` with outcome `unknown`: repeat the identical command.
 */
export async function callRpc<Stub, Value>(
  makeStub: () => Stub,
  method: (stub: Stub) => Promise<RpcResult<Value>>,
): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return unwrap(await method(makeStub()));
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

function flag(error: unknown, name: "retryable" | "overloaded"): boolean {
  return typeof error === "object" && error !== null && Reflect.get(error, name) === true;
}
