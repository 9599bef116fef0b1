// The Worker's bindings and variables, parsed once per isolate: a wrong one is said at the first request, by name.
import { z } from "zod";
import { HoldfastError, schemaFaultsOf } from "../shared/errors/holdfast-error.ts";
import { PrincipalSchema } from "../shared/ids.ts";
import type { ThreadNamespace } from "../durable-objects/clients/thread-client.ts";
import { logEvent } from "../durable-objects/platform/log.ts";
import { PermissionSchema } from "../shared/wire/access.ts";
import { isLoopback } from "./auth/loopback.ts";

const ApiKeySchema = z.strictObject({
  id: z.string().min(1).max(64),
  /** SHA-256 of the key, lower-case hex; the key itself is never stored. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  tenant: z.string().min(1).max(128),
  principal: PrincipalSchema,
  permissions: z.array(PermissionSchema).min(1),
});
export type ApiKey = z.infer<typeof ApiKeySchema>;

/** The issuer whose tokens are accepted beside API keys: Cloudflare Access, or any OpenID Connect provider. */
export interface TokenIssuer {
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUrl: string;
}

/** An address that nobody on the way can change: HTTPS, or the machine itself. */
const SafeUrlSchema = z.string().refine(
  (text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, hostname } = new URL(text);
    return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
  },
  { message: "an https URL" },
);
/** Addresses without a host all have the origin "null", which any page can send. */
const OriginSchema = z
  .string()
  .refine((text) => text === "*" || (URL.canParse(text) && new URL(text).origin !== "null"), {
    message: "* or an origin, such as https://app.example",
  })
  .transform((text) => (text === "*" ? text : new URL(text).origin));
const OriginsSchema = z
  .string()
  .default("")
  .transform((text) => text.split(",").flatMap((origin) => origin.trim() || []))
  .pipe(z.array(OriginSchema));

/** Cloudflare's rate limiting binding, as far as it is used. */
export interface RateLimiter {
  limit(of: { key: string }): Promise<{ success: boolean }>;
}

const EnvSchema = z
  .object({
    THREADS: z.custom<ThreadNamespace>(
      (value) => typeof value === "object" && value !== null && "getByName" in value,
      { message: "the Durable Object binding THREADS is missing" },
    ),
    HOLDFAST_API_KEYS: z
      .string()
      .default("[]")
      .transform((text, context): unknown => {
        try {
          return JSON.parse(text);
        } catch {
          context.addIssue({ code: "custom", message: "HOLDFAST_API_KEYS is not JSON" });
          return z.NEVER;
        }
      })
      .pipe(z.array(ApiKeySchema)),
    HOLDFAST_JWT_ISSUER: z.string().min(1).optional(),
    HOLDFAST_JWT_AUDIENCE: z.string().min(1).optional(),
    HOLDFAST_JWKS_URL: SafeUrlSchema.optional(),
    HOLDFAST_CORS_ORIGINS: OriginsSchema,
    /** Without it nothing is limited here. */
    RATE_LIMITER: z
      .custom<RateLimiter>((value) => typeof value === "object" && value !== null)
      .optional(),
  })
  .transform((env, context) => {
    const issuer = env.HOLDFAST_JWT_ISSUER;
    const audience = env.HOLDFAST_JWT_AUDIENCE;
    const jwksUrl = env.HOLDFAST_JWKS_URL;
    if (issuer !== undefined && audience !== undefined && jwksUrl !== undefined) {
      return { ...env, jwt: { issuer, audience, jwksUrl } };
    }
    if (issuer !== undefined || audience !== undefined || jwksUrl !== undefined) {
      const message =
        "HOLDFAST_JWT_ISSUER, HOLDFAST_JWT_AUDIENCE and HOLDFAST_JWKS_URL are set together or not at all";
      context.addIssue({ code: "custom", message });
    }
    return { ...env, jwt: null };
  });
export interface WorkerEnv extends Omit<z.infer<typeof EnvSchema>, "jwt"> {
  readonly jwt: TokenIssuer | null;
}

const parsed = new WeakMap<object, WorkerEnv>();

/** Throws `Unavailable` that names the variable, never its value: the deployment's owner has to mend it. */
export function parseEnv(env: object): WorkerEnv {
  const known = parsed.get(env);
  if (known !== undefined) return known;
  const result = EnvSchema.safeParse(env);
  if (!result.success) {
    const faults = schemaFaultsOf(result.error).map(({ pointer, message }) =>
      pointer === "" ? message : `${pointer}: ${message}`,
    );
    logEvent("error", "configuration-invalid", { faults });
    throw new HoldfastError(
      "Unavailable",
      `The deployment is not configured: ${faults.join("; ")}. Set it in .dev.vars or with wrangler secret put.`,
      { fields: { reason: "configuration", retryAfterSeconds: 60 } },
    );
  }
  parsed.set(env, result.data);
  return result.data;
}
