// The Hono app: request id and headers on everything, health and documents without a credential, everything else behind one.
import { OpenAPIHono } from "@hono/zod-openapi";
import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import { secureHeaders } from "hono/secure-headers";
import { HoldfastError } from "../shared/errors/holdfast-error.ts";
import type { AppEnv } from "./app-env.ts";
import type { Deployment } from "./deployment-options.ts";
import { parseEnv } from "./env.ts";
import { authenticate } from "./middleware/authenticate.ts";
import { renderProblem } from "./middleware/error-response.ts";
import { addDocuments } from "./openapi/documents.ts";
import { agents } from "./routes/agents.ts";
import { operations } from "./routes/operations.ts";
import { records } from "./routes/records.ts";
import { submissions } from "./routes/submissions.ts";
import { threads } from "./routes/threads.ts";

export function createApp(deployment: Deployment): OpenAPIHono<AppEnv> {
  const app = new OpenAPIHono<AppEnv>();
  app.onError(renderProblem);
  app.notFound((context) =>
    renderProblem(
      new HoldfastError("RouteNotFound", "No route has this method and path. See /docs."),
      context,
    ),
  );
  app.use(async (context, next) => {
    context.set("requestId", crypto.randomUUID());
    context.set("deployment", deployment);
    await next();
    context.res.headers.set("x-request-id", context.get("requestId"));
  });
  app.use(secureHeaders(SECURITY_HEADERS));
  app.get("/healthz", (context) => context.json({ status: "ok" }));
  addDocuments(app);
  // Before anything that may refuse: a refusal is not stored either.
  app.use("/v1/*", keepPrivate);
  app.use(readBindings);
  // It answers once the configuration is readable.
  app.get("/readyz", (context) => context.json({ status: "ready" }));
  app.use("/v1/*", allowOrigins, authenticate);
  for (const routes of [submissions, threads, records, operations, agents]) {
    app.route("/v1", routes);
  }
  return app;
}

/** Nothing that is answered is a page to embed, to run or to sniff; the documents' own pages loosen what they need. */
const SECURITY_HEADERS = {
  overwrite: false,
  contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  referrerPolicy: "no-referrer",
  xFrameOptions: "DENY",
};

const readBindings = createMiddleware<AppEnv>(async (context, next) => {
  context.set("bindings", parseEnv(context.env));
  await next();
});

const keepPrivate = createMiddleware<AppEnv>(async (context, next) => {
  await next();
  const { headers } = context.res;
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
});

/** Browsers of other origins are let in only where the deployment names them. Credentials are headers, never cookies. */
const allowOrigins = createMiddleware<AppEnv>(async (context, next) => {
  const origins = context.get("bindings").HOLDFAST_CORS_ORIGINS;
  if (origins.length === 0) return next();
  return cors({
    origin: origins.includes("*") ? "*" : origins,
    allowMethods: ["GET", "POST", "DELETE"],
    allowHeaders: ["Authorization", "Content-Type", "Idempotency-Key", "Prefer", "Last-Event-ID"],
    exposeHeaders: ["Location", "Idempotency-Replayed", "Retry-After", "X-Request-Id"],
    maxAge: 600,
  })(context, next);
});
