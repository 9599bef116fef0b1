// All that a deployment sets, checked where it is made, and worked out once per environment.
import { z } from "zod";
import { AgentRegistry } from "../durable-objects/agents/registry.ts";
import type { Ports } from "../shared/ports.ts";
import { errorName, logEvent } from "../durable-objects/platform/log.ts";
import type { ThreadOptions } from "../durable-objects/thread/thread-options.ts";
import type { Agent } from "../shared/define/agent.ts";
import type { Environment } from "../shared/define/environment.ts";
import { PriceTableSchema } from "../shared/define/prices.ts";
import { refuseUnknownFields, validateDefinition } from "../shared/define/validate-definition.ts";
import { MAX_LANE_TIMEOUT_MILLIS } from "../shared/limits.ts";
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
  "prices",
  "auth",
  "authorizeOperation",
  "toolAuthorization",
  "selectBinding",
  "placement",
  "ownsThread",
  "lanes",
  "hostLanesForMutation",
  "onRecoveryEvent",
  "onToolFailure",
  "onEvent",
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
 * Throws `InvalidDefinition` that names the field for options that are given. What is wrong with those that are made is in the log; whoever
 * calls meanwhile is told `Unavailable`, before the credential is known.
 */
export function prepareDeployment(
  options: HoldfastOptions | ((env: Environment) => HoldfastOptions),
  ports: Ports,
): Deployment {
  if (typeof options !== "function") validateOptions(options);
  const optionsOf = perEnvironment((env) => {
    if (typeof options !== "function") return options;
    return makeOptions(() => options(env));
  });
  const agentsOf = perEnvironment((env) => {
    const options = optionsOf(env);
    return describeAgents(new AgentRegistry(options.agents, options, env));
  });
  return { optionsOf, agentsOf, ports };
}

function makeOptions(make: () => HoldfastOptions): HoldfastOptions {
  try {
    const made = make();
    validateOptions(made);
    return made;
  } catch (error) {
    // Our own errors name fields and ids; an author's may hold anything.
    const why = error instanceof HoldfastError ? error.message : errorName(error);
    logEvent("error", "options-failed", { why });
    throw new HoldfastError(
      "Unavailable",
      "The deployment's options could not be made; its log says why.",
      { cause: error, fields: { reason: "configuration", retryAfterSeconds: 60 } },
    );
  }
}

/** Beside what the types say: they do not reach a function that returns nothing or a promise, nor an agent of modules that import in a circle. */
const AgentsSchema = z.object({
  agents: z
    .array(
      z.custom<Agent>((agent) => typeof agent === "object" && agent !== null && "id" in agent, {
        message: "no agent; defineAgent makes one",
      }),
    )
    .min(1, { message: "there is none" })
    .superRefine((agents, context) => {
      // Several revisions of one id are for `selectBinding` to tell apart; the same one twice is a mistake.
      const names = agents.map(({ id, revision }) => `${id}, revision ${revision}`);
      refuseTwice(names, context);
    }),
});

const LaneSchema = z.strictObject({
  id: z
    .string()
    .min(1)
    .max(128)
    .refine((id) => !id.startsWith("holdfast:"), { message: "the prefix holdfast: is taken" }),
  dispatchTimeoutMillis: z.int().min(1).max(MAX_LANE_TIMEOUT_MILLIS),
  phase: z.enum(["concurrent", "after-native"]).optional(),
  run: z.custom((value) => typeof value === "function", { message: "a function" }),
});

const OptionalSchema = z.object({
  lanes: z
    .array(LaneSchema)
    .superRefine((lanes, context) => {
      refuseTwice(
        lanes.map(({ id }) => id),
        context,
      );
    })
    .optional(),
  prices: PriceTableSchema.optional(),
  selectBinding: z
    .strictObject({
      key: z.string().min(1).max(256),
      select: z.custom((value) => typeof value === "function", { message: "a function" }),
    })
    .optional(),
});

function refuseTwice(ids: readonly string[], context: z.RefinementCtx): void {
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice === undefined) return;
  context.addIssue({ code: "custom", message: `two have the id ${twice}` });
}

function validateOptions(options: HoldfastOptions): void {
  validateDefinition("holdfast", z.object({}), options);
  refuseUnknownFields("holdfast", options, FIELDS);
  validateDefinition("holdfast", AgentsSchema, options);
  validateDefinition("holdfast", OptionalSchema, options);
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
