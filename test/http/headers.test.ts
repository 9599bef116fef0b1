// What stands around every answer (SEC-04): the headers that keep a browser from misusing it, who of other origins may read it, that it is
// not stored, and how often one may ask.
import { createExecutionContext, env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Caller, Permission } from "../../shared/wire/access.ts";
import type { ServiceRpc } from "../../shared/wire/entrypoint.ts";
import { createApp } from "../../worker/app.ts";
import { prepareDeployment } from "../../worker/deployment-options.ts";
import { holdfast } from "../../worker/holdfast.ts";
import { plainAgent } from "../support/test-agents.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { TokenIssuer } from "../support/token-issuer.ts";
import { world } from "../support/world.ts";
import { KEY_TEXT, keyOf, sendTo, type Deployed } from "./deployments.ts";
import {
  command,
  expectEmptyFile,
  expectProblem,
  expectRefusal,
  type Answer,
  type Sent,
} from "./http-client.ts";
import { NO_SUBMISSION, rightRequest, ROUTES } from "./routes.ts";
import { callService, RefusalSchema, rightCall } from "./service-client.ts";

const AUTHORIZED = { authorization: `Bearer ${KEY_TEXT}` };
const keys = [keyOf(["admin"])];
const limiter = z
  .custom<{ limit(of: { key: string }): Promise<{ success: boolean }> }>()
  .parse(Reflect.get(env, "TEST_LIMITER"));

/** A limiter that is used up. */
const exhausted = { limit: () => Promise.resolve({ success: false }) };

/** A deployment with a fault of its own inside. */
const throwingApp = createApp({
  ...prepareDeployment({ agents: [plainAgent] }, world.ports),
  agentsOf: () => {
    throw new Error("secret of the author's options");
  },
});

function submitTo(deployed: Deployed, threadId: string, body: unknown, more: Sent = {}) {
  return sendTo(deployed, `/v1/threads/${threadId}/submissions`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...more,
    headers: {
      ...AUTHORIZED,
      "content-type": "application/json",
      "idempotency-key": "k",
      ...more.headers,
    },
  });
}

/** A thread with a settled submission. */
async function settledThread(): Promise<{ threadId: string; submissionId: string }> {
  const thread = new ThreadDriver("headers");
  const { receipt } = await thread.submit([{ text: "ok" }]);
  await thread.settlement(receipt.submissionId);
  return { threadId: thread.threadId, submissionId: receipt.submissionId };
}

const ok = command([{ text: "ok" }]);

/** Every kind of answer, and whether it is one of the API's, behind a credential. */
const KINDS: readonly (readonly [string, number, () => Promise<Answer>])[] = [
  ["the health", 200, () => sendTo({}, "/healthz")],
  ["the readiness", 200, () => sendTo({}, "/readyz")],
  ["the document", 200, () => sendTo({}, "/openapi.json")],
  ["the reference page", 200, () => sendTo({}, "/docs")],
  ["the page of errors", 200, () => sendTo({}, "/errors")],
  ["the page of an error", 200, () => sendTo({}, "/errors/Defect")],
  ["the page of no error", 404, () => sendTo({}, "/errors/Nothing")],
  ["no page", 404, () => sendTo({}, "/")],
  ["a method that a page does not have", 404, () => sendTo({}, "/docs", { method: "POST" })],
  [
    "the readiness of what is not configured",
    503,
    () => sendTo({ variables: { HOLDFAST_API_KEYS: "x" } }, "/readyz"),
  ],
  ["no route of the API", 404, () => sendTo({ keys }, "/v1/nothing", { headers: AUTHORIZED })],
  ["no credential", 401, () => sendTo({ keys }, "/v1/agents")],
  [
    "no permission",
    403,
    () =>
      sendTo({ keys: [keyOf(["threads:write"])] }, "/v1/threads/x/explain", {
        headers: AUTHORIZED,
      }),
  ],
  [
    "too many requests",
    429,
    () =>
      sendTo({ keys, variables: { RATE_LIMITER: exhausted } }, "/v1/agents", {
        headers: AUTHORIZED,
      }),
  ],
  ["no configuration", 503, () => sendTo({ variables: { HOLDFAST_API_KEYS: "x" } }, "/v1/agents")],
  [
    "a defect",
    500,
    () => sendTo({ keys, app: throwingApp }, "/v1/agents", { headers: AUTHORIZED }),
  ],
  ["the agents", 200, () => sendTo({ keys }, "/v1/agents", { headers: AUTHORIZED })],
  ["an agent", 200, () => sendTo({ keys }, "/v1/agents/plain", { headers: AUTHORIZED })],
  [
    "a head without its body",
    200,
    () => sendTo({ keys }, "/v1/agents", { method: "HEAD", headers: AUTHORIZED }),
  ],
  ["a malformed id", 400, () => sendTo({ keys }, "/v1/threads/a%20b", { headers: AUTHORIZED })],
  ["no thread", 404, () => sendTo({ keys }, "/v1/threads/none", { headers: AUTHORIZED })],
  ["a malformed body", 400, () => submitTo({ keys }, "headers-x", "{")],
  ["a large body", 413, () => submitTo({ keys }, "headers-x", " ".repeat(2 * 1024 * 1024 + 1))],
  [
    "a body of another kind",
    415,
    () => submitTo({ keys }, "headers-x", "x", { headers: { "content-type": "text/plain" } }),
  ],
  ["wrong input", 422, () => submitTo({ keys }, "headers-x", { agent: "plain", input: 1 })],
  ["a receipt", 202, () => submitTo({ keys }, new ThreadDriver("headers").threadId, ok)],
  [
    "a receipt again",
    200,
    async () => {
      const { threadId } = new ThreadDriver("headers");
      await submitTo({ keys }, threadId, ok);
      return submitTo({ keys }, threadId, ok);
    },
  ],
  [
    "a thread",
    200,
    async () =>
      sendTo({ keys }, `/v1/threads/${(await settledThread()).threadId}`, { headers: AUTHORIZED }),
  ],
  [
    "events",
    200,
    async () => {
      const { threadId, submissionId } = await settledThread();
      const path = `/v1/threads/${threadId}/events?submission=${submissionId}`;
      return sendTo({ keys }, path, { headers: AUTHORIZED });
    },
  ],
];

const API_KINDS = KINDS.filter(([what]) => !/page|document|health|readiness/.test(what));

describe("security headers", () => {
  it.each(KINDS)("[SEC-04] are on %s", async (_what, status, ask) => {
    const answer = await ask();
    expect(answer.status).toBe(status);
    const { headers } = answer;
    expect({
      sniff: headers.get("x-content-type-options"),
      frame: headers.get("x-frame-options"),
      referrer: headers.get("referrer-policy"),
      resources: headers.get("cross-origin-resource-policy"),
      openers: headers.get("cross-origin-opener-policy"),
      transport: headers.get("strict-transport-security"),
      software: headers.get("x-powered-by") ?? headers.get("server"),
      cookie: headers.get("set-cookie"),
    }).toEqual({
      sniff: "nosniff",
      frame: "DENY",
      referrer: "no-referrer",
      resources: "same-origin",
      openers: "same-origin",
      transport: "max-age=15552000; includeSubDomains",
      software: null,
      cookie: null,
    });
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none';/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:|script-src/);
  });

  it.each(API_KINDS)("[SEC-04] keep %s out of every cache", async (_what, _status, ask) => {
    const { headers } = await ask();
    expect(headers.get("cache-control")).toMatch(/^no-store\b/);
  });

  it("[SEC-04] say nothing of what threw", async () => {
    const answer = await sendTo({ keys, app: throwingApp }, "/v1/agents", { headers: AUTHORIZED });
    expect(expectProblem(answer)).toMatchObject({ code: "Defect", outcome: "unknown" });
    expect(answer.text).not.toContain("secret");
  });
});

const CORS_HEADERS = [
  "access-control-allow-origin",
  "access-control-allow-credentials",
  "access-control-allow-methods",
  "access-control-allow-headers",
  "access-control-expose-headers",
  "access-control-max-age",
] as const;

/** What an answer lets other origins do. */
function corsOf({ headers }: Answer): Record<string, string> {
  return Object.fromEntries(
    CORS_HEADERS.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}

function preflight(origin: string, method = "POST", header = "authorization"): Sent {
  return {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": header,
    },
  };
}

const APP = "https://app.test";
const withOrigins = (origins: string, more: Deployed = {}): Deployed => ({
  keys,
  ...more,
  variables: { HOLDFAST_CORS_ORIGINS: origins, ...more.variables },
});

describe("other origins", () => {
  it("[SEC-04] get nothing where none is configured: no header, and no preflight without a credential", async () => {
    for (const deployed of [{ keys }, withOrigins(""), withOrigins(" , ")]) {
      for (const route of ROUTES) {
        const path = route.path("headers-none", NO_SUBMISSION);
        const asked = await sendTo(deployed, path, preflight(APP, route.method));
        expectRefusal(asked, 401, "Unauthenticated");
        expect(corsOf(asked)).toEqual({});
      }
      const headers = { ...AUTHORIZED, origin: APP };
      for (const path of ["/v1/agents", "/openapi.json", "/docs", "/healthz", "/nothing"]) {
        expect(corsOf(await sendTo(deployed, path, { headers }))).toEqual({});
      }
    }
  });

  it("[SEC-04] that are configured get a preflight without a credential, for every method and header of the API", async () => {
    const deployed = withOrigins(`https://first.test, ${APP}/`);
    const thread = new ThreadDriver("headers-preflight");
    for (const route of ROUTES) {
      const path = route.path(thread.threadId, NO_SUBMISSION);
      const asked = await sendTo(deployed, path, preflight(APP, route.method));
      expect(asked.status).toBe(204);
      expect(asked.text).toBe("");
      expect(asked.headers.get("vary")).toMatch(/\bOrigin\b/);
      expect(corsOf(asked)).toEqual({
        "access-control-allow-origin": APP,
        "access-control-allow-methods": "GET,POST,DELETE",
        "access-control-allow-headers":
          "Authorization,Content-Type,Idempotency-Key,Prefer,Last-Event-ID",
        "access-control-expose-headers": "Location,Idempotency-Replayed,Retry-After,X-Request-Id",
        "access-control-max-age": "600",
      });
    }
    await expectEmptyFile(thread);
  });

  it("[SEC-04] are allowed every method and header that the document has", async () => {
    const asked = await sendTo(withOrigins(APP), "/v1/agents", preflight(APP));
    const allowed = corsOf(asked);
    const methods = allowed["access-control-allow-methods"]?.split(",");
    const headers = allowed["access-control-allow-headers"]?.toLowerCase().split(",");
    const ParameterSchema = z.looseObject({ name: z.string(), in: z.string() });
    const { paths } = z
      .looseObject({
        paths: z.record(
          z.string(),
          z.record(z.string(), z.looseObject({ parameters: z.array(ParameterSchema).optional() })),
        ),
      })
      .parse((await sendTo({}, "/openapi.json")).json);
    for (const [method, { parameters = [] }] of Object.values(paths).flatMap((item) =>
      Object.entries(item),
    )) {
      expect(methods).toContain(method.toUpperCase());
      for (const { name } of parameters.filter((each) => each.in === "header")) {
        expect(headers).toContain(name);
      }
    }
  });

  it("[SEC-04] that are configured may read every answer, refusals as well, and no cookie goes along", async () => {
    const deployed = withOrigins(APP);
    const expected = {
      "access-control-allow-origin": APP,
      "access-control-expose-headers": "Location,Idempotency-Replayed,Retry-After,X-Request-Id",
    };
    const { threadId, submissionId } = await settledThread();
    const limited = withOrigins(APP, { variables: { RATE_LIMITER: exhausted } });
    const asked: [number, Deployed, string, Record<string, string>][] = [
      [200, deployed, "/v1/agents", AUTHORIZED],
      [401, deployed, "/v1/agents", {}],
      [404, deployed, "/v1/threads/none/explain", AUTHORIZED],
      [404, deployed, "/v1/nothing", AUTHORIZED],
      [400, deployed, "/v1/threads/a%20b", AUTHORIZED],
      [429, limited, "/v1/agents", AUTHORIZED],
      [200, deployed, `/v1/threads/${threadId}/events?submission=${submissionId}`, AUTHORIZED],
    ];
    for (const [status, to, path, headers] of asked) {
      const answer = await sendTo(to, path, { headers: { ...headers, origin: APP } });
      expect([path, answer.status]).toEqual([path, status]);
      expect(corsOf(answer)).toEqual(expected);
      expect(answer.headers.get("vary")).toMatch(/\bOrigin\b/);
      expect(answer.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    }
  });

  it.each([
    "https://app.test.evil.test",
    "https://evil-app.test",
    "https://evil.app.test",
    "http://app.test",
    "https://app.test:8443",
    "https://app.test/",
    "HTTPS://APP.TEST",
    "https://other.test",
    "null",
    "*",
    "",
    `${APP}, ${APP}`,
    `${APP} `.repeat(2),
  ])("[SEC-04] that are not configured get nothing: %s", async (origin) => {
    const deployed = withOrigins(`https://first.test,${APP}`);
    for (const sent of [{ headers: { ...AUTHORIZED, origin } }, preflight(origin)]) {
      const answer = await sendTo(deployed, "/v1/agents", sent);
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    }
  });

  it("[SEC-04] are all let in by *, still without cookies", async () => {
    for (const sent of [{ headers: { ...AUTHORIZED, origin: APP } }, preflight("null")]) {
      const answer = await sendTo(withOrigins("*"), "/v1/agents", sent);
      expect(answer.headers.get("access-control-allow-origin")).toBe("*");
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    }
    // The preflight stands for no credential.
    const headers = { origin: APP };
    expectRefusal(
      await sendTo(withOrigins("*"), "/v1/agents", { headers }),
      401,
      "Unauthenticated",
    );
  });

  it.each([
    "nonsense",
    "app.test",
    "https://",
    `${APP},nonsense`,
    `* ${APP}`,
    "null",
    "file:///index.html",
    "data:text/html",
  ])("[SEC-04, UX-04] that are none are said by the name of the variable: %s", async (origins) => {
    const answer = await sendTo(withOrigins(origins), "/v1/agents", { headers: AUTHORIZED });
    const { detail } = expectRefusal(answer, 503, "Unavailable");
    expect(detail).toContain("HOLDFAST_CORS_ORIGINS");
    expect(detail).toContain("* or an origin");
    expect(detail.replaceAll("https://app.example", "")).not.toContain(origins);
    expect(answer.headers.get("retry-after")).toBe("60");
  });
});

let principals = 0;

/** A key of a principal who never asked before. */
function newcomer(permissions: readonly Permission[] = ["admin"], tenant = "dev") {
  principals += 1;
  return keyOf(permissions, { principal: `limited-${principals}`, tenant });
}

/** Three requests a minute. A minute may begin in between, so that of seven one at least is refused. */
const MANY = 7;

describe("the rate of requests", () => {
  it("[SEC-04] is limited per principal: 429 with Retry-After, before anything is done", async () => {
    const thread = new ThreadDriver("headers-rate");
    const mine = { keys: [newcomer()], variables: { RATE_LIMITER: limiter } };
    const answers: Answer[] = [];
    for (let index = 0; index < MANY; index += 1) {
      answers.push(await sendTo(mine, "/v1/agents", { headers: AUTHORIZED }));
    }
    expect(answers.slice(0, 3).map(({ status }) => status)).toEqual([200, 200, 200]);
    const refused = answers.find(({ status }) => status !== 200);
    if (refused === undefined) throw new Error("nothing was refused");
    const problem = expectRefusal(refused, 429, "RateLimited");
    expect(problem.retryable).toBe(true);
    expect(refused.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    // Another principal, and one of the same name in another tenant, have rates of their own.
    const { principal } = mine.keys[0] ?? newcomer();
    for (const key of [newcomer(), keyOf(["admin"], { principal, tenant: "other" })]) {
      const others = { ...mine, keys: [key] };
      expect((await sendTo(others, "/v1/agents", { headers: AUTHORIZED })).status).toBe(200);
    }
    await expectEmptyFile(thread);
  });

  it("[SEC-04] is counted for every route, and what is over it does nothing", async () => {
    for (const route of ROUTES) {
      const thread = new ThreadDriver("headers-rate");
      const keysAsked: string[] = [];
      const counting = {
        limit: ({ key }: { key: string }) => {
          keysAsked.push(key);
          return exhausted.limit();
        },
      };
      const { headers, ...sent } = rightRequest(route, NO_SUBMISSION);
      const answer = await sendTo(
        { keys: [keyOf(["admin"], { principal: 'a"b' })], variables: { RATE_LIMITER: counting } },
        route.path(thread.threadId, NO_SUBMISSION),
        { ...sent, headers: { ...headers, ...AUTHORIZED } },
      );
      expectRefusal(answer, 429, "RateLimited");
      // No two pairs of tenant and principal share a count.
      expect(keysAsked).toEqual(['["dev","a\\"b"]']);
      await expectEmptyFile(thread);
    }
  });

  it("[SEC-04] limits nothing while the limiter itself fails", async () => {
    const failing = { limit: () => Promise.reject(new Error("the limiter is down")) };
    const mine = { keys: [newcomer()], variables: { RATE_LIMITER: failing } };
    expect((await sendTo(mine, "/v1/agents", { headers: AUTHORIZED })).status).toBe(200);
  });

  it("[SEC-04] is counted for a verified caller alone: who has no credential cannot use up another's", async () => {
    let asked = 0;
    const counting = {
      limit: () => {
        asked += 1;
        return Promise.resolve({ success: true });
      },
    };
    const variables = { RATE_LIMITER: counting, ...new TokenIssuer().variables };
    for (const authorization of ["", "Bearer wrong", "Bearer a.b.c", `Bearer ${KEY_TEXT}x`]) {
      const answer = await sendTo({ keys, variables }, "/v1/agents", {
        headers: { authorization },
      });
      expectRefusal(answer, 401, "Unauthenticated");
    }
    for (const path of ["/healthz", "/docs", "/openapi.json", "/errors"]) {
      await sendTo({ keys, variables }, path, { headers: AUTHORIZED });
    }
    expect(asked).toBe(0);
  });

  it("[SEC-04] is limited over RPC as over HTTP", async () => {
    const { HoldfastService } = holdfast({ agents: [plainAgent] }, world.ports);
    const caller: Caller = {
      tenant: "dev",
      principal: newcomer().principal,
      permissions: ["admin"],
    };
    const context = Object.assign(createExecutionContext(), { props: caller });
    const bindings = z.custom<Cloudflare.Env>().parse({ ...env, RATE_LIMITER: exhausted });
    const service: ServiceRpc = new HoldfastService(context, bindings);
    const thread = new ThreadDriver("headers-rate");
    const request = rightCall("submit", { threadId: thread.threadId, submissionId: NO_SUBMISSION });
    for (const result of [await callService(service, "submit", request), await service.agents()]) {
      expect(RefusalSchema.parse(result).error).toMatchObject({
        code: "RateLimited",
        fields: { retryAfterSeconds: 10 },
      });
    }
    await expectEmptyFile(thread);
  });
});
