// Synchronous SHA-256: a digest is part of a decision, and there is no await between a decision and its write. Web Crypto only has
// the asynchronous form; node:crypto is on by default at our compatibility date.
import { createHash } from "node:crypto";
import { canonicalJson, type JsonValue } from "../../shared/canonical-json.ts";

/** SHA-256 of UTF-8 text, lower-case hex. */
export function digestText(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** SHA-256 of a value's canonical JSON, lower-case hex. */
export function digestJson(value: JsonValue): string {
  return digestText(canonicalJson(value));
}
