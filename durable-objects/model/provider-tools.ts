// Tools that the provider runs while it answers, such as its web search: which model may have which (TOOL-13). Pure.
import type { LanguageModelV4ProviderTool } from "@ai-sdk/provider";
import type { ModelIdentity } from "../../shared/wire/agent.ts";
import { ModelNotConfigured } from "./classify-failure.ts";
import { providerOf } from "./provider-of.ts";

/**
 * A provider tool works with its own provider's models alone, and its id begins with the provider's name. Throws `ModelNotConfigured`
 * naming both: the model is known when it is called first, as HOLDFAST_MODEL may choose it.
 */
export function refuseForeignTools(
  model: ModelIdentity,
  tools: readonly LanguageModelV4ProviderTool[],
): void {
  const provider = providerOf(model);
  const foreign = tools.find(({ id }) => id.split(".")[0] !== provider);
  if (foreign === undefined) return;
  throw new ModelNotConfigured(
    `The model ${JSON.stringify(`${model.provider}/${model.name}`)} cannot run the provider tool ${foreign.name} (${foreign.id}): it belongs to another provider. Choose a model of its provider, or leave the tool out of providerTools.`,
  );
}
