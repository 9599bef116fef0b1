// Submitting work, reading it, its settlement, and aborting it.
import { Hono } from "hono";
import { AbortRequestSchema, SubmitRequestSchema } from "../../shared/wire/submission.ts";
import type { AppEnv } from "../app-env.ts";
import { readBody, readOptionalBody } from "../middleware/read-body.ts";
import {
  readIdempotencyKey,
  readSubmissionId,
  readThreadId,
  readWaitMillis,
} from "../middleware/read-request.ts";
import { ThreadOperations } from "../operations/thread-operations.ts";

export const submissions = new Hono<AppEnv>();

submissions.post("/threads/:thread/submissions", async (context) => {
  const operations = new ThreadOperations(context.get("bindings"), context.get("principal"));
  const threadId = readThreadId(context);
  const key = readIdempotencyKey(context);
  const waitMillis = readWaitMillis(context);
  const request = await readBody(context, SubmitRequestSchema);
  // A wait reads the thread: asked before anything is admitted.
  if (waitMillis > 0) operations.require("getSubmission");
  const result = await operations.submit(threadId, key, request, waitMillis);
  const { submissionId } = result.receipt;
  context.header("location", `/v1/threads/${threadId}/submissions/${submissionId}`);
  if (result.replayed) context.header("idempotency-replayed", "true");
  return context.json(result, result.replayed ? 200 : 202);
});

submissions.get("/threads/:thread/submissions/:submission", async (context) => {
  const operations = new ThreadOperations(context.get("bindings"), context.get("principal"));
  const threadId = readThreadId(context);
  const submissionId = readSubmissionId(context);
  return context.json(
    await operations.getSubmission(threadId, submissionId, readWaitMillis(context)),
  );
});

submissions.get("/threads/:thread/submissions/:submission/settlement", async (context) => {
  const operations = new ThreadOperations(context.get("bindings"), context.get("principal"));
  const threadId = readThreadId(context);
  const submissionId = readSubmissionId(context);
  const waitMillis = readWaitMillis(context);
  const settlement = await operations.awaitSettlementRecord(threadId, submissionId, waitMillis);
  if (settlement !== null) return context.json(settlement);
  const now = await operations.getSubmission(threadId, submissionId, 0);
  // It may have settled between the two reads.
  if (now.settlement !== undefined) return context.json(now.settlement);
  return context.json(
    { state: now.state, ...(now.wait === undefined ? {} : { wait: now.wait }) },
    202,
  );
});

submissions.post("/threads/:thread/submissions/:submission/abort", async (context) => {
  const operations = new ThreadOperations(context.get("bindings"), context.get("principal"));
  const threadId = readThreadId(context);
  const submissionId = readSubmissionId(context);
  const request = await readOptionalBody(context, AbortRequestSchema);
  return context.json(await operations.abort(threadId, submissionId, request));
});
