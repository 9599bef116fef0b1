// From a JWT to a caller: signature by a key of the issuer's set, then issuer, audience, times and algorithm; only then its claims are read.
import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { CallerSchema, PermissionSchema, type Caller } from "../../shared/wire/access.ts";
import { errorName, logEvent } from "../../durable-objects/platform/log.ts";
import type { TokenIssuer } from "../env.ts";
import { refused, type Verification } from "./verification.ts";

/** Contract: synchronous. Null refuses the token. What it returns is checked. */
export type CallerOf = (claims: Readonly<Record<string, unknown>>) => Caller | null;

/** Signatures that need the issuer's private key. `none` and shared secrets are not among them. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "EdDSA",
];
/** Clocks differ a little. */
const CLOCK_TOLERANCE_SECONDS = 5;

export async function verifyToken(
  issuer: TokenIssuer,
  token: string,
  callerOf: CallerOf,
  now: number,
): Promise<Verification> {
  let claims: JWTPayload;
  try {
    const { payload } = await jwtVerify(token, keySetOf(issuer.jwksUrl), {
      issuer: issuer.issuer,
      audience: issuer.audience,
      algorithms: ALGORITHMS,
      currentDate: new Date(now),
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ["exp", "sub"],
    });
    claims = payload;
  } catch (error) {
    return refused(explainRefusal(error));
  }
  if (claims.iat !== undefined && claims.iat > now / 1_000 + CLOCK_TOLERANCE_SECONDS) {
    return refused("The token is issued in the future.");
  }
  const caller = CallerSchema.safeParse(mapClaims(callerOf, claims));
  if (!caller.success) {
    return refused(
      "The token's claims name no caller: it needs `sub`, `tenant`, and `permissions` or `scope`, or a mapping of the deployment's own under `auth.callerOf`.",
    );
  }
  return { kind: "verified", credential: { id: issuer.issuer, caller: caller.data } };
}

/** A mapping that throws has not said who it is: the token may well be good. */
function mapClaims(callerOf: CallerOf, claims: JWTPayload): Caller | null {
  try {
    return callerOf(claims);
  } catch (error) {
    logEvent("error", "caller-of-failed", { error: errorName(error) });
    throw new HoldfastError(
      "Unavailable",
      "The deployment's auth.callerOf could not map the token. Its log says more.",
      { cause: error, fields: { reason: "authorization", retryAfterSeconds: 5 } },
    );
  }
}

const ClaimsSchema = z.object({
  sub: z.string(),
  tenant: z.string(),
  permissions: z.array(z.string()).default([]),
  scope: z.string().default(""),
});

/** Principal `sub`, tenant `tenant`, permissions `permissions` and the words of `scope`, those that are ours. A token without a tenant is
 * refused, never given a default: two customers of one issuer would share it. */
export const callerOfClaims: CallerOf = (claims) => {
  const parsed = ClaimsSchema.safeParse(claims);
  if (!parsed.success) return null;
  const { sub, tenant, permissions, scope } = parsed.data;
  const granted = new Set([...permissions, ...scope.split(" ")]);
  return {
    tenant,
    principal: sub,
    permissions: PermissionSchema.options.filter((permission) => granted.has(permission)),
  };
};

/** One per URL and isolate: it keeps the keys for ten minutes, and looks again for a key it does not know, at most every 30 seconds. */
const keySets = new Map<string, JWTVerifyGetKey>();

function keySetOf(url: string): JWTVerifyGetKey {
  const known = keySets.get(url);
  if (known !== undefined) return known;
  const keySet = createRemoteJWKSet(new URL(url));
  keySets.set(url, keySet);
  return keySet;
}

/** Which check failed; nothing of the token. Throws `Unavailable` when the keys could not be had: the token may well be good. */
function explainRefusal(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "The token has expired.";
  if (error instanceof errors.JWTClaimValidationFailed) {
    const claim = /^[a-z]{1,16}$/.test(error.claim) ? error.claim : "claims";
    return `The token's \`${claim}\` is not accepted.`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return "The token's algorithm is not accepted.";
  }
  if (
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys
  ) {
    return "The token is not signed by a key of the issuer.";
  }
  if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) {
    return "The token is malformed.";
  }
  if (error instanceof errors.JOSENotSupported) return "The token's form is not supported.";
  logEvent("error", "jwks-unavailable", { error: errorName(error) });
  throw new HoldfastError(
    "Unavailable",
    "The issuer's keys could not be read, so the token could not be checked. Repeat the request.",
    { cause: error, fields: { reason: "jwks", retryAfterSeconds: 5 } },
  );
}
