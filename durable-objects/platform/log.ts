// Structured log lines: one JSON object each, with identities and codes, never payload text, keys or secrets.
import type { JsonValue } from "../../shared/canonical-json.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";

export type LogFields = Readonly<Record<string, JsonValue>>;
export type LogLevel = "info" | "warn" | "error";

/** Writes one line. `event` is a fixed name such as `pass-failed`. */
export function logEvent(level: LogLevel, event: string, fields: LogFields): void {
  console[level](render(level, event, fields));
}

/** Total: what a handler of the deployment hands over may be no JSON, whatever its type says. */
function render(level: LogLevel, event: string, fields: LogFields): string {
  try {
    return JSON.stringify({ level, event, ...fields });
  } catch {
    return JSON.stringify({ level, event, unreadable: true });
  }
}

/** What may be said about an unexpected error: our own code, or its class name, bounded. Its message may hold payload. Total over hostile
 * objects. */
export function errorName(error: unknown): string {
  try {
    if (error instanceof HoldfastError) return error.code;
    if (error instanceof Error && typeof error.name === "string") return error.name.slice(0, 128);
    return typeof error;
  } catch {
    // A getter or proxy of the thrown object threw: that is all there is to say about it.
    return "unreadable";
  }
}
