// The OpenAPI 3.1 document, as its generator types it.
import type { OpenAPIHono } from "@hono/zod-openapi";

export type ApiDocument = ReturnType<OpenAPIHono["getOpenAPI31Document"]>;
