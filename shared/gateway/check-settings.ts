// What may stand in a URL or a header of a request to a model, wherever it comes from. Pure.

/** A part of a path that cannot change the rest of the URL. */
export function isSegment(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(value);
}
export const SEGMENT_RULE = "is 1 to 128 letters, digits, - and _";

/** What fits into a header. */
export function isCredential(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]{1,8192}$/.test(value);
}
export const CREDENTIAL_RULE = "is 1 to 8192 visible ASCII characters without spaces";
