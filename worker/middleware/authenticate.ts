// Sets the principal, or stops the request with 401.
import { createMiddleware } from "hono/factory";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { verifyKey } from "../auth/verify-key.ts";
import type { AppEnv } from "../app-env.ts";

export const authenticate = createMiddleware<AppEnv>(async (context, next) => {
  const { HOLDFAST_API_KEYS } = context.get("bindings");
  const hostname = new URL(context.req.url).hostname;
  const verified = verifyKey(HOLDFAST_API_KEYS, context.req.header("authorization"), hostname);
  if (verified.kind === "refused") throw new HoldfastError("Unauthenticated", verified.detail);
  context.set("principal", verified.principal);
  await next();
});
