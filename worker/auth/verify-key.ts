// From an API key to a caller. Only digests are compared, in constant time; no part of a key is logged or answered.
import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import type { ApiKey } from "../env.ts";
import { isLoopback } from "./loopback.ts";
import { refused, type Verification } from "./verification.ts";

/** SHA-256 of the development key of .dev.vars.example, which everyone knows. */
const DEVELOPMENT_KEY_SHA256 = "efa09fd8a1c9d99607ea6934a09fd2bc964648a53f0fc3909d95d353830f5ee5";

/** @param hostname of the request's URL: the development key is worth something on a loopback host only */
export function verifyKey(keys: readonly ApiKey[], key: string, hostname: string): Verification {
  const digest = createHash("sha256").update(key).digest();
  // Every key is compared, so that the time tells nothing about which one matched.
  const match = keys.filter((candidate) => timingSafeEqual(digestOf(candidate), digest))[0];
  if (match === undefined) {
    return refused(
      "The key is not known. Send one of the keys in HOLDFAST_API_KEYS; `npm run keys -- create` mints one.",
    );
  }
  if (match.sha256 === DEVELOPMENT_KEY_SHA256 && !isLoopback(hostname)) {
    return refused(
      "The development key works on a loopback host only. Mint a key of your own with `npm run keys -- create`.",
    );
  }
  const { id, tenant, principal, permissions } = match;
  return { kind: "verified", credential: { id, caller: { tenant, principal, permissions } } };
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
