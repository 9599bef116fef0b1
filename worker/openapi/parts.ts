// The parts that routes are declared from: path and header schemas, bodies, answers, problems.
import { z } from "@hono/zod-openapi";
import { ERROR_CODES, type ErrorCode } from "../../shared/errors/codes.ts";
import { PrintableIdSchema, ThreadIdSchema } from "../../shared/ids.ts";
import { MAX_WAIT_MILLIS } from "../../shared/limits.ts";
import { ProblemSchema } from "../../shared/wire/problem.ts";

export const ThreadParams = z.object({ thread: ThreadIdSchema });
export const SubmissionParams = ThreadParams.extend({ submission: PrintableIdSchema });

const MAX_WAIT_SECONDS = MAX_WAIT_MILLIS / 1_000;

/** RFC 7240 `Prefer: wait=<seconds>`, bounded to what an object waits. A preference that is not understood is passed over, as the RFC asks. */
export const PreferSchema = z
  .string()
  .optional()
  .transform((prefer) => {
    const seconds = /(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])/.exec(prefer ?? "")?.[1];
    return seconds === undefined ? 0 : Math.min(Number(seconds), MAX_WAIT_SECONDS) * 1_000;
  })
  .meta({
    type: "string",
    description: `\`wait=20\`: answer when it settled, or after so many seconds, ${MAX_WAIT_SECONDS} at most.`,
    example: "wait=20",
  });

export const WaitHeaders = z.object({ prefer: PreferSchema });

/** A number in a query: digits alone, fifteen at most, so that it is exact. */
export function digits({ minimum, maximum = 999_999_999_999_999 }: Bounds) {
  return z
    .string()
    .regex(/^\d{1,15}$/, { message: "a whole number in digits" })
    .transform(Number)
    .meta({ type: "integer", minimum, maximum });
}

interface Bounds {
  readonly minimum: number;
  readonly maximum?: number;
}

/** A JSON body that has to be there. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { "application/json": { schema } } };
}

/** A JSON body of which everything may be left out. */
export function optionalJsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: false, content: { "application/json": { schema } } };
}

export function jsonAnswer<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { "application/json": { schema } } };
}

/** Refusals that any route behind a credential may answer. */
const COMMON: readonly ErrorCode[] = [
  "Unauthenticated",
  "PermissionMissing",
  "RateLimited",
  "Defect",
  "Unavailable",
  "Overloaded",
  "DeadlineExceeded",
];

/** Refusals of any route that takes a JSON body. */
export const BODY_PROBLEMS = [
  "MalformedRequest",
  "BodyTooLarge",
  "UnsupportedMediaType",
] as const satisfies readonly ErrorCode[];

/** The problems of a route, by status: the common ones and its own. Statuses that depend on the limit are named with it. */
export function problems(
  codes: readonly ErrorCode[],
  moreStatuses: Readonly<Record<number, string>> = {},
): Record<
  string,
  { description: string; content: { "application/problem+json": { schema: typeof ProblemSchema } } }
> {
  const byStatus = new Map<number, string[]>();
  for (const code of [...COMMON, ...codes]) {
    const { status } = ERROR_CODES[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  for (const [status, text] of Object.entries(moreStatuses)) {
    byStatus.set(Number(status), [...(byStatus.get(Number(status)) ?? []), text]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      String(status),
      {
        description: names.join(", "),
        content: { "application/problem+json": { schema: ProblemSchema } },
      },
    ]),
  );
}
