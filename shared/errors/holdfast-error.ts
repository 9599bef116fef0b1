// The one class for expected failures. Errors cross RPC as data, because class and fields do not survive that boundary.
import { z } from "zod";
import type { JsonValue } from "../canonical-json.ts";
import { ERROR_CODES, isErrorCode, type ErrorCode } from "./codes.ts";

/** One fault of a value against its schema; `pointer` is an RFC 6901 JSON Pointer into the request body. */
export const SchemaFaultSchema = z.object({ pointer: z.string(), message: z.string() });
export type SchemaFault = z.infer<typeof SchemaFaultSchema>;

export const WireErrorSchema = z.object({
  code: z.string(),
  detail: z.string(),
  fields: z.record(z.string(), z.json()),
  errors: z.array(SchemaFaultSchema).optional(),
});
export type WireError = z.infer<typeof WireErrorSchema>;

export interface HoldfastErrorOptions {
  /** Fields of the problem document beside the common ones, such as `limit` or `retryAfterSeconds`. */
  readonly fields?: Readonly<Record<string, JsonValue>>;
  readonly errors?: readonly SchemaFault[];
  readonly cause?: unknown;
}

/** An expected failure with a stable code. `detail` says what was wrong, where, and the next step; it never holds payload text. */
export class HoldfastError extends Error {
  override readonly name = "HoldfastError";
  readonly code: ErrorCode;
  readonly detail: string;
  readonly fields: Readonly<Record<string, JsonValue>>;
  readonly errors: readonly SchemaFault[];

  constructor(code: ErrorCode, detail: string, options: HoldfastErrorOptions = {}) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.detail = detail;
    this.fields = options.fields ?? {};
    this.errors = options.errors ?? [];
  }

  /** AdmissionLimitExceeded has one code and a status per limit (THR-06); it carries that status as a field. */
  get status(): number {
    const status = this.fields["status"];
    return typeof status === "number" ? status : ERROR_CODES[this.code].status;
  }

  get retryable(): boolean {
    const retryable = this.fields["retryable"];
    return typeof retryable === "boolean" ? retryable : ERROR_CODES[this.code].retryable;
  }

  toWire(): WireError {
    return {
      code: this.code,
      detail: this.detail,
      fields: { ...this.fields },
      ...(this.errors.length === 0 ? {} : { errors: [...this.errors] }),
    };
  }

  /** An unknown code becomes `Defect`: a newer peer's error is not guessed at. */
  static fromWire(wire: WireError): HoldfastError {
    const code = isErrorCode(wire.code) ? wire.code : "Defect";
    return new HoldfastError(code, wire.detail, {
      fields: wire.fields,
      ...(wire.errors === undefined ? {} : { errors: wire.errors }),
    });
  }
}

/** The faults of a zod error as JSON Pointers below `base`; messages name types and bounds, never the offending value. */
export function schemaFaultsOf(error: z.ZodError, base = ""): SchemaFault[] {
  return error.issues.slice(0, 64).map((issue) => ({
    pointer: cut(base + issue.path.map((key) => `/${escapePointer(String(key))}`).join("")),
    message: cut(issue.message),
  }));
}

/** Names of unknown fields are the sender's: what comes back of them is bounded. */
function cut(text: string): string {
  return text.length <= 256 ? text : `${text.slice(0, 255)}…`;
}

function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
