// The envelope of every object call: results and errors are data, because an Error's class does not survive RPC.
import { HoldfastError, type WireError } from "../errors/holdfast-error.ts";

export type RpcResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: WireError };

/** The value, or throws the error that the peer sent. */
export function unwrap<T>(result: RpcResult<T>): T {
  if (result.ok) return result.value;
  throw HoldfastError.fromWire(result.error);
}
