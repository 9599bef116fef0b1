// The Worker's bindings and variables, parsed once per isolate: a wrong one is said at the first request, by name.
import { z } from "zod";
import { HoldfastError, schemaFaultsOf } from "../shared/errors/holdfast-error.ts";
import { PrincipalSchema } from "../shared/ids.ts";
import type { ThreadNamespace } from "../durable-objects/clients/thread-client.ts";
import { logEvent } from "../durable-objects/platform/log.ts";
import { PermissionSchema } from "./auth/permissions.ts";

const ApiKeySchema = z.strictObject({
  id: z.string().min(1).max(64),
  /** SHA-256 of the key, lower-case hex; the key itself is never stored. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  tenant: z.string().min(1).max(128),
  principal: PrincipalSchema,
  permissions: z.array(PermissionSchema).min(1),
});
export type ApiKey = z.infer<typeof ApiKeySchema>;

const EnvSchema = z.object({
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
});
export type WorkerEnv = z.infer<typeof EnvSchema>;

const parsed = new WeakMap<object, WorkerEnv>();

/** Throws `Unavailable` that names the variable, never its value: the deployment's owner has to mend it. */
export function parseEnv(env: object): WorkerEnv {
  const known = parsed.get(env);
  if (known !== undefined) return known;
  const result = EnvSchema.safeParse(env);
  if (!result.success) {
    const faults = schemaFaultsOf(result.error).map(
      ({ pointer, message }) => `${pointer}: ${message}`,
    );
    logEvent("error", "configuration-invalid", { faults });
    throw new HoldfastError(
      "Unavailable",
      `The deployment is not configured: ${faults.join("; ")}. Set it in .dev.vars or with wrangler secret put.`,
    );
  }
  parsed.set(env, result.data);
  return result.data;
}
