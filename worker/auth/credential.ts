// Who calls, by either kind of credential: an API key, or a token of an issuer that the deployment trusts.
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import type { WorkerEnv } from "../env.ts";
import { refused, type Credential, type Verification } from "./verification.ts";
import { verifyKey } from "./verify-key.ts";
import { verifyToken, type CallerOf } from "./verify-token.ts";

export interface PresentedCredential {
  readonly authorization: string | undefined;
  /** The token that Cloudflare Access adds to requests that it let through. */
  readonly accessToken: string | undefined;
  /** Of the request's URL. */
  readonly hostname: string;
}

const MAX_CREDENTIAL_CHARACTERS = 8_192;
/** Three base64url parts; the signature of an unsigned token is empty, which its verification refuses. */
const TOKEN_FORM = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** Throws `Unauthenticated` that says what to send, and `Unavailable` when the issuer's keys cannot be had. */
export async function verifyCredential(
  env: WorkerEnv,
  presented: PresentedCredential,
  callerOf: CallerOf,
  now: number,
): Promise<Credential> {
  const verification = await verify(env, presented, callerOf, now);
  if (verification.kind === "verified") return verification.credential;
  throw new HoldfastError("Unauthenticated", verification.detail);
}

async function verify(
  env: WorkerEnv,
  { authorization, accessToken, hostname }: PresentedCredential,
  callerOf: CallerOf,
  now: number,
): Promise<Verification> {
  const { HOLDFAST_API_KEYS: keys, jwt } = env;
  if (keys.length === 0 && jwt === null) {
    return refused(
      "No credential is configured. Mint a key with `npm run keys -- create` and put it into HOLDFAST_API_KEYS.",
    );
  }
  const sent = authorization ?? (accessToken === undefined ? "" : `Bearer ${accessToken}`);
  const text = /^bearer ([\x21-\x7e]+)$/i.exec(sent)?.[1];
  if (text === undefined || text.length > MAX_CREDENTIAL_CHARACTERS) {
    return refused("Send `Authorization: Bearer <key or token>`.");
  }
  if (jwt !== null && TOKEN_FORM.test(text)) return verifyToken(jwt, text, callerOf, now);
  return verifyKey(keys, text, hostname);
}
