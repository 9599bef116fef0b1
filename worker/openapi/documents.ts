// The API's own description, served without a credential: OpenAPI 3.1, a reference page made from it, and a page for each error code.
import type { OpenAPIHono } from "@hono/zod-openapi";
import { ERROR_CODES, isErrorCode } from "../../shared/errors/codes.ts";
import { API_OPERATIONS } from "../../shared/wire/access.ts";
import { DESCRIPTION, VERSION } from "../../shared/version.ts";
import type { AppEnv } from "../app-env.ts";
import type { ApiDocument } from "./api-document.ts";
import { PAGE_POLICY } from "./page.ts";
import { renderErrorPage, renderErrorIndex } from "./error-pages.ts";
import { renderReference } from "./reference-page.ts";

export function addDocuments(app: OpenAPIHono<AppEnv>): void {
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    description: "An API key, or a token of the issuer that the deployment trusts.",
  });
  // Routes are added after this; the document is made at the first request.
  let document: ApiDocument | null = null;
  const describe = (): ApiDocument => (document ??= describeApi(app));
  app.get("/openapi.json", (context) => context.json(describe()));
  app.get("/docs", (context) => {
    context.header("content-security-policy", PAGE_POLICY);
    return context.html(renderReference(describe()));
  });
  app.get("/errors", (context) => {
    context.header("content-security-policy", PAGE_POLICY);
    return context.html(renderErrorIndex());
  });
  app.get("/errors/:code", (context) => {
    const code = context.req.param("code");
    if (!isErrorCode(code)) return context.notFound();
    context.header("content-security-policy", PAGE_POLICY);
    return context.html(renderErrorPage(code, ERROR_CODES[code]));
  });
}

function describeApi(app: OpenAPIHono<AppEnv>): ApiDocument {
  const document = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Holdfast",
      version: VERSION,
      description: DESCRIPTION,
      license: { name: "Apache-2.0" },
    },
    security: [{ bearer: [] }],
  });
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of [path.get, path.post, path.delete]) {
      const permission = permissionOf(operation?.operationId);
      if (operation !== undefined && permission !== null) operation["x-permission"] = permission;
    }
  }
  return document;
}

function permissionOf(operationId: string | undefined): string | null {
  const found = Object.entries(API_OPERATIONS).find(([operation]) => operation === operationId);
  return found?.[1] ?? null;
}
