// Reading a thread's log, its operations and its explanation, and deciding what waits for a person.
import { Hono } from "hono";
import { DecideRequestSchema } from "../../shared/wire/operations.ts";
import { RetryRequestSchema } from "../../shared/wire/submission.ts";
import type { AppEnv } from "../app-env.ts";
import { readBody } from "../middleware/read-body.ts";
import { readPageQuery, readThreadId } from "../middleware/read-request.ts";
import { ThreadOperations } from "../operations/thread-operations.ts";

export const threads = new Hono<AppEnv>();

threads.get("/threads/:thread/records", async (context) => {
  const operations = new ThreadOperations(context.get("bindings"), context.get("principal"));
  return context.json(await operations.readPage(readThreadId(context), readPageQuery(context)));
});

threads.get("/threads/:thread/operations", async (context) => {
  const operations = new ThreadOperations(context.get("bindings"), context.get("principal"));
  return context.json(await operations.listOperations(readThreadId(context)));
});

threads.post("/threads/:thread/operations/decide", async (context) => {
  const operations = new ThreadOperations(context.get("bindings"), context.get("principal"));
  const threadId = readThreadId(context);
  const request = await readBody(context, DecideRequestSchema);
  return context.json(await operations.decideOperations(threadId, request));
});

threads.get("/threads/:thread/explain", async (context) => {
  const operations = new ThreadOperations(context.get("bindings"), context.get("principal"));
  return context.json(await operations.explain(readThreadId(context)));
});

threads.post("/threads/:thread/repair", async (context) => {
  const operations = new ThreadOperations(context.get("bindings"), context.get("principal"));
  const threadId = readThreadId(context);
  const request = await readBody(context, RetryRequestSchema);
  return context.json(await operations.retry(threadId, request));
});
