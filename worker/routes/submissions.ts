// Submitting work, listing and reading it, its settlement, and aborting it.
import { createRoute, z } from "@hono/zod-openapi";
import { PrintableIdSchema } from "../../shared/ids.ts";
import { MAX_PAGE_SUBMISSIONS } from "../../shared/limits.ts";
import { SettlementSchema } from "../../shared/wire/settlement.ts";
import {
  AbortRequestSchema,
  AbortResultSchema,
  ListSubmissionsRequestSchema,
  OwedSettlementSchema,
  SubmissionListSchema,
  SubmissionStateSchema,
  SubmissionViewSchema,
  SubmitRequestSchema,
  SubmitResultSchema,
} from "../../shared/wire/submission.ts";
import {
  digits,
  jsonAnswer,
  BODY_PROBLEMS,
  jsonBody,
  optionalJsonBody,
  PreferSchema,
  problems,
  SubmissionParams,
  ThreadParams,
  WaitHeaders,
} from "../openapi/parts.ts";
import { readBody } from "../middleware/read-body.ts";
import { newRoutes } from "./new-routes.ts";

export const submissions = newRoutes();

submissions.openapi(
  createRoute({
    operationId: "submit",
    tags: ["Submissions"],
    summary: "Submit work",
    description:
      "Accepts one piece of work for an agent, durably, and answers its receipt. The same Idempotency-Key with the same body answers the same receipt again (200, `Idempotency-Replayed: true`); with another body it is refused. With `Prefer: wait` it needs `threads:read` too.",
    method: "post",
    path: "/threads/{thread}/submissions",
    middleware: readBody,
    request: {
      params: ThreadParams,
      headers: z.object({ "idempotency-key": PrintableIdSchema.min(1), prefer: PreferSchema }),
      body: jsonBody(SubmitRequestSchema),
    },
    responses: {
      202: jsonAnswer(SubmitResultSchema, "Accepted. `Location` is the submission."),
      200: jsonAnswer(SubmitResultSchema, "Accepted before, under the same key."),
      ...problems(
        [
          ...BODY_PROBLEMS,
          "IdempotencyKeyMissing",
          "InvalidIdentifier",
          "AgentNotFound",
          "ThreadNotFound",
          "DefinitionMismatch",
          "InvalidInput",
          "IdempotencyConflict",
          "AdmissionLimitExceeded",
        ],
        {
          413: "AdmissionLimitExceeded (input bytes)",
          507: "AdmissionLimitExceeded (database bytes)",
        },
      ),
    },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    const { "idempotency-key": idempotencyKey, prefer } = context.req.valid("header");
    const request = context.req.valid("json");
    const result = await context
      .get("operations")
      .call("submit", { threadId, idempotencyKey, request, timeoutMillis: prefer });
    const { submissionId } = result.receipt;
    context.header("location", `/v1/threads/${threadId}/submissions/${submissionId}`);
    if (!result.replayed) return context.json(result, 202);
    context.header("idempotency-replayed", "true");
    return context.json(result, 200);
  },
);

submissions.openapi(
  createRoute({
    operationId: "listSubmissions",
    tags: ["Submissions"],
    summary: "List a thread's submissions",
    description:
      "In queue order. `next` is the `after` of the following page, null after the last.",
    method: "get",
    path: "/threads/{thread}/submissions",
    request: {
      params: ThreadParams,
      query: z.strictObject({
        after: digits({ minimum: 0 }).optional(),
        limit: digits({ minimum: 1, maximum: MAX_PAGE_SUBMISSIONS })
          .pipe(ListSubmissionsRequestSchema.shape.limit.unwrap())
          .optional(),
        state: SubmissionStateSchema.optional(),
      }),
    },
    responses: {
      200: jsonAnswer(SubmissionListSchema, "A page."),
      ...problems(["MalformedRequest", "InvalidIdentifier", "InvalidCursor", "ThreadNotFound"]),
    },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    const page = context.req.valid("query");
    return context.json(
      await context.get("operations").call("listSubmissions", { threadId, page }),
      200,
    );
  },
);

const ofSubmission = problems(["InvalidIdentifier", "ThreadNotFound", "SubmissionNotFound"]);

submissions.openapi(
  createRoute({
    operationId: "getSubmission",
    tags: ["Submissions"],
    summary: "Read a submission",
    description: "Its state, its wait, its settlement and what it spent so far.",
    method: "get",
    path: "/threads/{thread}/submissions/{submission}",
    request: { params: SubmissionParams, headers: WaitHeaders },
    responses: {
      200: jsonAnswer(SubmissionViewSchema, "The submission as it is now."),
      ...ofSubmission,
    },
  }),
  async (context) => {
    const { thread: threadId, submission: submissionId } = context.req.valid("param");
    const { prefer: timeoutMillis } = context.req.valid("header");
    return context.json(
      await context
        .get("operations")
        .call("getSubmission", { threadId, submissionId, timeoutMillis }),
      200,
    );
  },
);

submissions.openapi(
  createRoute({
    operationId: "awaitSettlementRecord",
    tags: ["Submissions"],
    summary: "Read or await a settlement",
    description: "The one terminal outcome, with its output; 202 while it is owed.",
    method: "get",
    path: "/threads/{thread}/submissions/{submission}/settlement",
    request: { params: SubmissionParams, headers: WaitHeaders },
    responses: {
      200: jsonAnswer(SettlementSchema, "The settlement."),
      202: jsonAnswer(OwedSettlementSchema, "It is still owed."),
      ...ofSubmission,
    },
  }),
  async (context) => {
    const { thread: threadId, submission: submissionId } = context.req.valid("param");
    const { prefer: timeoutMillis } = context.req.valid("header");
    const operations = context.get("operations");
    const settlement = await operations.call("awaitSettlementRecord", {
      threadId,
      submissionId,
      timeoutMillis,
    });
    if (settlement !== null) return context.json(settlement, 200);
    const now = await operations.call("getSubmission", { threadId, submissionId });
    // It may have settled between the two reads.
    if (now.settlement !== undefined) return context.json(now.settlement, 200);
    return context.json(
      {
        state: now.state,
        ...(now.wait === undefined ? {} : { wait: now.wait }),
        ...(now.host === undefined ? {} : { host: now.host }),
      },
      202,
    );
  },
);

submissions.openapi(
  createRoute({
    operationId: "abort",
    tags: ["Submissions"],
    summary: "Abort a submission",
    description:
      "Durable and idempotent. The answer says the real effect: `dequeued` before it ran, `signalled` while it runs or waits, `joined` where its input is part of another run, which is not aborted, `already-settled` with the settlement.",
    method: "post",
    path: "/threads/{thread}/submissions/{submission}/abort",
    middleware: readBody,
    request: { params: SubmissionParams, body: optionalJsonBody(AbortRequestSchema) },
    responses: {
      200: jsonAnswer(AbortResultSchema, "What it did."),
      ...problems([...BODY_PROBLEMS, "InvalidIdentifier", "ThreadNotFound", "SubmissionNotFound"]),
    },
  }),
  async (context) => {
    const { thread: threadId, submission: submissionId } = context.req.valid("param");
    const request = context.req.valid("json");
    return context.json(
      await context.get("operations").call("abort", { threadId, submissionId, request }),
      200,
    );
  },
);
