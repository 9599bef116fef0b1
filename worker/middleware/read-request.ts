// The parts of a request that are not its body: identifiers, headers, query.
import type { Context } from "hono";
import { z } from "zod";
import { HoldfastError, schemaFaultsOf } from "../../shared/errors/holdfast-error.ts";
import { PrintableIdSchema, ThreadIdSchema } from "../../shared/ids.ts";
import { ReadPageRequestSchema, type ReadPageRequest } from "../../shared/wire/progress.ts";
import type { AppEnv } from "../app-env.ts";

/** Throws `InvalidIdentifier`, before any object is addressed (THR-12). */
export function readThreadId(context: Context<AppEnv>): string {
  return readIdentifier(ThreadIdSchema, context.req.param("thread"), "thread id");
}

export function readSubmissionId(context: Context<AppEnv>): string {
  return readIdentifier(PrintableIdSchema, context.req.param("submission"), "submission id");
}

/** Throws `IdempotencyKeyMissing` or `InvalidIdentifier` (THR-02, THR-12). */
export function readIdempotencyKey(context: Context<AppEnv>): string {
  const key = context.req.header("idempotency-key");
  if (key === undefined || key === "") {
    throw new HoldfastError(
      "IdempotencyKeyMissing",
      "Send an Idempotency-Key header: a new value for new work, the same value to retry.",
    );
  }
  return readIdentifier(PrintableIdSchema, key, "Idempotency-Key");
}

function readIdentifier(schema: z.ZodType<string>, value: unknown, name: string): string {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const rule = parsed.error.issues[0]?.message ?? "malformed";
  throw new HoldfastError("InvalidIdentifier", `The ${name} is not one: ${rule}.`);
}

/** RFC 7240 `Prefer: wait=<seconds>`, bounded to what an object waits; 0 when it is not there. */
export function readWaitMillis(context: Context<AppEnv>): number {
  const seconds = /(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])/.exec(
    context.req.header("prefer") ?? "",
  )?.[1];
  return seconds === undefined ? 0 : Math.min(Number(seconds), 60) * 1_000;
}

const CursorSchema = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);

/** Throws `InvalidCursor` for `after`, `MalformedRequest` for the rest. */
export function readPageQuery(context: Context<AppEnv>): ReadPageRequest {
  const { after, limit, types } = context.req.query();
  const cursor = CursorSchema.safeParse(after ?? "0");
  if (!cursor.success) {
    throw new HoldfastError("InvalidCursor", "`after` is the `next` of an earlier page, or 0.");
  }
  const parsed = ReadPageRequestSchema.safeParse({
    after: cursor.data,
    ...(limit === undefined ? {} : { limit: /^-?\d{1,9}$/.test(limit) ? Number(limit) : limit }),
    ...(types === undefined ? {} : { types: types.split(",") }),
  });
  if (parsed.success) return parsed.data;
  throw new HoldfastError(
    "MalformedRequest",
    "The query does not have the shape of this request.",
    {
      errors: schemaFaultsOf(parsed.error),
    },
  );
}
