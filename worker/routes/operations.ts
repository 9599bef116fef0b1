// What waits for a person: approvals and unknown outcomes, and deciding them.
import { createRoute } from "@hono/zod-openapi";
import {
  DecideRequestSchema,
  DecideResultSchema,
  OperationListSchema,
} from "../../shared/wire/operations.ts";
import { BODY_PROBLEMS, jsonAnswer, jsonBody, problems, ThreadParams } from "../openapi/parts.ts";
import { readBody } from "../middleware/read-body.ts";
import { newRoutes } from "./new-routes.ts";

export const operations = newRoutes();

operations.openapi(
  createRoute({
    operationId: "listOperations",
    tags: ["Operations"],
    summary: "List what waits for a decision",
    description:
      "Approvals and unknown outcomes of owed work, with the arguments and their digest.",
    method: "get",
    path: "/threads/{thread}/operations",
    request: { params: ThreadParams },
    responses: {
      200: jsonAnswer(OperationListSchema, "The operations."),
      ...problems(["InvalidIdentifier", "ThreadNotFound"]),
    },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    return context.json(await context.get("operations").call("listOperations", { threadId }), 200);
  },
);

operations.openapi(
  createRoute({
    operationId: "decideOperations",
    tags: ["Operations"],
    summary: "Decide operations",
    description:
      "One decision or many, all of them or none. Approvals take `approve`, `deny`, `edit` (with `arguments`) and `abort`; unknown outcomes take `completed` (with `result`), `failed`, `never-started`, `safe-to-retry` and `abort`. The same decision again is a replay, another one a conflict. Approvals need `threads:approve`, all others `threads:operate`.",
    method: "post",
    path: "/threads/{thread}/operations/decide",
    middleware: readBody,
    request: { params: ThreadParams, body: jsonBody(DecideRequestSchema) },
    responses: {
      200: jsonAnswer(DecideResultSchema, "One result per decision, in their order."),
      ...problems([
        ...BODY_PROBLEMS,
        "InvalidIdentifier",
        "ThreadNotFound",
        "OperationNotFound",
        "DecisionConflict",
        "InvalidState",
        "InvalidInput",
      ]),
    },
  }),
  async (context) => {
    const { thread: threadId } = context.req.valid("param");
    const request = context.req.valid("json");
    return context.json(
      await context.get("operations").call("decideOperations", { threadId, request }),
      200,
    );
  },
);
