// The two families of AI Gateway endpoints, as settings for any AI SDK provider factory. Runs in Workers and in Node.
import { HoldfastError } from "../errors/holdfast-error.ts";
import { CREDENTIAL_RULE, isCredential, isSegment, SEGMENT_RULE } from "./check-settings.ts";
import { confinedFetch } from "./confined-fetch.ts";

/**
 * Spread it into a provider factory: `createOpenAI(gatewayProvider({ … }))`. Holds no credential: those are known to `fetch` alone, so that none
 * is printed with it. Models, tools, streams and errors stay the provider's; nothing is retried, cached or replaced on the way.
 */
export interface GatewayEndpoint {
  readonly baseURL: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  /** Keeps the factory from looking for a key in its environment; `fetch` replaces or removes it. */
  readonly apiKey: string;
}

interface GatewaySettings {
  readonly accountId: string;
  readonly gatewayId: string;
  /** Sends a request in place of the global fetch. Contract: follows no redirect by itself. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

export interface GatewayProviderOptions extends GatewaySettings {
  /** The provider's name in the gateway, such as `openai`, `anthropic`, `google-ai-studio` or `groq`. */
  readonly provider: string;
  /** Of an authenticated gateway; sent as `cf-aig-authorization`. */
  readonly apiToken?: string;
  /** The provider's own key. Without one the gateway uses its stored key or unified billing. */
  readonly providerKey?: string;
}

export type GatewayProtocol = "responses" | "messages" | "chat-completions";

export interface GatewayRestOptions extends GatewaySettings {
  /** A Cloudflare API token with Workers AI read permission. */
  readonly apiToken: string;
  readonly protocol: GatewayProtocol;
}

const PLACEHOLDER_KEY = "held-by-the-gateway";

/** What AI SDK clients expect to be part of the base URL, where the gateway's path is without it. */
const BASE_PATHS: Readonly<Record<string, string>> = {
  anthropic: "/v1",
  "google-ai-studio": "/v1beta",
};

/** How a provider takes its key; all others take `Authorization: Bearer`. */
const KEY_HEADERS: Readonly<Record<string, string>> = {
  anthropic: "x-api-key",
  "google-ai-studio": "x-goog-api-key",
  "azure-openai": "api-key",
  parallel: "x-api-key",
};

/** What each protocol's client asks below the base URL; embedding models go by OpenAI's client. */
const PROTOCOL_PATHS: Readonly<Record<GatewayProtocol, readonly string[]>> = {
  responses: ["/responses", "/embeddings"],
  messages: ["/messages"],
  "chat-completions": ["/chat/completions", "/embeddings"],
};

/**
 * A provider's own API through the gateway; models go by the provider's own names, such as `gpt-6-luna`. Other parts of a path, such as a
 * project, are appended to `baseURL`. Throws `InvalidDefinition` that names the setting.
 */
export function gatewayProvider(options: GatewayProviderOptions): GatewayEndpoint {
  const { provider, apiToken, providerKey } = options;
  const account = segment("gatewayProvider", "accountId", options.accountId);
  const gateway = segment("gatewayProvider", "gatewayId", options.gatewayId);
  const name = segment("gatewayProvider", "provider", provider);
  const root = `https://gateway.ai.cloudflare.com/v1/${account}/${gateway}/${name}`;
  const keyHeader = ownValue(KEY_HEADERS, name);
  return {
    baseURL: root + (ownValue(BASE_PATHS, name) ?? ""),
    headers: {},
    apiKey: PLACEHOLDER_KEY,
    fetch: confinedFetch({
      allowed: [new URL(root)],
      credentials: {
        ...(apiToken === undefined
          ? {}
          : {
              "cf-aig-authorization": `Bearer ${credential("gatewayProvider", "apiToken", apiToken)}`,
            }),
        ...(providerKey === undefined
          ? {}
          : keyAs(keyHeader, credential("gatewayProvider", "providerKey", providerKey))),
      },
      send: options.fetch,
    }),
  };
}

/**
 * The account's REST API; models go by names that are qualified by their provider, such as `openai/gpt-6-luna`. The protocol is the one that
 * the client speaks: OpenAI's `responses`, Anthropic's `messages`, or `chat-completions`. Throws `InvalidDefinition` that names the setting.
 */
export function gatewayRest(options: GatewayRestOptions): GatewayEndpoint {
  const account = segment("gatewayRest", "accountId", options.accountId);
  const gateway = segment("gatewayRest", "gatewayId", options.gatewayId);
  const paths = ownValue(PROTOCOL_PATHS, options.protocol);
  if (paths === undefined) {
    throw invalid("gatewayRest", "protocol", "is responses, messages or chat-completions");
  }
  const baseURL = `https://api.cloudflare.com/client/v4/accounts/${account}/ai/v1`;
  const apiToken = credential("gatewayRest", "apiToken", options.apiToken);
  return {
    baseURL,
    headers: { "cf-aig-gateway-id": gateway },
    apiKey: PLACEHOLDER_KEY,
    fetch: confinedFetch({
      allowed: paths.map((path) => new URL(baseURL + path)),
      credentials: { authorization: `Bearer ${apiToken}` },
      send: options.fetch,
    }),
  };
}

function keyAs(header: string | undefined, key: string): Record<string, string> {
  return header === undefined ? { authorization: `Bearer ${key}` } : { [header]: key };
}

function segment(helper: string, field: string, value: unknown): string {
  if (isSegment(value)) return value;
  throw invalid(helper, field, SEGMENT_RULE);
}

/** The message never repeats it. */
function credential(helper: string, field: string, value: unknown): string {
  if (isCredential(value)) return value;
  throw invalid(helper, field, CREDENTIAL_RULE);
}

function invalid(helper: string, field: string, rule: string): HoldfastError {
  return new HoldfastError("InvalidDefinition", `${helper}: ${field}: ${rule}.`);
}

function ownValue<Value>(table: Readonly<Record<string, Value>>, name: unknown): Value | undefined {
  return typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined;
}
