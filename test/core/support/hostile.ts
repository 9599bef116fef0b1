// Values that imitate what the runtime itself throws.
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";

/** Look-alikes of an ownership loss and of abort reasons; the last is of our own class, made by a handler. */
export const OwnershipLikes: readonly (object | string)[] = [
  { name: "HoldfastError", code: "OwnershipLost", detail: "x", fields: {}, status: 500 },
  Object.assign(new Error("x"), { name: "HoldfastError", code: "OwnershipLost" }),
  Object.assign(new Error("x"), { name: "LogCorrupt" }),
  Object.assign(new Error("x"), { name: "InvariantViolation" }),
  new DOMException("x", "AbortError"),
  new DOMException("x", "TimeoutError"),
  { kind: "aborted", reason: "abort" },
  "tool timeout",
  new HoldfastError("OwnershipLost", "x"),
];
