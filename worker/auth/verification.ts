// What checking a credential comes to.
import type { Caller } from "../../shared/wire/access.ts";

/** A verified credential. */
export interface Credential {
  /** For logs: the key's id, or the token's issuer. */
  readonly id: string;
  readonly caller: Caller;
}

export type Verification =
  | { readonly kind: "verified"; readonly credential: Credential }
  | { readonly kind: "refused"; readonly detail: string };

export function refused(detail: string): Verification {
  return { kind: "refused", detail };
}
