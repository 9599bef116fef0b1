// The AI SDK's clients of real providers. Loaded when the first of their models is called: they are half of the bundle, and a deployment that
// calls none of them does not pay for them at its start.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { gatewayProvider, gatewayRest } from "../../shared/gateway/index.ts";
import { requiresAll } from "./close-schema.ts";
import type { ModelRoute } from "./plan-route.ts";

/** What every client is made of; an undefined key is one that the client must not look for. */
interface Settings {
  readonly apiKey?: string;
  readonly baseURL?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: typeof fetch;
}

export function makeModel(route: ModelRoute): LanguageModelV4 {
  const settings = settingsOf(route);
  switch (route.client) {
    case "openai":
      return stateless(createOpenAI(settings)(route.modelName));
    case "anthropic":
      return createAnthropic(settings)(route.modelName);
    case "google":
      return createGoogle(settings)(route.modelName);
    case "openai-compatible":
      return createOpenAICompatible({
        name: "openai-compatible",
        // Servers send none in a stream that does not ask for it.
        includeUsage: true,
        // Ollama, vLLM and LM Studio take a JSON Schema.
        supportsStructuredOutputs: true,
        ...settings,
        baseURL: settings.baseURL ?? "",
      })(route.modelName);
  }
}

/**
 * OpenAI keeps what was said for thirty days, and of some organisations nothing; a thread lives longer. So nothing is left there to refer to:
 * reasoning comes back sealed, is kept in the log, and goes with every request. A schema with optional fields cannot be enforced there.
 */
function stateless(model: LanguageModelV4): LanguageModelV4 {
  const withDefaults = (options: LanguageModelV4CallOptions): LanguageModelV4CallOptions => ({
    ...options,
    providerOptions: {
      ...options.providerOptions,
      openai: {
        store: false,
        strictJsonSchema: isStrict(options.responseFormat),
        ...options.providerOptions?.["openai"],
      },
    },
  });
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => model.doGenerate(withDefaults(options)),
    doStream: (options) => model.doStream(withDefaults(options)),
  };
}

function isStrict(format: LanguageModelV4CallOptions["responseFormat"]): boolean {
  return format?.type !== "json" || format.schema === undefined || requiresAll(format.schema);
}

function settingsOf(route: ModelRoute): Settings {
  switch (route.via) {
    case "direct":
      return { apiKey: route.apiKey };
    case "server":
      return {
        baseURL: route.baseUrl,
        ...(route.apiKey === undefined ? {} : { apiKey: route.apiKey }),
      };
    case "gateway-provider":
      return gatewayProvider({
        ...route.gateway,
        provider: route.gatewayProvider,
        ...(route.apiToken === undefined ? {} : { apiToken: route.apiToken }),
        ...(route.providerKey === undefined ? {} : { providerKey: route.providerKey }),
      });
    case "gateway-rest":
      return gatewayRest({
        ...route.gateway,
        apiToken: route.apiToken,
        protocol: "chat-completions",
      });
  }
}
