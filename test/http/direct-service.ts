// HoldfastService of a deployment of a test's own, made without a binding: other options, other variables, any caller.
import { createExecutionContext, env } from "cloudflare:test";
import { z } from "zod";
import type { ServiceRpc } from "../../shared/wire/entrypoint.ts";
import type { Environment } from "../../shared/define/environment.ts";
import { prepareDeployment, type HoldfastOptions } from "../../worker/deployment-options.ts";
import { serviceClass } from "../../worker/rpc-entrypoint.ts";
import { plainAgent } from "../support/test-agents.ts";
import { TESTER } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

export interface DirectService {
  readonly options?: HoldfastOptions | ((env: Environment) => HoldfastOptions);
  /** Beside those of the Worker under test. */
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly props?: unknown;
}

/** The environment of the tests, with these variables too: an object of its own each time. */
export function environmentWith(variables: Readonly<Record<string, unknown>> = {}): Cloudflare.Env {
  return z.custom<Cloudflare.Env>().parse({ ...env, ...variables });
}

export function directService({
  options = { agents: [plainAgent] },
  variables = {},
  props = TESTER,
}: DirectService = {}): ServiceRpc {
  const Service = serviceClass(prepareDeployment(options, world.ports));
  const context = Object.defineProperty(createExecutionContext(), "props", { value: props });
  return new Service(context, environmentWith(variables));
}
