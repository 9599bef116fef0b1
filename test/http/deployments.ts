// Deployments of a test's own, over the objects under test: other keys, other variables, other options.
import { createExecutionContext, env } from "cloudflare:test";
import { createHash } from "node:crypto";
import type { Permission } from "../../shared/wire/access.ts";
import { createApp } from "../../worker/app.ts";
import { prepareDeployment, type HoldfastOptions } from "../../worker/deployment-options.ts";
import type { ApiKey } from "../../worker/env.ts";
import { plainAgent } from "../support/test-agents.ts";
import { world } from "../support/world.ts";
import { readAnswer, type Answer, type Sent } from "./http-client.ts";

/** A key of the tests, which works at any host. */
export const KEY_TEXT = "a-key-of-the-tests";

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** What a deployment knows of the tests' key. */
export function keyOf(permissions: readonly Permission[], changes: Partial<ApiKey> = {}): ApiKey {
  return {
    id: "restricted",
    sha256: sha256(KEY_TEXT),
    tenant: "dev",
    principal: "tester",
    permissions: [...permissions],
    ...changes,
  };
}

export type App = ReturnType<typeof createApp>;

export function appWith(options: Partial<HoldfastOptions> = {}): App {
  return createApp(prepareDeployment({ agents: [plainAgent], ...options }, world.ports));
}

const plainApp = appWith();

export interface Deployed {
  readonly app?: App;
  readonly keys?: readonly ApiKey[];
  /** Beside those of the Worker under test. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** Sends the request as it is to a public host of that deployment. */
export async function sendTo(
  { app = plainApp, keys = [], variables = {} }: Deployed,
  path: string,
  { base = "https://holdfast.example", ...sent }: Sent = {},
): Promise<Answer> {
  const bindings = { ...env, HOLDFAST_API_KEYS: JSON.stringify(keys), ...variables };
  const request = new Request(`${base}${path}`, sent);
  return readAnswer(await app.fetch(request, bindings, createExecutionContext()));
}
