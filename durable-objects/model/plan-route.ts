// From a model id to where its calls go, by the deployment's variables (GW-03). Pure.
import { z } from "zod";
import { readVariable, type Environment } from "../../shared/define/environment.ts";
import {
  CREDENTIAL_RULE,
  isCredential,
  isSegment,
  SEGMENT_RULE,
} from "../../shared/gateway/check-settings.ts";
import type { ModelIdentity } from "../../shared/wire/agent.ts";
import { ModelNotConfigured } from "./classify-failure.ts";

/** Whose API is spoken over HTTP. */
export type ModelClient = "openai" | "anthropic" | "google" | "openai-compatible";

interface Gateway {
  readonly accountId: string;
  readonly gatewayId: string;
}

/** `modelName` is what the other side calls the model. */
export type HttpRoute = { readonly client: ModelClient; readonly modelName: string } & (
  | { readonly via: "direct"; readonly apiKey: string }
  | { readonly via: "server"; readonly baseUrl: string; readonly apiKey: string | undefined }
  | {
      readonly via: "gateway-provider";
      readonly gateway: Gateway;
      readonly gatewayProvider: string;
      readonly apiToken: string | undefined;
      readonly providerKey: string | undefined;
    }
  | { readonly via: "gateway-rest"; readonly gateway: Gateway; readonly apiToken: string }
);

/** Through the account's own binding, and through the gateway where one is named. */
export interface BindingRoute {
  readonly via: "binding";
  readonly modelName: string;
  readonly binding: Ai;
  readonly gatewayId: string | undefined;
}

export type ModelRoute = HttpRoute | BindingRoute;

/** Providers whose own API is spoken: the variable of their key, and their name in AI Gateway. */
const PROVIDERS = {
  openai: { keyVariable: "OPENAI_API_KEY", gatewayProvider: "openai" },
  anthropic: { keyVariable: "ANTHROPIC_API_KEY", gatewayProvider: "anthropic" },
  google: { keyVariable: "GOOGLE_GENERATIVE_AI_API_KEY", gatewayProvider: "google-ai-studio" },
} as const satisfies Record<Exclude<ModelClient, "openai-compatible">, object>;

const HOW_TO_SET = "Set it in .dev.vars, or with wrangler secret put.";
const GATEWAY_VARIABLES = "AI_GATEWAY_ACCOUNT_ID and AI_GATEWAY_ID";

/**
 * With both variables of a gateway set, every provider but `openai-compatible` goes through it. Throws `ModelNotConfigured` that names the
 * variables to set, never their values.
 */
export function planRoute(model: ModelIdentity, env: Environment): ModelRoute {
  const { provider, name } = model;
  const id = JSON.stringify(`${provider}/${name}`);
  if (name === "") {
    throw new ModelNotConfigured(
      `The model id ${JSON.stringify(provider)} names no model. Write provider/model, register the id under \`models\` of holdfast({ … }), or set HOLDFAST_MODEL.`,
    );
  }
  if (provider === "openai-compatible") return planServer(id, name, env);
  const binding = provider === "workers-ai" ? readBinding(env) : null;
  if (binding !== null) {
    // The binding is of the account: the gateway's name is enough.
    const gatewayId = readSegment(env, "AI_GATEWAY_ID");
    return { modelName: name, via: "binding", binding, gatewayId };
  }
  const gateway = readGateway(id, env);
  const apiToken = readCredential(env, "AI_GATEWAY_TOKEN");
  if (isOwnApi(provider)) {
    const { keyVariable, gatewayProvider } = PROVIDERS[provider];
    const key = readCredential(env, keyVariable);
    const common = { client: provider, modelName: name } as const;
    if (gateway !== null) {
      const credentials = { apiToken, providerKey: key };
      return { ...common, via: "gateway-provider", gateway, gatewayProvider, ...credentials };
    }
    if (key !== undefined) return { ...common, via: "direct", apiKey: key };
    throw new ModelNotConfigured(
      `The model ${id} needs ${keyVariable}, or ${GATEWAY_VARIABLES}. ${HOW_TO_SET}`,
    );
  }
  if (gateway === null || apiToken === undefined) {
    throw new ModelNotConfigured(
      provider === "workers-ai"
        ? `The model ${id} needs the binding AI ("ai": { "binding": "AI" } in wrangler.jsonc), or ${GATEWAY_VARIABLES} and AI_GATEWAY_TOKEN. ${HOW_TO_SET}`
        : `This deployment cannot make the model ${id}: a provider without a client here is reached through AI Gateway, which needs ${GATEWAY_VARIABLES} and AI_GATEWAY_TOKEN. ${HOW_TO_SET} Or register the id under \`models\` of holdfast({ … }), or set HOLDFAST_MODEL.`,
    );
  }
  // Workers AI's own names are complete; others are qualified by their provider.
  const modelName = provider === "workers-ai" ? name : `${provider}/${name}`;
  return { client: "openai-compatible", modelName, via: "gateway-rest", gateway, apiToken };
}

function planServer(id: string, modelName: string, env: Environment): ModelRoute {
  const variable = "OPENAI_COMPATIBLE_BASE_URL";
  const baseUrl = readVariable(env, variable);
  if (baseUrl === undefined) {
    throw new ModelNotConfigured(
      `The model ${id} needs ${variable}, such as http://127.0.0.1:11434/v1. ${HOW_TO_SET}`,
    );
  }
  const protocol = URL.parse(baseUrl)?.protocol;
  if (protocol !== "http:" && protocol !== "https:") {
    throw new ModelNotConfigured(`${variable} is not an http or https URL. ${HOW_TO_SET}`);
  }
  const apiKey = readCredential(env, "OPENAI_COMPATIBLE_API_KEY");
  return { client: "openai-compatible", modelName, via: "server", baseUrl, apiKey };
}

/** Half a gateway is a mistake, and not a reason to go around it. */
function readGateway(id: string, env: Environment): Gateway | null {
  const accountId = readSegment(env, "AI_GATEWAY_ACCOUNT_ID");
  const gatewayId = readSegment(env, "AI_GATEWAY_ID");
  if (accountId !== undefined && gatewayId !== undefined) return { accountId, gatewayId };
  if (accountId === undefined && gatewayId === undefined) return null;
  throw new ModelNotConfigured(
    `The model ${id} cannot be reached: ${GATEWAY_VARIABLES} are set together or not at all. ${HOW_TO_SET}`,
  );
}

const BindingSchema = z.custom<Ai>(
  (value) => typeof value === "object" && value !== null && "run" in value,
);

function readBinding(env: Environment): Ai | null {
  const read = BindingSchema.safeParse(Reflect.get(env, "AI"));
  return read.success ? read.data : null;
}

function readSegment(env: Environment, variable: string): string | undefined {
  const value = readVariable(env, variable);
  if (value === undefined || isSegment(value)) return value;
  throw new ModelNotConfigured(`${variable} ${SEGMENT_RULE}; what is set is not. ${HOW_TO_SET}`);
}

function readCredential(env: Environment, variable: string): string | undefined {
  const value = readVariable(env, variable);
  if (value === undefined || isCredential(value)) return value;
  throw new ModelNotConfigured(`${variable} ${CREDENTIAL_RULE}; what is set is not. ${HOW_TO_SET}`);
}

function isOwnApi(provider: string): provider is keyof typeof PROVIDERS {
  return Object.hasOwn(PROVIDERS, provider);
}
