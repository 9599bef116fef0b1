// An empty set of routes whose requests are refused in the one way of this API.
import { OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv } from "../app-env.ts";
import { refuseInvalid } from "../middleware/refuse-invalid.ts";

export function newRoutes(): OpenAPIHono<AppEnv> {
  return new OpenAPIHono<AppEnv>({ defaultHook: refuseInvalid });
}
