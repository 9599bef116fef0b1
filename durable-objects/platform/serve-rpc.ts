// The only wrapper around an object's RPC methods: checks the request, runs the handler, and turns every outcome into data.
import type { z } from "zod";
import { findRequestFault, renderJsonFault } from "../../shared/canonical-json.ts";
import { HoldfastError, schemaFaultsOf } from "../../shared/errors/holdfast-error.ts";
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
    return { ok: true, value: await handle(decodeRequest(method, schema, request)) };
  } catch (error) {
    if (error instanceof HoldfastError) return { ok: false, error: error.toWire() };
    logEvent("error", "rpc-defect", { method, error: errorName(error) });
    const defect = new HoldfastError("Defect", `${method} failed inside the object.`, {
      fields: { outcome: "unknown" },
    });
    return { ok: false, error: defect.toWire() };
  }
}

/** Depth and width are bounded before a schema walks the value, as it does so recursively. */
function decodeRequest<Schema extends z.ZodType>(
  method: string,
  schema: Schema,
  request: unknown,
): z.output<Schema> {
  const fault = findRequestFault(request);
  if (fault !== null) {
    throw new HoldfastError("MalformedRequest", renderJsonFault(`The request of ${method}`, fault));
  }
  const parsed = schema.safeParse(request);
  if (parsed.success) return parsed.data;
  throw new HoldfastError("MalformedRequest", `The request of ${method} is malformed.`, {
    errors: schemaFaultsOf(parsed.error),
  });
}
