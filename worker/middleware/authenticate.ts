// Sets who calls and what they may do, or stops the request with 401 or 429.
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../app-env.ts";
import { verifyCredential } from "../auth/credential.ts";
import { limitRate } from "../auth/limit-rate.ts";
import { callerOfClaims } from "../auth/verify-token.ts";
import { ThreadOperations } from "../operations/thread-operations.ts";

export const authenticate = createMiddleware<AppEnv>(async (context, next) => {
  const env = context.get("bindings");
  const { optionsOf, ports } = context.get("deployment");
  const options = optionsOf(context.env);
  const credential = await verifyCredential(
    env,
    {
      authorization: context.req.header("authorization"),
      accessToken: context.req.header("cf-access-jwt-assertion"),
      hostname: new URL(context.req.url).hostname,
    },
    options.auth?.callerOf ?? callerOfClaims,
    ports.clock.now(),
  );
  context.set("credential", credential);
  await limitRate(env, credential.caller);
  context.set("operations", new ThreadOperations(env, credential.caller, options));
  await next();
});
