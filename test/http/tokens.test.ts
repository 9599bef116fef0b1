// Tokens of an issuer that the deployment trusts (SEC-01): which are accepted and for whom, which are refused, and what happens while the
// issuer's keys change or cannot be had. Every key and token is made here, and checked by the clock of the tests.
import { env } from "cloudflare:test";
import { createPublicKey } from "node:crypto";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { CompactSign, exportJWK, FlattenedSign, importJWK } from "jose";
import { z } from "zod";
import { ThreadClient, type ThreadNamespace } from "../../durable-objects/clients/thread-client.ts";
import type { Permission } from "../../shared/wire/access.ts";
import { SubmitResultSchema } from "../../shared/wire/submission.ts";
import { verifyCredential } from "../../worker/auth/credential.ts";
import type { Credential } from "../../worker/auth/verification.ts";
import { callerOfClaims, type CallerOf } from "../../worker/auth/verify-token.ts";
import { parseEnv } from "../../worker/env.ts";
import { TESTER, ThreadDriver } from "../support/thread-driver.ts";
import {
  AUDIENCE,
  encodePart,
  makeKey,
  secondsNow,
  TokenIssuer,
  type SigningKey,
} from "../support/token-issuer.ts";
import { world } from "../support/world.ts";
import { appWith, KEY_TEXT, keyOf, sendTo, type App, type Deployed } from "./deployments.ts";
import { command, expectEmptyFile, expectRefusal, type Answer } from "./http-client.ts";

const namespace = z.custom<ThreadNamespace>().parse(env.THREADS);

const KEY = keyOf(["threads:read"], { id: "beside", tenant: "by-key", principal: "kim" });

/** Asks a deployment that trusts the issuer for what needs `threads:read`. */
function ask(
  issuer: TokenIssuer,
  headers: Readonly<Record<string, string>>,
  deployed: Deployed = {},
): Promise<Answer> {
  return sendTo({ variables: issuer.variables, ...deployed }, "/v1/threads/none/explain", {
    headers,
  });
}

function askWith(issuer: TokenIssuer, token: string): Promise<Answer> {
  return ask(issuer, { authorization: `Bearer ${token}` });
}

/** The credential that a token stands for. */
function credentialOf(
  issuer: TokenIssuer,
  token: string,
  callerOf: CallerOf = callerOfClaims,
): Promise<Credential> {
  const bindings = parseEnv({ ...env, HOLDFAST_API_KEYS: "[]", ...issuer.variables });
  const presented = {
    authorization: `Bearer ${token}`,
    accessToken: undefined,
    hostname: "holdfast.example",
  };
  return verifyCredential(bindings, presented, callerOf, world.now);
}

/** Expects 401 that repeats nothing of the token: neither its parts nor its claims. */
function expectRefused(answer: Answer, token = ""): string {
  const { detail } = expectRefusal(answer, 401, "Unauthenticated");
  expect(answer.headers.get("www-authenticate")).toBe("Bearer");
  for (const part of token.split(".").filter((text) => text.length > 8)) {
    expect(answer.text).not.toContain(part);
  }
  expect(answer.text).not.toMatch(/\bann\b|acme/);
  return detail;
}

/** The explanation of a thread that there is not: the caller is known, and may read. */
function expectAccepted(answer: Answer): void {
  expectRefusal(answer, 404, "ThreadNotFound");
}

/** Moves the clock of the cache of keys, which is the machine's. */
function advanceMachineClock(millis: number): void {
  vi.setSystemTime(Date.now() + millis);
}

const issuer = new TokenIssuer();
let rsa: SigningKey;
let ec: SigningKey;
let ed: SigningKey;

beforeAll(async () => {
  rsa = await makeKey("RS256", "rsa");
  ec = await makeKey("ES256", "ec");
  ed = await makeKey("EdDSA", "ed");
  await issuer.publish(rsa, ec, ed);
});

afterEach(() => {
  vi.useRealTimers();
});

describe("a right token", () => {
  it("[SEC-01] is accepted with each kind of signature", async () => {
    for (const key of [rsa, ec, ed]) {
      expectAccepted(await askWith(issuer, await issuer.sign(key)));
    }
    for (const alg of ["RS384", "RS512", "PS256", "PS384", "PS512", "ES384"]) {
      const other = new TokenIssuer();
      const key = await makeKey(alg, alg);
      await other.publish(key);
      expectAccepted(await askWith(other, await other.sign(key)));
    }
  });

  it("[SEC-01] names who calls by its claims, and the credential by its issuer", async () => {
    const token = await issuer.sign(ec, {
      permissions: ["threads:read", "threads:operate"],
      scope: "openid threads:write profile",
    });
    expect(await credentialOf(issuer, token)).toEqual({
      id: issuer.issuer,
      caller: {
        tenant: "acme",
        principal: "ann",
        permissions: ["threads:read", "threads:write", "threads:operate"],
      },
    });
  });

  it("[SEC-01, SEC-02] works in the tenant that it names, as the principal that it names", async () => {
    const thread = new ThreadDriver("token-submit");
    const token = await issuer.sign(ec, { scope: "threads:write", sub: "ann@acme.test" });
    const answer = await sendTo(
      { variables: issuer.variables },
      `/v1/threads/${thread.threadId}/submissions`,
      {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "idempotency-key": "k",
        },
        body: JSON.stringify(command([{ text: "ok" }])),
      },
    );
    expect(answer.status).toBe(202);
    const acme = new ThreadClient(namespace, { ...TESTER, tenant: "acme" });
    const { threadId } = thread;
    const { submissionId } = SubmitResultSchema.parse(answer.json).receipt;
    await acme.call("awaitSettlement", { threadId, submissionId, timeoutMillis: 10_000 });
    const { records } = await acme.call("readPage", { threadId });
    expect(records[0]).toMatchObject({
      type: "ThreadCreated",
      payload: { threadId, createdBy: "ann@acme.test" },
    });
    await expectEmptyFile(thread);
  });

  const PERMISSIONS: readonly [string, Record<string, unknown>, Permission[]][] = [
    ["`permissions` alone", { permissions: ["threads:approve"] }, ["threads:approve"]],
    [
      "`scope` alone",
      { permissions: undefined, scope: "threads:read threads:write" },
      ["threads:read", "threads:write"],
    ],
    ["neither", { permissions: undefined }, []],
    [
      "names that are not ours",
      { permissions: ["threads:erase", "root", "threads:read"] },
      ["threads:read"],
    ],
    ["names of every object", { permissions: ["constructor", "__proto__", "length"] }, []],
    ["names that are nearly ours", { scope: "Admin admin: ADMIN threads:*", permissions: [] }, []],
    ["`admin`", { permissions: ["admin"] }, ["admin"]],
    ["names twice", { permissions: ["admin", "admin"], scope: "admin" }, ["admin"]],
    ["commas in `scope`", { permissions: [], scope: "admin,threads:read" }, []],
  ];
  it.each(PERMISSIONS)(
    "[SEC-01, SEC-02] may do what it says with %s, and nothing else",
    async (_what, changes, permissions) => {
      const token = await issuer.sign(ec, changes);
      expect((await credentialOf(issuer, token)).caller).toEqual({
        tenant: "acme",
        principal: "ann",
        permissions,
      });
    },
  );

  it("[SEC-01, SEC-05] without the permission is refused with 403, which names it", async () => {
    const answer = await askWith(issuer, await issuer.sign(ec, { permissions: ["threads:write"] }));
    expect(expectRefusal(answer, 403, "PermissionMissing")["permission"]).toBe("threads:read");
  });

  it("[SEC-01] may name several audiences, and be a few seconds off the clock", async () => {
    const now = secondsNow();
    for (const changes of [
      { aud: ["someone-else", AUDIENCE] },
      { nbf: now + 5 },
      { iat: now + 5 },
      { exp: now - 4 },
      { iat: undefined, nbf: undefined },
    ]) {
      expectAccepted(await askWith(issuer, await issuer.sign(ec, changes)));
    }
  });
});

type Claims = Readonly<Record<string, unknown>>;

/** What is wrong with the claims, and what the refusal says of it. */
const WRONG_CLAIMS: readonly (readonly [string, () => Claims, string])[] = [
  ["another audience", () => ({ aud: "someone-else" }), "`aud`"],
  ["an audience that begins like ours", () => ({ aud: `${AUDIENCE}-2` }), "`aud`"],
  ["no audience", () => ({ aud: undefined }), "`aud`"],
  ["no audience of several", () => ({ aud: [] }), "`aud`"],
  ["an audience that is an object", () => ({ aud: { [AUDIENCE]: true } }), "`aud`"],
  ["another issuer", () => ({ iss: "https://issuer.test" }), "`iss`"],
  ["an issuer with a slash more", () => ({ iss: `${issuer.issuer}/` }), "`iss`"],
  ["several issuers", () => ({ iss: [issuer.issuer] }), "`iss`"],
  ["no issuer", () => ({ iss: undefined }), "`iss`"],
  ["an expiry just past", () => ({ exp: secondsNow() - 5 }), "expired"],
  ["an expiry long past", () => ({ exp: 1 }), "expired"],
  [
    "an expiry that is past by the machine's clock alone",
    () => ({ exp: Math.floor(Date.now() / 1_000) + 600 }),
    "expired",
  ],
  ["no expiry", () => ({ exp: undefined }), "`exp`"],
  ["an expiry that is a text", () => ({ exp: `${secondsNow() + 300}` }), "`exp`"],
  ["an expiry that is null", () => ({ exp: null }), "`exp`"],
  ["a beginning that is to come", () => ({ nbf: secondsNow() + 6 }), "`nbf`"],
  ["a beginning that is a text", () => ({ nbf: "0" }), "`nbf`"],
  ["an issue in the future", () => ({ iat: secondsNow() + 7 }), "future"],
  ["an issue that is a text", () => ({ iat: `${secondsNow()}` }), "`iat`"],
  ["no subject", () => ({ sub: undefined }), "`sub`"],
  ["an empty subject", () => ({ sub: "" }), "`sub`"],
  ["a subject that is a number", () => ({ sub: 7 }), "`sub`"],
  ["a subject that is null", () => ({ sub: null }), "`sub`"],
  ["a subject with a line break", () => ({ sub: "an\nn" }), "`sub`"],
  ["a subject with half a surrogate pair", () => ({ sub: "\ud800" }), "`sub`"],
  ["a subject of 257 characters", () => ({ sub: "a".repeat(257) }), "`sub`"],
  ["no tenant", () => ({ tenant: undefined }), "`tenant`"],
  ["an empty tenant", () => ({ tenant: "" }), "`tenant`"],
  ["a tenant that is null", () => ({ tenant: null }), "`tenant`"],
  ["several tenants", () => ({ tenant: ["acme"] }), "`tenant`"],
  ["a tenant of 129 characters", () => ({ tenant: "t".repeat(129) }), "`tenant`"],
  ["permissions that are a text", () => ({ permissions: "admin" }), "`permissions`"],
  ["permissions that are an object", () => ({ permissions: { admin: true } }), "`permissions`"],
  ["permissions that are no texts", () => ({ permissions: [["admin"]] }), "`permissions`"],
  ["a scope that is a list", () => ({ scope: ["admin"] }), "`scope`"],
];

describe("a token with wrong claims", () => {
  it.each(WRONG_CLAIMS)(
    "[SEC-01] is refused for %s, and told which claim it is",
    async (_what, changes, said) => {
      const token = await issuer.sign(ec, changes());
      expect(expectRefused(await askWith(issuer, token), token)).toContain(said);
    },
  );
});

/** Forged and broken tokens. */
const FORGED: readonly (readonly [string, () => Promise<string> | string])[] = [
  ["no signature, as `alg: none` has it", () => unsigned({ alg: "none" })],
  ["no signature, by `alg: NONE`", () => unsigned({ alg: "NONE", kid: "ec" })],
  ["no signature, by the algorithm of the key", () => unsigned({ alg: "ES256", kid: "ec" })],
  [
    "`alg: none` and the signature of another token",
    async () => {
      const [, payload, signature] = (await issuer.sign(ec)).split(".");
      return [encodePart({ alg: "none" }), payload, signature].join(".");
    },
  ],
  [
    "a shared secret that is the public key as PEM",
    () =>
      issuer.sign({
        alg: "HS256",
        kid: "rsa",
        privateKey: new TextEncoder().encode(
          createPublicKey({ key: { ...rsa.publicJwk }, format: "jwk" })
            .export({ type: "spki", format: "pem" })
            .toString(),
        ),
      }),
  ],
  [
    "a shared secret that is the public key as JSON",
    () =>
      issuer.sign({
        alg: "HS256",
        kid: "ec",
        privateKey: new TextEncoder().encode(JSON.stringify(ec.publicJwk)),
      }),
  ],
  [
    "the signature of a foreign key of the same id",
    async () => issuer.sign(await makeKey("ES256", "ec")),
  ],
  [
    "the signature of a foreign key without an id",
    async () => issuer.sign(await makeKey("ES256", "ec"), {}, { kid: undefined }),
  ],
  [
    "the signature of a key that it brings along",
    async () => {
      const foreign = await makeKey("ES256", "ec");
      return issuer.sign(foreign, {}, { jwk: foreign.publicJwk });
    },
  ],
  [
    "the signature of a key that it says where to find",
    async () => {
      const theirs = new TokenIssuer();
      const foreign = await makeKey("ES256", "theirs");
      await theirs.publish(foreign);
      return issuer.sign(foreign, {}, { jku: theirs.jwksUrl, x5u: theirs.jwksUrl });
    },
  ],
  [
    "a key that the issuer does not have",
    async () => issuer.sign(await makeKey("ES256", "unknown")),
  ],
  ["another algorithm than its key's", signedByAnotherAlgorithm],
  ["an algorithm of another kind of key", async () => issuer.sign(await makeKey("ES384", "ec"))],
  ["a key id that is a number", () => issuer.sign(ec, {}, { kid: 1 })],
  ["an extension that nobody knows", () => signedText(rightText(), { crit: ["ours"], ours: 1 })],
  ["an encoding that nobody asked for", signedUnencoded],
  [
    "other claims than those that were signed",
    async () => {
      const [header, , signature] = (await issuer.sign(ec)).split(".");
      return [header, encodePart(issuer.claims({ permissions: ["admin"] })), signature].join(".");
    },
  ],
  ["a signature that is cut off", async () => (await issuer.sign(ec)).slice(0, -4)],
  [
    "a signature that is garbage",
    async () => `${(await issuer.sign(ed)).slice(0, -20)}${"A".repeat(20)}`,
  ],
  [
    "a signature of one character",
    async () => `${(await issuer.sign(rsa)).split(".").slice(0, 2).join(".")}.A`,
  ],
  ["garbage in three parts", () => "aaa.bbb.ccc"],
  ["three dots", () => "..."],
  ["two dots", () => ".."],
  ["two parts", () => `${encodePart({ alg: "ES256" })}.${encodePart({})}`],
  ["five parts, as encrypted tokens have", () => "a.b.c.d.e"],
  ["a header that is not JSON", () => forged("{", issuer.claims())],
  ["a header that is a list", () => forged("[]", issuer.claims())],
  ["a header that is null", () => forged("null", issuer.claims())],
  ["a header without an algorithm", () => forged({ kid: "ec" }, issuer.claims())],
  ["an algorithm that is a list", () => forged({ alg: ["ES256"], kid: "ec" }, issuer.claims())],
  ["an algorithm that every object has", () => forged({ alg: "constructor", kid: "ec" }, {})],
  ["claims that are not JSON", () => signedText("{")],
  ["claims that are a list", () => signedText("[]")],
  ["claims that are null", () => signedText("null")],
  ["claims that are not UTF-8", () => signedText(new Uint8Array([0x7b, 0xff, 0x7d]))],
];

function unsigned(header: Claims): string {
  return `${encodePart(header)}.${encodePart(issuer.claims())}.`;
}

function forged(header: unknown, claims: unknown): string {
  return `${encodePart(header)}.${encodePart(claims)}.${"A".repeat(86)}`;
}

function rightText(): string {
  return JSON.stringify(issuer.claims());
}

/** A text that the issuer signed as if it were claims. */
function signedText(text: string | Uint8Array, header: Claims = {}): Promise<string> {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return new CompactSign(bytes)
    .setProtectedHeader({ alg: "ES256", kid: "ec", ...header })
    .sign(ec.privateKey, { crit: { ours: true } });
}

/** RFC 7797: the payload is signed as it stands. */
async function signedUnencoded(): Promise<string> {
  const payload = encodePart(issuer.claims());
  const { signature, protected: header } = await new FlattenedSign(
    new TextEncoder().encode(payload),
  )
    .setProtectedHeader({ alg: "ES256", kid: "ec", crit: ["b64"], b64: false })
    .sign(ec.privateKey);
  return [header, payload, signature].join(".");
}

/** The issuer's set says which algorithm a key is for. */
async function signedByAnotherAlgorithm(): Promise<string> {
  const privateKey = await importJWK({ ...(await exportJWK(rsa.privateKey)), alg: "RS512" });
  return issuer.sign({ kid: "rsa", alg: "RS512", privateKey });
}

describe("a forged or broken token", () => {
  it.each(FORGED)("[SEC-01] is refused for %s", async (_what, make) => {
    const token = await make();
    expectRefused(await askWith(issuer, token), token);
  });

  it("[SEC-01] is not accepted for a key that is there to encrypt", async () => {
    const other = new TokenIssuer();
    const key = await makeKey("ES256", "k");
    await other.publish({ ...key, publicJwk: { ...key.publicJwk, use: "enc" } });
    expectRefused(await askWith(other, await other.sign(key)));
  });

  it("[SEC-01] never makes the Worker read keys from where it says", async () => {
    const theirs = new TokenIssuer();
    const foreign = await makeKey("ES256", "theirs");
    await theirs.publish(foreign);
    const header = { jku: theirs.jwksUrl, x5u: theirs.jwksUrl };
    expectRefused(await askWith(issuer, await issuer.sign(foreign, {}, header)));
    expectRefused(await askWith(issuer, await theirs.sign(foreign)));
    expect(await theirs.reads()).toBe(0);
  });

  it("[SEC-01, SEC-04] is refused when it is longer than 8,192 characters, however right it is", async () => {
    const padded = async (length: number) => issuer.sign(ec, { padding: "x".repeat(length) });
    const bare = (await padded(0)).length;
    // Three characters of claims are four of the token.
    let fits = Math.floor(((8_192 - bare) * 3) / 4);
    while ((await padded(fits + 1)).length <= 8_192) fits += 1;
    while ((await padded(fits)).length > 8_192) fits -= 1;
    expectAccepted(await askWith(issuer, await padded(fits)));
    expectRefused(await askWith(issuer, await padded(fits + 1)));
    expectRefused(await askWith(issuer, await padded(100_000)));
  });

  it("[SEC-01] is refused at random, and never fails the Worker", async () => {
    const token = await issuer.sign(ed);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    // Every place of the header and the signature once, with a character that moves along.
    const [header = "", payload = ""] = token.split(".");
    const places = Array.from(token).flatMap((_character, place) =>
      place < header.length || place > header.length + payload.length + 1 ? [place] : [],
    );
    for (const place of places) {
      const other = alphabet[place % alphabet.length] ?? "A";
      const bent = `${token.slice(0, place)}${other}${token.slice(place + 1)}`;
      // The last character's unused bits mean nothing.
      if (bent === token || place === token.length - 1) continue;
      expectRefused(await askWith(issuer, bent));
    }
  });
});

describe("the issuer's keys", () => {
  it("[SEC-01] are read once for all the tokens that they sign", async () => {
    const other = new TokenIssuer();
    await other.publish(ec);
    for (let index = 0; index < 5; index += 1) {
      expectAccepted(await askWith(other, await other.sign(ec, { jti: `${index}` })));
    }
    expect(await other.reads()).toBe(1);
  });

  it("[SEC-01] are not read again and again for tokens of keys that there are not", async () => {
    const other = new TokenIssuer();
    await other.publish(ec);
    const foreign = await makeKey("ES256", "foreign");
    for (let index = 0; index < 10; index += 1) {
      const kid = `foreign-${index}`;
      expectRefused(await askWith(other, await other.sign({ ...foreign, kid })));
    }
    expect(await other.reads()).toBe(1);
  });

  it("[SEC-01] may change: a new one is accepted half a minute later, an old one refused after ten", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const other = new TokenIssuer();
    const old = await makeKey("ES256", "old");
    const next = await makeKey("ES256", "next");
    await other.publish(old);
    expectAccepted(await askWith(other, await other.sign(old)));
    await other.publish(next);
    // The set was read just now: an unknown key does not make the Worker read it again yet, and the old one is still known.
    expectRefused(await askWith(other, await other.sign(next)));
    expectAccepted(await askWith(other, await other.sign(old)));
    advanceMachineClock(30_000);
    expectAccepted(await askWith(other, await other.sign(next)));
    expectRefused(await askWith(other, await other.sign(old)));
    expect(await other.reads()).toBe(2);
  });

  it("[SEC-01] that left the set are refused ten minutes later, if nothing made the Worker look before", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const other = new TokenIssuer();
    const old = await makeKey("ES256", "old");
    await other.publish(old, ec);
    expectAccepted(await askWith(other, await other.sign(old)));
    await other.publish(ec);
    advanceMachineClock(599_999);
    expectAccepted(await askWith(other, await other.sign(old)));
    advanceMachineClock(1);
    expectRefused(await askWith(other, await other.sign(old)));
    expectAccepted(await askWith(other, await other.sign(ec)));
    expect(await other.reads()).toBe(2);
  });

  it("[SEC-01] keep working while the issuer is down, and unknown ones are not refused for good", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const other = new TokenIssuer();
    await other.publish(ec);
    expectAccepted(await askWith(other, await other.sign(ec)));
    await other.answer("");
    advanceMachineClock(60_000);
    expectAccepted(await askWith(other, await other.sign(ec)));
    // It may be the next key of the issuer: nobody can say while the set cannot be read.
    expectUnavailable(await askWith(other, await other.sign(rsa)));
    await other.publish(ec, rsa);
    expectAccepted(await askWith(other, await other.sign(rsa)));
  });

  it.each([
    ["the issuer is down", ""],
    ["the answer is not JSON", "<html>"],
    ["the answer is no set of keys", '{"keys":"none"}'],
    ["the answer is null", "null"],
  ])(
    "[SEC-01, UX-04] that cannot be read are 503 and retryable, not 401: %s",
    async (_what, answer) => {
      const other = new TokenIssuer();
      await other.answer(answer);
      expectUnavailable(await askWith(other, await other.sign(ec)));
      // Tokens that no key could make good are refused all the same, without a look at the keys.
      const reads = await other.reads();
      expectRefused(
        await askWith(other, `${encodePart({ alg: "none" })}.${encodePart(other.claims())}.`),
      );
      expect(await other.reads()).toBe(reads);
      // Nothing of it is remembered.
      await other.publish(ec);
      expectAccepted(await askWith(other, await other.sign(ec)));
    },
  );

  it("[SEC-01] are 503 too where the set has a key that is none, until it has a right one", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const other = new TokenIssuer();
    await other.publish({ ...ec, publicJwk: { ...ec.publicJwk, x: "A", y: "A" } }, rsa);
    expectUnavailable(await askWith(other, await other.sign(ec)));
    expectAccepted(await askWith(other, await other.sign(rsa)));
    await other.publish(ec);
    advanceMachineClock(600_000);
    expectAccepted(await askWith(other, await other.sign(ec)));
  });

  it("[SEC-01] that are not there at all are 503 too", async () => {
    const other = new TokenIssuer();
    expectUnavailable(await askWith(other, await other.sign(ec)));
  });

  it("[SEC-01] are not taken from where the issuer's address sends to", async () => {
    const other = new TokenIssuer();
    const elsewhere = new TokenIssuer();
    await elsewhere.publish(ec);
    await other.answer(elsewhere.jwksUrl);
    expectUnavailable(await askWith(other, await other.sign(ec)));
    expect({ asked: await other.reads(), sent: await elsewhere.reads() }).toEqual({
      asked: 1,
      sent: 0,
    });
  });
});

function expectUnavailable(answer: Answer): void {
  const problem = expectRefusal(answer, 503, "Unavailable");
  expect(problem).toMatchObject({ retryable: true, reason: "jwks" });
  expect(answer.headers.get("retry-after")).toBe("5");
}

describe("where a credential stands", () => {
  it("[SEC-01] is also the header that Cloudflare Access adds", async () => {
    const token = await issuer.sign(ec);
    expectAccepted(await ask(issuer, { "cf-access-jwt-assertion": token }));
    const bad = await issuer.sign(ec, { aud: "someone-else" });
    expectRefused(await ask(issuer, { "cf-access-jwt-assertion": bad }));
  });

  it("[SEC-01] is the Authorization header alone where both are sent", async () => {
    const good = await issuer.sign(ec);
    const bad = await issuer.sign(ec, { aud: "someone-else" });
    const answers = await Promise.all(
      [
        [`Bearer ${good}`, bad],
        [`Bearer ${bad}`, good],
        ["", good],
        ["Basic a2V5Og==", good],
      ].map(([authorization = "", assertion = ""]) =>
        ask(issuer, { authorization, "cf-access-jwt-assertion": assertion }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 401, 401, 401]);
  });

  it("[SEC-01] is not the query, a cookie or the body", async () => {
    const token = await issuer.sign(ec, { scope: "admin" });
    const path = `/v1/threads/none/explain?access_token=${token}`;
    expectRefused(await sendTo({ variables: issuer.variables }, path));
    for (const headers of [
      { cookie: `CF_Authorization=${token}; authorization=Bearer ${token}` },
      { "proxy-authorization": `Bearer ${token}`, "x-api-key": token },
    ]) {
      expectRefused(await ask(issuer, headers));
    }
  });

  it("[SEC-01] may be a key where tokens are accepted, and a token where keys are", async () => {
    const both = { keys: [KEY], variables: issuer.variables };
    const token = await issuer.sign(ec);
    for (const right of [token, KEY_TEXT]) {
      expectAccepted(await ask(issuer, { authorization: `Bearer ${right}` }, both));
    }
    for (const wrong of [`${KEY_TEXT}x`, "a.b.c", `${token}x`, `${KEY_TEXT}.${KEY_TEXT}.`]) {
      expectRefused(await ask(issuer, { authorization: `Bearer ${wrong}` }, both));
    }
  });

  it("[SEC-01] is no token where no issuer is trusted", async () => {
    const headers = { authorization: `Bearer ${await issuer.sign(ec)}` };
    expectRefused(await ask(issuer, headers, { keys: [KEY], variables: {} }));
    expectRefused(await ask(issuer, headers, { variables: {} }));
  });
});

describe("a deployment's own mapping of claims", () => {
  function appOf(callerOf: unknown): App {
    return appWith({ auth: { callerOf: z.custom<CallerOf>().parse(callerOf) } });
  }

  it("[SEC-01] says who calls, from verified claims alone", async () => {
    const seen: unknown[] = [];
    const mapping: CallerOf = (claims) => {
      seen.push(claims);
      const { email, groups } = z
        .object({ email: z.string(), groups: z.array(z.string()) })
        .parse(claims);
      return {
        tenant: "mapped",
        principal: email,
        permissions: groups.includes("ops") ? ["threads:read", "threads:operate"] : [],
      };
    };
    const claims = {
      tenant: undefined,
      email: "ann@acme.test",
      groups: ["ops"],
      permissions: undefined,
    };
    const token = await issuer.sign(ec, claims);
    expect((await credentialOf(issuer, token, mapping)).caller).toEqual({
      tenant: "mapped",
      principal: "ann@acme.test",
      permissions: ["threads:read", "threads:operate"],
    });
    expect(seen).toEqual([issuer.claims(claims)]);
    const app = appOf(mapping);
    const headers = { authorization: `Bearer ${token}` };
    expectAccepted(await ask(issuer, headers, { app }));
    const bad = await issuer.sign(ec, { ...claims, aud: "someone-else" });
    expectRefused(await ask(issuer, { authorization: `Bearer ${bad}` }, { app }));
    expect(seen).toHaveLength(2);
  });

  it.each([
    ["null", () => null],
    ["nothing", () => undefined],
    ["true", () => true],
    ["a promise", () => Promise.resolve({ tenant: "t", principal: "p", permissions: ["admin"] })],
    ["no tenant", () => ({ principal: "p", permissions: ["admin"] })],
    ["an empty tenant", () => ({ tenant: "", principal: "p", permissions: ["admin"] })],
    [
      "a permission that there is not",
      () => ({ tenant: "t", principal: "p", permissions: ["root"] }),
    ],
    ["more than a caller", () => ({ tenant: "t", principal: "p", permissions: [], isAdmin: true })],
    ["a principal with a NUL", () => ({ tenant: "t", principal: "p\0", permissions: ["admin"] })],
  ])("[SEC-01] that answers %s refuses the token", async (_what, callerOf) => {
    const headers = { authorization: `Bearer ${await issuer.sign(ec)}` };
    expectRefused(await ask(issuer, headers, { app: appOf(callerOf) }));
  });

  it("[SEC-01, SEC-04] that throws lets nobody in, and what it threw is not told", async () => {
    const app = appOf(() => {
      throw new Error("no such customer: ann of acme");
    });
    const headers = { authorization: `Bearer ${await issuer.sign(ec)}` };
    const answer = await ask(issuer, headers, { app });
    expectRefusal(answer, 503, "Unavailable");
    expect(answer.text).not.toMatch(/customer|\bann\b|acme/);
  });
});

describe("a deployment whose issuer is not configured right", () => {
  const right = new TokenIssuer().variables;

  it.each(Object.keys(right))(
    "[SEC-01, UX-04] is told that %s is missing beside the others",
    async (name) => {
      const variables = Object.fromEntries(Object.entries(right).filter(([each]) => each !== name));
      const answer = await ask(issuer, { authorization: "Bearer x" }, { variables });
      const { detail } = expectRefusal(answer, 503, "Unavailable");
      expect(detail).toContain(name);
      for (const value of Object.values(right)) expect(answer.text).not.toContain(value);
    },
  );

  it.each([
    ["http", "http://issuer.test/keys"],
    ["http at a host that begins like loopback", "http://127.0.0.1.issuer.test/keys"],
    ["http at a host of a local name", "http://localhost.issuer.test/keys"],
    ["another protocol", "ftp://issuer.test/keys"],
    ["data", "data:application/json,{}"],
    ["no address", "issuer.test/keys"],
    ["nonsense", "\u0000"],
    ["nothing", ""],
  ])("[SEC-01, UX-04] is told that HOLDFAST_JWKS_URL is wrong: %s", async (_what, url) => {
    const variables = { ...right, HOLDFAST_JWKS_URL: url };
    const answer = await ask(issuer, { authorization: "Bearer x" }, { variables });
    const { detail } = expectRefusal(answer, 503, "Unavailable");
    expect(detail).toContain("HOLDFAST_JWKS_URL");
    if (url.length > 1) expect(answer.text).not.toContain(url);
  });

  it("[SEC-01] may read its keys over http on the machine itself", () => {
    for (const host of ["127.0.0.1:8788", "localhost", "[::1]:1"]) {
      const HOLDFAST_JWKS_URL = `http://${host}/keys`;
      expect(parseEnv({ ...env, ...right, HOLDFAST_JWKS_URL }).jwt).toEqual({
        issuer: right.HOLDFAST_JWT_ISSUER,
        audience: AUDIENCE,
        jwksUrl: HOLDFAST_JWKS_URL,
      });
    }
  });
});
