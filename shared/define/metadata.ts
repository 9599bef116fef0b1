// What a submission carries for the host beside its input (THR-11). Pure but for the author's own schema.
import type { z } from "zod";
import type { JsonValue } from "../canonical-json.ts";
import { utf8Length } from "../bytes.ts";
import { MAX_METADATA_BYTES } from "../limits.ts";
import { decodeToJson, decodeWith, type Decoded } from "./decoded.ts";

/** The metadata as it is stored. Null where there is none, which a schema allows by accepting `undefined`; without a schema there can be none. */
export function decodeMetadata(
  schema: z.ZodType | undefined,
  value: JsonValue | undefined,
): Decoded<JsonValue> {
  if (schema === undefined) {
    return value === undefined ? { ok: true, value: null } : refuse("this agent takes no metadata");
  }
  const absent = decodeWith(schema, value);
  if (absent.ok && absent.value === undefined) return { ok: true, value: null };
  const decoded = decodeToJson(schema, value);
  if (!decoded.ok || utf8Length(JSON.stringify(decoded.value)) <= MAX_METADATA_BYTES) {
    return decoded;
  }
  return refuse(`at most ${MAX_METADATA_BYTES} bytes`);
}

function refuse(message: string): Decoded<JsonValue> {
  return { ok: false, faults: [{ pointer: "", message }] };
}
