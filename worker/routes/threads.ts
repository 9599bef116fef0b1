// A thread at a glance, its explanation, what it spent, and its repair.
import { createRoute, z } from "@hono/zod-openapi";
import { ExplanationSchema } from "../../shared/wire/explain.ts";
import { RepairRequestSchema, RepairResultSchema } from "../../shared/wire/submission.ts";
import { ThreadViewSchema, TombstoneSchema } from "../../shared/wire/thread.ts";
import { ThreadUsageSchema } from "../../shared/wire/usage.ts";
import { VerificationSchema } from "../../shared/wire/verification.ts";
import { BODY_PROBLEMS, jsonAnswer, jsonBody, problems, ThreadParams } from "../openapi/parts.ts";
import { readBody } from "../middleware/read-body.ts";
import { newRoutes } from "./new-routes.ts";

export const threads = newRoutes();

const DeleteQuery = z.object({
  force: z.enum(["true", "false"]).default("false"),
});

const ofThread = problems(["InvalidIdentifier", "ThreadNotFound"]);

threads.openapi(
  createRoute({
    operationId: "getThread",
    tags: ["Threads"],
    summary: "Read a thread",
    description: "Its state, its queue, and what of it needs somebody's attention.",
    method: "get",
    path: "/threads/{thread}",
    request: { params: ThreadParams },
    responses: { 200: jsonAnswer(ThreadViewSchema, "The thread as it is now."), ...ofThread },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    return context.json(await context.get("operations").call("getThread", { threadId }), 200);
  },
);

threads.openapi(
  createRoute({
    operationId: "explain",
    tags: ["Threads"],
    summary: "Ask why",
    description:
      "In words and as data: what every owed submission does or waits for, since when, until when, and what would move it.",
    method: "get",
    path: "/threads/{thread}/explain",
    request: { params: ThreadParams },
    responses: { 200: jsonAnswer(ExplanationSchema, "The explanation."), ...ofThread },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    return context.json(await context.get("operations").call("explain", { threadId }), 200);
  },
);

threads.openapi(
  createRoute({
    operationId: "usage",
    tags: ["Threads"],
    summary: "Read what a thread spent",
    description: "Settled and owed work together; the part that is still open is listed.",
    method: "get",
    path: "/threads/{thread}/usage",
    request: { params: ThreadParams },
    responses: { 200: jsonAnswer(ThreadUsageSchema, "The account."), ...ofThread },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    return context.json(await context.get("operations").call("usage", { threadId }), 200);
  },
);

threads.openapi(
  createRoute({
    operationId: "verify",
    tags: ["Threads"],
    summary: "Check the log",
    description:
      "Reads the whole log and recomputes its chain of digests. `verified` is the last place that is right, `fault` the first record that is missing, changed or unreadable. Repairs nothing.",
    method: "get",
    path: "/threads/{thread}/verify",
    request: { params: ThreadParams },
    responses: { 200: jsonAnswer(VerificationSchema, "What was found."), ...ofThread },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    return context.json(await context.get("operations").verify({ threadId }), 200);
  },
);

threads.openapi(
  createRoute({
    operationId: "repair",
    tags: ["Threads"],
    summary: "Repair parked work",
    description:
      "`retry`: another try for a run that was parked after attempts without a new record. `retry-lane`: a parked lane is due now. `clear-fault`: a thread that cannot be read is tried now. `rearm`: the alarm is armed for what is due. Each is logged with its author; a retry is on record with its reason.",
    method: "post",
    path: "/threads/{thread}/repair",
    middleware: readBody,
    request: { params: ThreadParams, body: jsonBody(RepairRequestSchema) },
    responses: {
      200: jsonAnswer(RepairResultSchema, "What it did."),
      ...problems([...BODY_PROBLEMS, "InvalidIdentifier", "ThreadNotFound", "SubmissionNotFound"]),
    },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    const request = context.req.valid("json");
    return context.json(await context.get("operations").call("repair", { threadId, request }), 200);
  },
);

threads.openapi(
  createRoute({
    operationId: "deleteThread",
    tags: ["Threads"],
    summary: "Delete a thread",
    description:
      "Puts a tombstone in the thread's place at once; its log and ledger go soon after. Refused while work is owed, unless `force` is true, which needs `threads:operate`. Repeating it answers the same. The id stays used.",
    method: "delete",
    path: "/threads/{thread}",
    request: { params: ThreadParams, query: DeleteQuery },
    responses: {
      202: jsonAnswer(TombstoneSchema, "It is deleted."),
      ...problems(["MalformedRequest", "InvalidIdentifier", "ThreadNotFound", "WorkOwed"]),
    },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    const request = { force: context.req.valid("query").force === "true" };
    return context.json(
      await context.get("operations").call("deleteThread", { threadId, request }),
      202,
    );
  },
);
