// The agents of this deployment, with what is computed once per agent: digests, tool schemas, tool look-up.
import type {
  LanguageModelV4,
  LanguageModelV4FunctionTool,
  LanguageModelV4ProviderTool,
} from "@ai-sdk/provider";
import type { JsonValue } from "../../shared/canonical-json.ts";
import type { Agent, ModelChoice } from "../../shared/define/agent.ts";
import type { Environment } from "../../shared/define/environment.ts";
import type { Tool } from "../../shared/define/tool.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import type { DefinitionDigests, ModelIdentity } from "../../shared/wire/agent.ts";
import { ModelNotConfigured } from "../model/classify-failure.ts";
import { errorName, logEvent } from "../platform/log.ts";
import type { ModelPrice, PriceTable } from "../../shared/define/prices.ts";
import { findPrice } from "../model/prices.ts";
import type { OutputContract } from "./output-contract.ts";
import { closeSchema } from "../model/close-schema.ts";
import { sayOutput, type OutputFormat } from "../model/say-output.ts";
import { refuseForeignTools } from "../model/provider-tools.ts";
import {
  chooseModel,
  failingModel,
  identifyModel,
  resolveModel,
  type ModelRegistry,
} from "../model/resolve-model.ts";
import { digestJson } from "../platform/digest.ts";

/** An agent as it runs in this deployment and this environment. */
export interface Binding {
  readonly agent: Agent;
  readonly digests: DefinitionDigests;
  readonly modelIdentity: ModelIdentity;
  readonly tools: ReadonlyMap<string, Tool>;
  /** What every call offers, converted once: the tools, the completion tool, and those that the provider runs. */
  readonly callTools: (LanguageModelV4FunctionTool | LanguageModelV4ProviderTool)[];
  readonly providerTools: readonly LanguageModelV4ProviderTool[];
  readonly output: OutputContract;
  /** The output schema as every call sends it, where the model takes one. */
  readonly outputFormat: OutputFormat | null;
  /** What says it in words where the model does not; empty where nothing has to be said. */
  readonly outputInstruction: string;
  /** Null where the model has no price. */
  readonly price: ModelPrice | null;
  /** Throws `ModelNotConfigured`; asked at the first model call, so that the settlement can say it. */
  readonly model: () => LanguageModelV4;
}

export class AgentRegistry {
  readonly #bindings = new Map<string, Binding>();

  /** Throws `InvalidDefinition` when two agents have one id. */
  constructor(
    agents: readonly Agent[],
    { models = {}, prices = {} }: { readonly models?: ModelRegistry; readonly prices?: PriceTable },
    env: Environment,
  ) {
    for (const agent of agents) {
      if (this.#bindings.has(agent.id)) {
        throw new HoldfastError("InvalidDefinition", `agents: two have the id ${agent.id}`);
      }
      this.#bindings.set(agent.id, bind(agent, models, prices, env));
    }
  }

  find(agentId: string): Binding | null {
    return this.#bindings.get(agentId) ?? null;
  }

  has(agentId: string): boolean {
    return this.#bindings.has(agentId);
  }

  all(): Binding[] {
    return [...this.#bindings.values()];
  }

  ids(): string[] {
    return [...this.#bindings.keys()];
  }
}

function bind(agent: Agent, models: ModelRegistry, prices: PriceTable, env: Environment): Binding {
  const choice = chooseOrFail(agent, env);
  const modelIdentity = identifyModel(choice);
  const { providerTools } = agent;
  let model: LanguageModelV4 | null = null;
  return {
    agent,
    modelIdentity,
    digests: digestDefinition(agent, modelIdentity),
    tools: new Map(agent.tools.map((tool) => [tool.name, tool])),
    callTools: [...agent.tools.map(toFunctionTool), ...completionTools(agent), ...providerTools],
    providerTools,
    output: {
      decodeOutput: (text) => agent.decodeOutput(text),
      decodeCompletion: (args) => agent.decodeCompletion(args),
      hasOutputSchema: agent.outputJsonSchema !== null,
      completionTool: agent.completionTool,
    },
    ...sayOutput(agent, modelIdentity),
    price: findPrice(modelIdentity, prices),
    model: () => {
      refuseForeignTools(modelIdentity, providerTools);
      return (model ??= resolveModel(choice, models, env));
    },
  };
}

function toFunctionTool(tool: Tool): LanguageModelV4FunctionTool {
  const { name, description, inputJsonSchema } = tool;
  return { type: "function", name, description, inputSchema: closeSchema(inputJsonSchema) };
}

/** The tool whose arguments are the output (RUN-16). */
function completionTools(agent: Agent): LanguageModelV4FunctionTool[] {
  const { completionTool: name, outputJsonSchema } = agent;
  if (name === null || outputJsonSchema === null) return [];
  const description =
    "Gives the final result and ends the work. Call it once, alone, when everything else is done.";
  return [{ type: "function", name, description, inputSchema: closeSchema(outputJsonSchema) }];
}

/** A choice function that throws is its own agent's trouble: the first model call fails, and the settlement says so (GW-03). */
function chooseOrFail(agent: Agent, env: Environment): ModelChoice {
  try {
    return chooseModel(agent, env);
  } catch (error) {
    const why = `The model function of agent ${agent.id} threw ${errorName(error)}.`;
    logEvent("error", "model-choice-failed", { agentId: agent.id, error: errorName(error) });
    return failingModel(new ModelNotConfigured(why));
  }
}

/** THR-10. Function-valued instructions contribute only the revision. */
export function digestDefinition(agent: Agent, model: ModelIdentity): DefinitionDigests {
  return {
    agent: digestJson({
      id: agent.id,
      revision: agent.revision,
      instructions: agent.constantInstructions,
      input: toJson(agent.inputJsonSchema),
      output: toJson(agent.outputJsonSchema),
      policy: toJson(agent.policy),
      ...(agent.completionTool === null ? {} : { completionTool: agent.completionTool }),
    }),
    model: digestJson({ provider: model.provider, name: model.name }),
    tools: digestJson([
      ...agent.tools.map((tool) => ({
        name: tool.name,
        revision: tool.revision,
        schema: toJson(tool.inputJsonSchema),
        effect: tool.effect,
      })),
      ...agent.providerTools.map(({ id, name, args }) => ({ id, name, args: toJson(args) })),
    ]),
  };
}

function toJson(value: unknown): JsonValue {
  const copy: JsonValue = JSON.parse(JSON.stringify(value));
  return copy;
}
