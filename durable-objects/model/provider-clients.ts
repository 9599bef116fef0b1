// The AI SDK's clients of real providers. Loaded when the first of their models is called: they are half of the bundle, and a deployment that
// calls none of them does not pay for them at its start. Their model classes alone are taken: with everything else that a provider's package
// makes (images, speech, batches, files) the bundle is fifty kilobytes larger. These entries are outside the packages' promise, so versions
// are pinned exactly and the contract suite of recorded streams runs through them.
import { AnthropicLanguageModel } from "@ai-sdk/anthropic/internal";
import { GoogleLanguageModel } from "@ai-sdk/google/internal";
import { OpenAIResponsesLanguageModel } from "@ai-sdk/openai/internal";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { createWorkersAI } from "workers-ai-provider";
import { gatewayProvider, gatewayRest } from "../../shared/gateway/index.ts";
import { isStrictSchema } from "./close-schema.ts";
import type { HttpRoute, ModelRoute } from "./plan-route.ts";

/** What every client is made of; an undefined key is one that the client must not look for. */
interface Settings {
  readonly apiKey?: string;
  readonly baseURL?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: typeof fetch;
}

export function makeModel(route: ModelRoute): LanguageModelV4 {
  if (route.via === "binding") {
    const { binding, gatewayId } = route;
    const gateway = gatewayId === undefined ? {} : { gateway: { id: gatewayId } };
    return createWorkersAI({ binding, ...gateway })(route.modelName);
  }
  const settings = settingsOf(route);
  switch (route.client) {
    case "openai": {
      const { baseURL = "https://api.openai.com/v1", apiKey } = settings;
      return stateless(
        new OpenAIResponsesLanguageModel(route.modelName, {
          provider: "openai.responses",
          url: ({ path }) => `${baseURL}${path}`,
          ...transportOf(settings, { authorization: `Bearer ${apiKey}` }),
        }),
      );
    }
    case "anthropic": {
      const { baseURL = "https://api.anthropic.com/v1", apiKey } = settings;
      const version = { "anthropic-version": "2023-06-01" };
      return new AnthropicLanguageModel(route.modelName, {
        provider: "anthropic.messages",
        baseURL,
        generateId: makeId,
        ...transportOf(settings, { ...version, "x-api-key": apiKey }),
      });
    }
    case "google": {
      const { baseURL = "https://generativelanguage.googleapis.com/v1beta", apiKey } = settings;
      return new GoogleLanguageModel(route.modelName, {
        provider: "google.generative-ai",
        baseURL,
        generateId: makeId,
        ...transportOf(settings, { "x-goog-api-key": apiKey }),
      });
    }
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

/** A name for a call of a provider that gives it none. */
function makeId(): string {
  return crypto.randomUUID();
}

function transportOf(
  settings: Settings,
  own: Readonly<Record<string, string | undefined>>,
): { readonly headers: Record<string, string | undefined>; readonly fetch?: typeof fetch } {
  return {
    headers: { ...own, ...settings.headers },
    ...(settings.fetch === undefined ? {} : { fetch: settings.fetch }),
  };
}

/**
 * OpenAI keeps what was said for thirty days, and of some organisations nothing; a thread lives longer. So nothing is left there to refer to:
 * reasoning comes back sealed, is kept in the log, and goes with every request. A schema that strict mode would refuse is sent without it.
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
  return format?.type !== "json" || format.schema === undefined || isStrictSchema(format.schema);
}

function settingsOf(route: HttpRoute): Settings {
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
