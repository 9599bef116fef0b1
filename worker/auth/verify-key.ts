// From an Authorization header to a principal. Only digests are compared, in constant time; no part of a key is logged or answered.
import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import type { ApiKey } from "../env.ts";
import type { Permission } from "./permissions.ts";

/** Who calls. The tenant comes from the credential alone. */
export interface Principal {
  readonly keyId: string;
  readonly tenant: string;
  readonly principal: string;
  readonly permissions: readonly Permission[];
}

export type Verification =
  | { readonly kind: "verified"; readonly principal: Principal }
  | { readonly kind: "refused"; readonly detail: string };

/** SHA-256 of the development key of .dev.vars.example, which everyone knows. */
const DEVELOPMENT_KEY_SHA256 = "efa09fd8a1c9d99607ea6934a09fd2bc964648a53f0fc3909d95d353830f5ee5";

/** @param hostname of the request's URL: the development key is worth something on a loopback host only */
export function verifyKey(
  keys: readonly ApiKey[],
  authorization: string | undefined,
  hostname: string,
): Verification {
  if (keys.length === 0) {
    return refused(
      "No API key is configured. Set HOLDFAST_API_KEYS; .dev.vars.example shows its form.",
    );
  }
  const token = /^bearer ([\x21-\x7e]{1,512})$/i.exec(authorization ?? "")?.[1];
  if (token === undefined) return refused("Send `Authorization: Bearer <key>`.");
  const digest = createHash("sha256").update(token).digest();
  // Every key is compared, so that the time tells nothing about which one matched.
  const match = keys.filter((key) => timingSafeEqual(digestOf(key), digest))[0];
  if (match === undefined) {
    return refused("The key is not known. Send one of the keys in HOLDFAST_API_KEYS.");
  }
  if (match.sha256 === DEVELOPMENT_KEY_SHA256 && !isLoopback(hostname)) {
    return refused(
      "The development key works on a loopback host only. Configure a key of your own.",
    );
  }
  const { id: keyId, tenant, principal, permissions } = match;
  return { kind: "verified", principal: { keyId, tenant, principal, permissions } };
}

/** Decoded once per key: the keys of an isolate stay the same objects. */
const decodedDigests = new WeakMap<ApiKey, Buffer>();

function digestOf(key: ApiKey): Buffer {
  const known = decodedDigests.get(key);
  if (known !== undefined) return known;
  const decoded = Buffer.from(key.sha256, "hex");
  decodedDigests.set(key, decoded);
  return decoded;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

function refused(detail: string): Verification {
  return { kind: "refused", detail };
}
