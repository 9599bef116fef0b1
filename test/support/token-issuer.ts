// An issuer of tokens as the tests play it: its keys, the set of them that the Worker under test reads, and tokens good and bad. Every
// issuer has an address of its own, as the Worker remembers the sets that it read.
import { Buffer } from "node:buffer";
import { exportJWK, generateKeyPair, SignJWT, type JWK, type JWTPayload } from "jose";
import { z } from "zod";
import { ISSUER_ORIGIN } from "./issuer-origin.ts";
import { world } from "./world.ts";

export const AUDIENCE = "holdfast-tests";

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

export async function makeKey(alg: string, kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const publicJwk = { ...(await exportJWK(publicKey)), kid, alg, use: "sig" };
  return { kid, alg, privateKey, publicJwk };
}

let issuers = 0;

export class TokenIssuer {
  readonly issuer: string;
  readonly jwksUrl: string;

  constructor() {
    issuers += 1;
    this.issuer = `${ISSUER_ORIGIN}/${issuers}`;
    this.jwksUrl = `${this.issuer}/keys`;
  }

  /** The variables of a deployment that trusts this issuer. */
  get variables() {
    return {
      HOLDFAST_JWT_ISSUER: this.issuer,
      HOLDFAST_JWT_AUDIENCE: AUDIENCE,
      HOLDFAST_JWKS_URL: this.jwksUrl,
    };
  }

  async publish(...keys: readonly SigningKey[]): Promise<void> {
    await this.answer(JSON.stringify({ keys: keys.map(({ publicJwk }) => publicJwk) }));
  }

  /** What the address of the keys answers: a text, nothing (it is down), or another address (it sends there). */
  async answer(text: string): Promise<void> {
    await fetch(this.jwksUrl, { method: "PUT", body: text });
  }

  /** How often the keys were read. */
  async reads(): Promise<number> {
    const answer = await fetch(this.jwksUrl, { method: "POST" });
    return z.object({ reads: z.int() }).parse(await answer.json()).reads;
  }

  /** The claims of a good token, by the tests' clock. An undefined one is left out. */
  claims(changes: Readonly<Record<string, unknown>> = {}): JWTPayload {
    const now = secondsNow();
    const claims = {
      iss: this.issuer,
      aud: AUDIENCE,
      sub: "ann",
      tenant: "acme",
      permissions: ["threads:read"],
      iat: now - 10,
      exp: now + 300,
      ...changes,
    };
    return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
  }

  sign(
    key: Pick<SigningKey, "kid" | "alg"> & { readonly privateKey: CryptoKey | Uint8Array },
    changes: Readonly<Record<string, unknown>> = {},
    header: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    return new SignJWT(this.claims(changes))
      .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
      .sign(key.privateKey);
  }
}

export function secondsNow(): number {
  return Math.floor(world.now / 1_000);
}

/** A part of a token, as it is. */
export function encodePart(part: unknown): string {
  const text = typeof part === "string" ? part : JSON.stringify(part);
  return Buffer.from(text).toString("base64url");
}
