// The Hono app: request id and bindings, health without a credential, everything else behind one.
import { Hono } from "hono";
import { HoldfastError } from "../shared/errors/holdfast-error.ts";
import type { AppEnv } from "./app-env.ts";
import { parseEnv } from "./env.ts";
import { authenticate } from "./middleware/authenticate.ts";
import { renderProblem } from "./middleware/error-response.ts";
import { submissions } from "./routes/submissions.ts";
import { threads } from "./routes/threads.ts";

export function createApp(): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.onError(renderProblem);
  app.notFound((context) =>
    renderProblem(
      new HoldfastError(
        "RouteNotFound",
        "No route has this method and path. The README lists the routes.",
      ),
      context,
    ),
  );
  app.use(async (context, next) => {
    context.set("requestId", crypto.randomUUID());
    context.set("bindings", parseEnv(context.env));
    await next();
    context.header("x-request-id", context.get("requestId"));
  });
  app.get("/healthz", (context) => context.json({ status: "ok" }));
  app.use("/v1/*", authenticate);
  app.route("/v1", submissions);
  app.route("/v1", threads);
  return app;
}
