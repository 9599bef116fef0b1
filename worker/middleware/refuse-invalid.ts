// What a request that does not fit its route's schema is told: which part, where in it, and what would be right. Nothing was done by then.
import { HoldfastError, schemaFaultsOf } from "../../shared/errors/holdfast-error.ts";
import type { z } from "zod";

interface Validated {
  readonly target: string;
  readonly success: boolean;
  readonly error?: z.ZodError;
}

const PARAMETER_NAMES: Readonly<Record<string, string>> = {
  thread: "thread id",
  submission: "submission id",
  agent: "agent id",
  code: "error code",
};

/** Called for every part of every request; throws for the parts that do not fit. */
export function refuseInvalid({ target, success, error }: Validated): void {
  if (success || error === undefined) return;
  const [first] = error.issues;
  const name = String(first?.path[0] ?? "");
  const rule = first?.message ?? "malformed";
  if (target === "param") {
    throw new HoldfastError(
      "InvalidIdentifier",
      `The ${PARAMETER_NAMES[name] ?? name} is not one: ${rule}.`,
    );
  }
  if (target === "header") throw headerRefusal(name, rule, isMissing(error));
  if (target === "query" && name === "after") throw cursorRefusal();
  throw new HoldfastError(
    "MalformedRequest",
    target === "json"
      ? "The body does not have the shape of this request."
      : "The query does not have the shape of this request.",
    { errors: schemaFaultsOf(error) },
  );
}

function headerRefusal(name: string, rule: string, isMissing: boolean): HoldfastError {
  if (name === "last-event-id") return cursorRefusal();
  return isMissing
    ? new HoldfastError(
        "IdempotencyKeyMissing",
        "Send an Idempotency-Key header: a new value for new work, the same value to retry.",
      )
    : new HoldfastError("InvalidIdentifier", `The Idempotency-Key is not one: ${rule}.`);
}

/** An empty header says nothing either. */
function isMissing(error: z.ZodError): boolean {
  return error.issues.some(({ code }) => code === "invalid_type" || code === "too_small");
}

function cursorRefusal(): HoldfastError {
  return new HoldfastError(
    "InvalidCursor",
    "A cursor is the `next` of an earlier page or the id of an earlier event, or 0.",
  );
}
