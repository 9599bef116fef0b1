// All that a deployment sets, checked where it is made, and worked out once per environment.
import { AgentRegistry } from "../durable-objects/agents/registry.ts";
import type { Ports } from "../shared/ports.ts";
import type { ThreadOptions } from "../durable-objects/thread/thread-options.ts";
import type { Environment } from "../shared/define/environment.ts";
import { refuseUnknownFields } from "../shared/define/validate-definition.ts";
import { HoldfastError } from "../shared/errors/holdfast-error.ts";
import type { AgentView } from "../shared/wire/agent-view.ts";
import type { CallerOf } from "./auth/verify-token.ts";
import { describeAgents } from "./operations/describe-agents.ts";

export interface HoldfastOptions extends ThreadOptions {
  readonly auth?: {
    /** From a verified token's claims to who calls; by default `sub`, `tenant`, and `permissions` or `scope`. */
    readonly callerOf?: CallerOf;
  };
}

const FIELDS = [
  "agents",
  "models",
  "auth",
  "authorizeOperation",
  "toolAuthorization",
  "services",
  "limits",
] as const satisfies readonly (keyof HoldfastOptions)[];

/** A deployment as its Worker uses it. */
export interface Deployment {
  readonly optionsOf: (env: Environment) => HoldfastOptions;
  readonly agentsOf: (env: Environment) => AgentView[];
  readonly ports: Ports;
}

/**
 * @param options or a function of the environment that makes them. Contract: synchronous, local, bounded.
 * Throws `InvalidDefinition` that names the field: at start for options that are given, at the first use for those that are made.
 */
export function prepareDeployment(
  options: HoldfastOptions | ((env: Environment) => HoldfastOptions),
  ports: Ports,
): Deployment {
  if (typeof options !== "function") validateOptions(options);
  const optionsOf = perEnvironment((env) => {
    if (typeof options !== "function") return options;
    const made = options(env);
    validateOptions(made);
    return made;
  });
  const agentsOf = perEnvironment((env) => {
    const { agents, models } = optionsOf(env);
    return describeAgents(new AgentRegistry(agents, models ?? {}, env));
  });
  return { optionsOf, agentsOf, ports };
}

function validateOptions(options: HoldfastOptions): void {
  refuseUnknownFields("holdfast", options, FIELDS);
  if (options.agents.length === 0) {
    throw new HoldfastError("InvalidDefinition", "holdfast: agents: there is none");
  }
}

/** The environment is one object per isolate, so what follows from it is worked out once. */
function perEnvironment<T>(make: (env: Environment) => T): (env: Environment) => T {
  const made = new WeakMap<Environment, { readonly value: T }>();
  return (env) => {
    const known = made.get(env);
    if (known !== undefined) return known.value;
    const value = make(env);
    made.set(env, { value });
    return value;
  };
}
