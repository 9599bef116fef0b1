// From what an agent names to a model that can be called (GW-03), after HOLDFAST_MODEL.
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Agent, ModelChoice } from "../../shared/define/agent.ts";
import { readVariable, type Environment } from "../../shared/define/environment.ts";
import type { ModelIdentity } from "../../shared/wire/agent.ts";
import type { ModelNotConfigured } from "./classify-failure.ts";
import { localModel, type LocalScript } from "./local-model.ts";
import { planRoute, type ModelRoute } from "./plan-route.ts";

/** A model of the deployment's own under an id: a script for `local/…`, or a function that makes the model when it is first called. */
export type RegisteredModel =
  | LocalScript
  | { readonly create: (env: Environment) => LanguageModelV4 };

export type ModelRegistry = Readonly<Record<string, RegisteredModel>>;

/** HOLDFAST_MODEL overrides every agent's own choice. Contract of a choice function: synchronous, no I/O. */
export function chooseModel(agent: Agent, env: Environment): ModelChoice {
  const override = readVariable(env, "HOLDFAST_MODEL");
  if (override !== undefined) return override;
  return typeof agent.model === "function" ? agent.model(env) : agent.model;
}

/** The identity that goes into the model digest and into records: `provider/name` of an id, or what the model says of itself. */
export function identifyModel(choice: ModelChoice): ModelIdentity {
  if (typeof choice !== "string") return { provider: choice.provider, name: choice.modelId };
  const [provider = choice, ...name] = choice.split("/");
  return { provider, name: name.join("/") };
}

/**
 * The model to call. Throws `ModelNotConfigured` for an id that nothing here can make; its message says what to do, and becomes the
 * submission's failure at the first model call.
 */
export function resolveModel(
  choice: ModelChoice,
  registry: ModelRegistry,
  env: Environment,
): LanguageModelV4 {
  if (typeof choice !== "string") return choice;
  const registered = Object.hasOwn(registry, choice) ? registry[choice] : undefined;
  if (registered !== undefined && typeof registered !== "function") return registered.create(env);
  const identity = identifyModel(choice);
  const { provider, name } = identity;
  if (provider === "local" && name !== "") return localModel(name, registered ?? null);
  return providerModel(planRoute(identity, env), identity);
}

/** A model whose client is loaded by its first call. */
function providerModel(route: ModelRoute, { provider, name }: ModelIdentity): LanguageModelV4 {
  let loading: Promise<LanguageModelV4> | null = null;
  const load = (): Promise<LanguageModelV4> =>
    (loading ??= import("./provider-clients.ts").then(({ makeModel }) => makeModel(route)));
  return {
    specificationVersion: "v4",
    provider,
    modelId: name,
    get supportedUrls() {
      return load().then((model) => model.supportedUrls);
    },
    doGenerate: async (options) => (await load()).doGenerate(options),
    doStream: async (options) => (await load()).doStream(options),
  };
}

/** A model that nothing could be made of: each call of it fails with the reason. */
export function failingModel(reason: ModelNotConfigured): LanguageModelV4 {
  const fail = (): Promise<never> => Promise.reject(reason);
  return {
    specificationVersion: "v4",
    provider: "none",
    modelId: "none",
    supportedUrls: {},
    doGenerate: fail,
    doStream: fail,
  };
}
