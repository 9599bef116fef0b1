// The only wrapper around an object's RPC methods: checks the request, runs the handler, and turns every outcome into data.
import type { z } from "zod";
import { decodeRequest } from "../../shared/decode-request.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import type { RpcResult } from "../../shared/wire/rpc.ts";
import { errorName, logEvent } from "./log.ts";

/** An unexpected error answers `Defect`; what happened to the change is then unknown to the caller, who may ask again by key. */
export async function serveRpc<Schema extends z.ZodType, Value>(
  method: string,
  schema: Schema,
  request: unknown,
  handle: (request: z.output<Schema>) => Value | Promise<Value>,
): Promise<RpcResult<Value>> {
  try {
    const what = `The request of ${method}`;
    const decoded = decodeRequest(schema, request, { what, misshapen: `${what} is malformed.` });
    return { ok: true, value: await handle(decoded) };
  } catch (error) {
    if (error instanceof HoldfastError) return { ok: false, error: error.toWire() };
    logEvent("error", "rpc-defect", { method, error: errorName(error) });
    const defect = new HoldfastError("Defect", `${method} failed inside the object.`, {
      fields: { outcome: "unknown" },
    });
    return { ok: false, error: defect.toWire() };
  }
}
