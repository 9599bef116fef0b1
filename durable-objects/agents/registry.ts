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
import {
  askSelection,
  type BindingSelection,
  type SelectableSubmission,
} from "./select-binding.ts";

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

export interface RegistryOptions {
  readonly models?: ModelRegistry;
  readonly prices?: PriceTable;
  readonly selectBinding?: BindingSelection;
}

export class AgentRegistry {
  readonly #bindings: readonly Binding[];
  readonly #selection: BindingSelection | null;
  #key: string | null = null;

  constructor(agents: readonly Agent[], options: RegistryOptions, env: Environment) {
    const { models = {}, prices = {}, selectBinding = null } = options;
    this.#bindings = agents.map((agent) => bind(agent, models, prices, env));
    this.#selection = selectBinding;
  }

  /** The host says which of several definitions runs what: `only` does not tell. */
  get hasSelection(): boolean {
    return this.#selection !== null;
  }

  /** Changes with what is registered and how it is selected (THR-09). */
  get key(): string {
    this.#key ??= digestJson([
      this.#bindings.map(({ agent, digests }) => [agent.id, agent.revision, { ...digests }]),
      this.#selection?.key ?? null,
    ]);
    return this.#key;
  }

  /** The definition that runs a submission; null where there is none, or more than one and nothing selects. */
  resolve(submission: SelectableSubmission): Binding | null {
    const { agentId } = submission;
    if (this.#selection === null) return this.only(agentId);
    const registered = this.#of(agentId).map(({ agent }) => agent);
    const selected = askSelection(this.#selection, submission, registered);
    if (selected === undefined) return this.only(agentId);
    return this.#bindings.find(({ agent }) => agent === selected) ?? null;
  }

  /** The one definition of an id; null where there are none or several. */
  only(agentId: string): Binding | null {
    const [binding, ...others] = this.#of(agentId);
    return others.length === 0 ? (binding ?? null) : null;
  }

  has(agentId: string): boolean {
    return this.#of(agentId).length > 0;
  }

  all(): readonly Binding[] {
    return this.#bindings;
  }

  ids(): string[] {
    return [...new Set(this.#bindings.map(({ agent }) => agent.id))];
  }

  #of(agentId: string): readonly Binding[] {
    return this.#bindings.filter(({ agent }) => agent.id === agentId);
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
