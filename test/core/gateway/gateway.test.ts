// AI Gateway through the real clients of the AI SDK, in Node: where they ask, which credentials leave, what is refused, and that no secret
// is seen by anybody who looks at the settings or at an error.
import { createServer, type Server } from "node:http";
import { inspect } from "node:util";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { EmbeddingModelV4, LanguageModelV4 } from "@ai-sdk/provider";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  gatewayProvider,
  gatewayRest,
  type GatewayEndpoint,
  type GatewayProtocol,
} from "../../../shared/gateway/index.ts";
import { outcomeOf } from "../client/fakes.ts";

const ACCOUNT = "0123456789abcdef0123456789abcdef";
const TOKEN = "cf-token-that-is-secret";
const KEY = "provider-key-that-is-secret";
const FOUND = "key-found-in-the-environment";

const PROVIDER_ROOT = `https://gateway.ai.cloudflare.com/v1/${ACCOUNT}/my-gateway`;
const REST_ROOT = `https://api.cloudflare.com/client/v4/accounts/${ACCOUNT}/ai/v1`;

beforeEach(() => {
  for (const name of [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "GOOGLE_GENERATIVE_AI_API_KEY",
  ]) {
    vi.stubEnv(name, FOUND);
  }
});

afterEach(() => {
  vi.unstubAllEnvs();
});

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A transport that keeps what it was asked, and answers the same each time. */
function transport(answer: () => Response = () => new Response("{}")) {
  const sent: Sent[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    const { method, url, headers } = request;
    const text = await request.text();
    sent.push({
      method,
      url,
      headers: Object.fromEntries(headers),
      body: text === "" ? null : JSON.parse(text),
    });
    return answer();
  };
  return { fetch, sent };
}

type Overrides = Partial<Parameters<typeof gatewayProvider>[0]>;

function providerOf(provider: string, more: Overrides = {}): GatewayEndpoint {
  return gatewayProvider({ accountId: ACCOUNT, gatewayId: "my-gateway", provider, ...more });
}

function restOf(
  protocol: GatewayProtocol,
  fetch?: (request: Request) => Promise<Response>,
): GatewayEndpoint {
  return gatewayRest({
    accountId: ACCOUNT,
    gatewayId: "my-gateway",
    apiToken: TOKEN,
    protocol,
    ...(fetch === undefined ? {} : { fetch }),
  });
}

const PROMPT = [{ role: "user" as const, content: [{ type: "text" as const, text: "hello" }] }];

/** The headers that may carry a credential. */
function credentialsOf({ headers }: Sent): Record<string, string> {
  const names = ["cf-aig-authorization", "authorization", "x-api-key", "x-goog-api-key", "api-key"];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

async function call(model: LanguageModelV4): Promise<unknown> {
  // What the client makes of an empty answer is its own matter.
  return outcomeOf(Promise.resolve(model.doGenerate({ prompt: PROMPT })));
}

async function embed(model: EmbeddingModelV4): Promise<unknown> {
  return outcomeOf(Promise.resolve(model.doEmbed({ values: ["hello"] })));
}

type Client = (endpoint: GatewayEndpoint) => Promise<unknown>;

const openai: Client = (endpoint) => call(createOpenAI(endpoint)("gpt-6-luna"));
const openaiChat: Client = (endpoint) => call(createOpenAI(endpoint).chat("gpt-6-luna"));
const openaiEmbedding: Client = (endpoint) =>
  embed(createOpenAI(endpoint).embedding("text-embedding-3-small"));
const anthropic: Client = (endpoint) => call(createAnthropic(endpoint)("claude-opus-5"));
const google: Client = (endpoint) => call(createGoogle(endpoint)("gemini-3-flash"));
const googleEmbedding: Client = (endpoint) =>
  embed(createGoogle(endpoint).embedding("gemini-embedding-001"));
const compatible: Client = (endpoint) =>
  call(createOpenAICompatible({ name: "groq", ...endpoint })("llama-4"));

describe("[GW-01, GW-05] gatewayProvider", () => {
  it.each<[provider: string, what: string, client: Client, path: string, keyHeader: string]>([
    ["openai", "responses", openai, "/openai/responses", "authorization"],
    ["openai", "chat", openaiChat, "/openai/chat/completions", "authorization"],
    ["openai", "embeddings", openaiEmbedding, "/openai/embeddings", "authorization"],
    ["anthropic", "messages", anthropic, "/anthropic/v1/messages", "x-api-key"],
    [
      "google-ai-studio",
      "content",
      google,
      "/google-ai-studio/v1beta/models/gemini-3-flash:generateContent",
      "x-goog-api-key",
    ],
    [
      "google-ai-studio",
      "embeddings",
      googleEmbedding,
      "/google-ai-studio/v1beta/models/gemini-embedding-001:embedContent",
      "x-goog-api-key",
    ],
    ["groq", "an OpenAI-compatible client", compatible, "/groq/chat/completions", "authorization"],
  ])("serves %s, %s", async (provider, _what, client, path, keyHeader) => {
    const bearer = keyHeader === "authorization" ? `Bearer ${KEY}` : KEY;
    const gatewayToken = { "cf-aig-authorization": `Bearer ${TOKEN}` };
    for (const [settings, credentials] of [
      // Stored keys or unified billing, the caller's own key, both, and a gateway that asks for nothing.
      [{ apiToken: TOKEN }, gatewayToken],
      [{ providerKey: KEY }, { [keyHeader]: bearer }],
      [
        { apiToken: TOKEN, providerKey: KEY },
        { ...gatewayToken, [keyHeader]: bearer },
      ],
      [{}, {}],
    ] as const) {
      const { fetch, sent } = transport();
      await client(providerOf(provider, { ...settings, fetch }));
      expect(sent.map(({ method, url }) => `${method} ${url}`)).toEqual([
        `POST ${PROVIDER_ROOT}${path}`,
      ]);
      expect(sent.map(credentialsOf)).toEqual([credentials]);
      expect(JSON.stringify(sent)).not.toContain(FOUND);
    }
  });

  it("takes further parts of a path after its base", async () => {
    const { fetch, sent } = transport();
    const endpoint = providerOf("google-vertex-ai", { fetch, providerKey: KEY });
    const path = "/v1/projects/p/locations/l/publishers/google/models/m:predict";
    await endpoint.fetch(`${endpoint.baseURL}${path}?alt=json`, { method: "POST", body: "{}" });
    expect(sent).toMatchObject([{ url: `${PROVIDER_ROOT}/google-vertex-ai${path}?alt=json` }]);
  });
});

describe("[GW-01, GW-05] gatewayRest", () => {
  it.each<[protocol: GatewayProtocol, client: Client, path: string]>([
    ["responses", (endpoint) => call(createOpenAI(endpoint)("openai/gpt-6-luna")), "/responses"],
    [
      "messages",
      (endpoint) => call(createAnthropic(endpoint)("anthropic/claude-opus-5")),
      "/messages",
    ],
    [
      "chat-completions",
      (endpoint) => call(createOpenAICompatible({ name: "x", ...endpoint })("groq/llama-4")),
      "/chat/completions",
    ],
    ["responses", openaiEmbedding, "/embeddings"],
  ])("serves the client of %s, with its token alone", async (protocol, client, path) => {
    const { fetch, sent } = transport();
    await client(restOf(protocol, fetch));
    expect(sent).toMatchObject([
      { url: REST_ROOT + path, headers: { "cf-aig-gateway-id": "my-gateway" } },
    ]);
    expect(sent.map(credentialsOf)).toEqual([{ authorization: `Bearer ${TOKEN}` }]);
    expect(JSON.stringify(sent)).not.toContain(FOUND);
  });

  it("names models by provider", async () => {
    const { fetch, sent } = transport();
    await call(createOpenAI(restOf("responses", fetch))("openai/gpt-6-luna"));
    expect(sent).toMatchObject([{ body: { model: "openai/gpt-6-luna" } }]);
  });

  it("refuses a client of another protocol", async () => {
    const { fetch, sent } = transport();
    expect(await anthropic(restOf("responses", fetch))).toMatchObject({
      error: { name: "GatewayRefusal", message: expect.stringContaining(`${REST_ROOT}/responses`) },
    });
    expect(sent).toEqual([]);
  });
});

describe("[GW-02] a setting", () => {
  const good = { accountId: ACCOUNT, gatewayId: "g", provider: "openai", apiToken: TOKEN };
  const SEGMENTS = [
    "",
    "a/b",
    "..",
    ".",
    "a%2fb",
    "a b",
    "a?b",
    "a#b",
    "a\\b",
    "ä",
    "a".repeat(129),
  ];

  it.each(["accountId", "gatewayId", "provider"])(
    "%s that could change the URL is refused, by name",
    (field) => {
      for (const value of [...SEGMENTS, undefined, null, 1]) {
        const made = (): GatewayEndpoint =>
          gatewayProvider(z.custom<typeof good>().parse({ ...good, [field]: value }));
        expect(made).toThrow(new RegExp(`^InvalidDefinition: gatewayProvider: ${field}: `));
      }
    },
  );

  it.each(["apiToken", "providerKey"])(
    "%s that does not fit into a header is refused, and not repeated",
    (field) => {
      for (const value of ["", "secret value", "secret\nvalue", "sécret", "s".repeat(8193), 1]) {
        const made = (): GatewayEndpoint =>
          gatewayProvider(z.custom<typeof good>().parse({ ...good, [field]: value }));
        expect(made).toThrow(`InvalidDefinition: gatewayProvider: ${field}: `);
        expect(made).not.toThrow(/secret|sécret|ssss/);
      }
    },
  );

  it("of the REST API is checked as well", () => {
    const rest = { accountId: ACCOUNT, gatewayId: "g", apiToken: TOKEN, protocol: "messages" };
    for (const [field, value] of [
      ["accountId", "../x"],
      ["gatewayId", "a\r\nb"],
      ["apiToken", undefined],
      ["protocol", "constructor"],
      ["protocol", undefined],
    ] as const) {
      const options = z
        .custom<Parameters<typeof gatewayRest>[0]>()
        .parse({ ...rest, [field]: value });
      expect(() => gatewayRest(options)).toThrow(`InvalidDefinition: gatewayRest: ${field}: `);
    }
  });
});

describe("[GW-02] a request that leaves the endpoint", () => {
  it.each([
    "https://evil.example/v1/x",
    "http://gateway.ai.cloudflare.com/v1/0123456789abcdef0123456789abcdef/my-gateway/openai/x",
    "https://gateway.ai.cloudflare.com:8443/v1/0123456789abcdef0123456789abcdef/my-gateway/openai/x",
    "https://user:pass@gateway.ai.cloudflare.com/v1/0123456789abcdef0123456789abcdef/my-gateway/openai/x",
    "https://gateway.ai.cloudflare.com.evil.example/v1/x",
    `${PROVIDER_ROOT}/anthropic/v1/messages`,
    `${PROVIDER_ROOT}/openai-evil/x`,
    `${PROVIDER_ROOT}/openai/../anthropic/x`,
    `${PROVIDER_ROOT}/openai/%2e%2e/anthropic/x`,
    `${PROVIDER_ROOT}/openai/..\\anthropic/x`,
    `${PROVIDER_ROOT}/openai/..%2Fanthropic/x`,
    `${PROVIDER_ROOT}/openai/..%5canthropic/x`,
    "/relative",
    "not a url",
  ])("is refused: %s", async (url) => {
    const { fetch, sent } = transport();
    const endpoint = providerOf("openai", { apiToken: TOKEN, providerKey: KEY, fetch });
    for (const input of [url, ...(URL.canParse(url) ? [new URL(url)] : [])]) {
      await expect(endpoint.fetch(input, { method: "POST", body: "{}" })).rejects.toMatchObject({
        name: "GatewayRefusal",
      });
    }
    expect(sent).toEqual([]);
  });

  it("as a Request is refused as well", async () => {
    const { fetch, sent } = transport();
    const endpoint = providerOf("openai", { apiToken: TOKEN, fetch });
    await expect(endpoint.fetch(new Request("https://evil.example/"))).rejects.toMatchObject({
      name: "GatewayRefusal",
    });
    expect(sent).toEqual([]);
  });
});

describe("[GW-02] a redirect", () => {
  const servers: Server[] = [];

  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  /** A real server on loopback that answers by one function, and counts. */
  async function listen(
    headersOf: () => [status: number, headers: Record<string, string>],
  ): Promise<{ origin: string; asked: () => number }> {
    let count = 0;
    const server = createServer((_request, response) => {
      count += 1;
      response.writeHead(...headersOf()).end("{}");
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = z.object({ port: z.int() }).parse(server.address());
    return { origin: `http://127.0.0.1:${port}`, asked: () => count };
  }

  it.each([301, 302, 303, 307, 308])("with status %s is not followed", async (status) => {
    const thief = await listen(() => [200, {}]);
    const gateway = await listen(() => [status, { location: thief.origin }]);
    const endpoint = providerOf("openai", {
      apiToken: TOKEN,
      // The request as it would leave, sent to the server on loopback.
      fetch: (request) =>
        fetch(gateway.origin, {
          method: request.method,
          headers: request.headers,
          redirect: request.redirect,
        }),
    });
    expect(await openai(endpoint)).toMatchObject({ error: { name: "GatewayRefusal" } });
    expect([gateway.asked(), thief.asked()]).toEqual([1, 0]);
  });

  it("that a transport followed all the same is not answered with", async () => {
    const target = await listen(() => [200, {}]);
    const gateway = await listen(() => [302, { location: target.origin }]);
    const endpoint = providerOf("openai", { fetch: () => fetch(gateway.origin) });
    expect(await openai(endpoint)).toMatchObject({ error: { name: "GatewayRefusal" } });
  });

  it("is not what an unchanged answer is", async () => {
    const { fetch } = transport(() => new Response(null, { status: 304 }));
    const endpoint = providerOf("openai", { fetch });
    expect((await endpoint.fetch(`${endpoint.baseURL}/models`)).status).toBe(304);
  });
});

describe("[GW-02] what passes unchanged", () => {
  it("is every option of the gateway and of the provider", async () => {
    const { fetch, sent } = transport();
    const model = createOpenAI({
      ...providerOf("openai", { apiToken: TOKEN, fetch }),
      organization: "org-1",
    })("gpt-6-luna");
    const options = {
      "cf-aig-cache-ttl": "60",
      "cf-aig-metadata": '{"team":"a"}',
      "cf-aig-byok-alias": "second",
    };
    await outcomeOf(Promise.resolve(model.doGenerate({ prompt: PROMPT, headers: options })));
    expect(sent[0]?.headers).toMatchObject({ ...options, "openai-organization": "org-1" });
    const added = Object.keys(sent[0]?.headers ?? {}).filter((name) => name.startsWith("cf-aig-"));
    expect(added.toSorted()).toEqual([...Object.keys(options), "cf-aig-authorization"].toSorted());
  });

  it("is the answer, its status and headers; nothing is asked twice", async () => {
    const { fetch, sent } = transport(() =>
      Response.json(
        { error: { message: "busy" } },
        { status: 429, headers: { "retry-after": "7", "cf-aig-log-id": "log-1" } },
      ),
    );
    expect(await openai(providerOf("openai", { fetch }))).toMatchObject({
      error: {
        statusCode: 429,
        isRetryable: true,
        responseHeaders: { "retry-after": "7", "cf-aig-log-id": "log-1" },
      },
    });
    expect(sent).toHaveLength(1);
  });

  it("is the signal of the caller", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const fetch = vi.fn(async (request: Request): Promise<Response> => {
      controller.abort(reason);
      request.signal.throwIfAborted();
      return new Response("{}");
    });
    const endpoint = providerOf("openai", { fetch });
    const asked = endpoint.fetch(`${endpoint.baseURL}/x`, { signal: controller.signal });
    await expect(asked).rejects.toBe(reason);
  });
});

describe("[GW-02] a credential", () => {
  const everything = (value: unknown): string =>
    inspect(value, { depth: null, showHidden: true, maxStringLength: null }) +
    JSON.stringify(value);

  it("is not in the settings, whoever prints them", () => {
    const endpoint = providerOf("openai", { apiToken: TOKEN, providerKey: KEY });
    for (const made of [endpoint, restOf("messages"), createOpenAI(endpoint)("m")]) {
      expect(everything(made)).not.toMatch(/that-is-secret/);
    }
  });

  it.each<[what: string, answer: () => Response]>([
    ["that is refused", () => Response.json({ error: { message: "no" } }, { status: 401 })],
    ["that fails", () => Response.json({ error: { message: "no" } }, { status: 500 })],
    ["that is no answer", () => new Response("<html>")],
    ["that redirects", () => new Response(null, { status: 302, headers: { location: "/x" } })],
    [
      "whose network fails",
      () => {
        throw new TypeError("fetch failed", { cause: new Error("ECONNRESET") });
      },
    ],
  ])("is not in the error of a call %s", async (_what, answer) => {
    const { fetch } = transport(answer);
    for (const client of [openai, anthropic, google]) {
      for (const provider of ["openai", "anthropic", "google-ai-studio"]) {
        const endpoint = providerOf(provider, { apiToken: TOKEN, providerKey: KEY, fetch });
        const outcome = await client(endpoint);
        expect(outcome).toHaveProperty("error");
        expect(everything(outcome)).not.toMatch(/that-is-secret/);
      }
    }
  });
});
