// The log of a thread: in pages, and as a stream of events.
import { createRoute, z } from "@hono/zod-openapi";
import { PrintableIdSchema } from "../../shared/ids.ts";
import { MAX_PAGE_RECORDS } from "../../shared/limits.ts";
import { ThreadEventSchema } from "../../shared/wire/events.ts";
import { ReadPageRequestSchema, RecordPageSchema } from "../../shared/wire/progress.ts";
import { RECORD_TYPES, ThreadRecordSchema } from "../../shared/wire/records.ts";
import { digits, jsonAnswer, problems, ThreadParams } from "../openapi/parts.ts";
import { newRoutes } from "./new-routes.ts";

/** Widened: the routes' types take every name that ends in "json" for one JSON value. */
const NDJSON: string = "application/x-ndjson";

export const records = newRoutes();

records.openapi(
  createRoute({
    operationId: "readPage",
    tags: ["Records"],
    summary: "Read records",
    description:
      "Contiguous records past `after`. `next` is the following page's `after`; it advances over records that `types` leaves out. `tail` is the log's end.",
    method: "get",
    path: "/threads/{thread}/records",
    request: {
      params: ThreadParams,
      query: z.strictObject({
        after: digits({ minimum: 0 }).optional(),
        limit: digits({ minimum: 1, maximum: MAX_PAGE_RECORDS })
          .pipe(ReadPageRequestSchema.shape.limit.unwrap())
          .optional(),
        types: z
          .string()
          .transform((text) => text.split(","))
          .pipe(ReadPageRequestSchema.shape.types.unwrap())
          .meta({
            type: "string",
            description: `Comma-separated: ${RECORD_TYPES.join(", ")}.`,
            example: "ModelResponded,SubmissionSettled",
          })
          .optional(),
      }),
    },
    responses: {
      200: jsonAnswer(RecordPageSchema, "A page."),
      ...problems(["MalformedRequest", "InvalidIdentifier", "InvalidCursor", "ThreadNotFound"]),
    },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    const page = context.req.valid("query");
    return context.json(await context.get("operations").call("readPage", { threadId, page }), 200);
  },
);

records.openapi(
  createRoute({
    operationId: "export",
    tags: ["Records"],
    summary: "Take the log away",
    description:
      "Every record past `after`, one JSON object a line, as far as the log goes when it is asked. A stream that breaks off is resumed with the `sequence` of its last whole line.",
    method: "get",
    path: "/threads/{thread}/export",
    request: {
      params: ThreadParams,
      query: z.strictObject({ after: digits({ minimum: 0 }).optional() }),
    },
    responses: {
      200: {
        description: "Records, a line each.",
        content: { [NDJSON]: { schema: ThreadRecordSchema } },
      },
      ...problems(["MalformedRequest", "InvalidIdentifier", "InvalidCursor", "ThreadNotFound"]),
    },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    const { after = 0 } = context.req.valid("query");
    const lines = await context.get("operations").exportLog(threadId, after);
    return context.body(lines, 200, {
      "content-type": NDJSON,
      "cache-control": "no-store, no-transform",
    });
  },
);

records.openapi(
  createRoute({
    operationId: "events",
    tags: ["Records"],
    summary: "Follow a thread",
    description:
      "Server-sent events: `record` (with an id to resume from), `state`, `delta` and `resync` (text of the open turn), and at the end `settled` (where a submission is followed), `gap` (the cursor cannot be read) or `bye` (reconnect after `retry`). `Last-Event-ID` wins over `after`.",
    method: "get",
    path: "/threads/{thread}/events",
    request: {
      params: ThreadParams,
      headers: z.object({ "last-event-id": digits({ minimum: 0 }).optional() }),
      query: z.strictObject({
        after: digits({ minimum: 0 }).optional(),
        submission: PrintableIdSchema.optional().meta({
          description: "Only this submission, ending with its settlement.",
        }),
        deltas: z
          .enum(["true", "false"])
          .transform((text) => text === "true")
          .optional(),
      }),
    },
    responses: {
      200: {
        description:
          "Events, until one of those that end a stream. Each has its `event` and `data` fields as text.",
        content: {
          "text/event-stream": { schema: ThreadEventSchema },
        },
      },
      ...problems([
        "MalformedRequest",
        "InvalidIdentifier",
        "InvalidCursor",
        "ThreadNotFound",
        "SubmissionNotFound",
      ]),
    },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    const { after = 0, submission, deltas = true } = context.req.valid("query");
    const { "last-event-id": lastEventId } = context.req.valid("header");
    const stream = await context.get("operations").events(
      {
        threadId,
        after: lastEventId ?? after,
        deltas,
        ...(submission === undefined ? {} : { submissionId: submission }),
      },
      (work) => context.executionCtx.waitUntil(work),
    );
    // Nothing on the way may hold events back, or change them.
    return context.body(stream, 200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store, no-transform",
    });
  },
);
