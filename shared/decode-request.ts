// How any request enters, over HTTP or RPC: bounded before a schema walks it, as a schema does so recursively.
import type { z } from "zod";
import { findRequestFault, renderJsonFault } from "./canonical-json.ts";
import { HoldfastError, schemaFaultsOf } from "./errors/holdfast-error.ts";

/** What a refusal says of the request: what it is called, and the sentence for one of the wrong shape. */
export interface RequestWording {
  readonly what: string;
  readonly misshapen: string;
}

/** The decoded request. Throws `MalformedRequest`, with JSON Pointers where the shape is wrong. */
export function decodeRequest<Schema extends z.ZodType>(
  schema: Schema,
  request: unknown,
  { what, misshapen }: RequestWording,
): z.output<Schema> {
  const fault = findRequestFault(request);
  if (fault !== null) throw new HoldfastError("MalformedRequest", renderJsonFault(what, fault));
  const parsed = schema.safeParse(request);
  if (parsed.success) return parsed.data;
  const errors = schemaFaultsOf(parsed.error);
  throw new HoldfastError("MalformedRequest", misshapen, { errors });
}
