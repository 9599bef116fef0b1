// JSON with one spelling per value: keys sorted by UTF-16 code units (RFC 8785's order), no spaces. Digests and idempotency
// comparisons are over this text, so two clients that send the same object in another key order send the same command.

import { z } from "zod";

/** What JSON can hold. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | JsonValue[]
  | { [key: string]: JsonValue };

/** Bounds on a value before it is walked or stored (behaviour reference, rule 1.14). */
export const JSON_BOUNDS = { maxDepth: 64, maxEntries: 4_096, maxNodes: 65_536 } as const;

/** Levels that an envelope may put around a stored value. */
const ENVELOPE_LEVELS = 4;

/** Why a value cannot be stored as JSON, without any of its content. */
export type JsonFault =
  | "not-json"
  | "not-finite"
  | "reserved-key"
  | "too-deep"
  | "too-many-entries"
  | "too-many-nodes";

/**
 * Checks that `value` is plain JSON inside `JSON_BOUNDS`, iteratively, so that a deep or cyclic value cannot exhaust the stack.
 * Properties that are `undefined` are allowed in objects, as `JSON.stringify` leaves them out.
 * @returns the first fault found, or null
 */
export function findJsonFault(value: unknown): JsonFault | null {
  return findFault(value, JSON_BOUNDS.maxDepth);
}

/** The same for a request that holds stored values a few levels down. */
export function findRequestFault(value: unknown): JsonFault | null {
  return findFault(value, JSON_BOUNDS.maxDepth + ENVELOPE_LEVELS);
}

function findFault(value: unknown, maxDepth: number): JsonFault | null {
  let level: unknown[] = [value];
  let nodes = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return "too-deep";
    const next: unknown[] = [];
    for (const node of level) {
      nodes += 1;
      if (nodes > JSON_BOUNDS.maxNodes) return "too-many-nodes";
      const fault = pushChildren(node, next);
      if (fault !== null) return fault;
    }
    level = next;
  }
  return null;
}

/** What is wrong with `what`, and what would be right. */
export function renderJsonFault(what: string, fault: JsonFault): string {
  const { maxDepth, maxEntries, maxNodes } = JSON_BOUNDS;
  switch (fault) {
    case "not-json":
    case "not-finite":
      return `${what} holds a value that JSON cannot.`;
    case "reserved-key":
      return `${what} holds the key __proto__, which is not accepted. Rename it.`;
    case "too-deep":
      return `${what} is nested too deep: at most ${maxDepth} levels.`;
    case "too-many-entries":
      return `${what} has too large a list or object: at most ${maxEntries} entries each.`;
    case "too-many-nodes":
      return `${what} has too many values: at most ${maxNodes}.`;
  }
}

/** Narrows to `JsonValue` what `findJsonFault` accepts. */
export function isJsonValue(value: unknown): value is JsonValue {
  return findJsonFault(value) === null;
}

/** The canonical text of a JSON value. The value must be inside `JSON_BOUNDS`; `undefined` properties are left out. */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const entries: string[] = [];
  for (const key of Object.keys(value).toSorted(compareCodeUnits)) {
    const entry = value[key];
    if (entry !== undefined) entries.push(`${JSON.stringify(key)}:${canonicalJson(entry)}`);
  }
  return `{${entries.join(",")}}`;
}

function pushChildren(node: unknown, into: unknown[]): JsonFault | null {
  if (node === null || typeof node === "string" || typeof node === "boolean") return null;
  if (typeof node === "number") return Number.isFinite(node) ? null : "not-finite";
  if (typeof node !== "object") return "not-json";
  if (Array.isArray(node)) {
    if (node.length > JSON_BOUNDS.maxEntries) return "too-many-entries";
    into.push(...node);
    return null;
  }
  const prototype: unknown = Object.getPrototypeOf(node);
  if (prototype !== Object.prototype && prototype !== null) return "not-json";
  // Libraries drop or follow this key; a value that has it would not be stored as it was sent.
  if (Object.hasOwn(node, "__proto__")) return "reserved-key";
  const entries = Object.values(node);
  if (entries.length > JSON_BOUNDS.maxEntries) return "too-many-entries";
  for (const entry of entries) if (entry !== undefined) into.push(entry);
  return null;
}

function compareCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Any JSON value inside the bounds, kept as it was sent. Zod's own schema walks recursively, so that a deep value could exhaust the stack,
 * and has no form in the API document; this one is iterative, and its form is given by hand. */
export const JsonSchema = z
  .custom<JsonValue>(isJsonValue, {
    error: ({ input }) =>
      input === undefined
        ? "a JSON value is needed here"
        : renderJsonFault("The value", findJsonFault(input) ?? "not-json"),
  })
  .meta({
    id: "Json",
    description: "Any JSON value.",
    type: ["object", "array", "string", "number", "boolean", "null"],
  });
