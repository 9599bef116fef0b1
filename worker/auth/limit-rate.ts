// Requests per principal, counted by Cloudflare's rate limiting binding where the deployment has one (SEC-04).
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import type { Caller } from "../../shared/wire/access.ts";
import { errorName, logEvent } from "../../durable-objects/platform/log.ts";
import type { RateLimiter, WorkerEnv } from "../env.ts";

/** The binding counts in periods of 10 or 60 seconds, and does not say when the next begins. */
const RETRY_AFTER_SECONDS = 10;

/** Throws `RateLimited`. Counts are per location of Cloudflare's and approximate, as the binding's are. */
export async function limitRate(env: WorkerEnv, { tenant, principal }: Caller): Promise<void> {
  if (env.RATE_LIMITER === undefined) return;
  if (await isWithin(env.RATE_LIMITER, JSON.stringify([tenant, principal]))) return;
  throw new HoldfastError(
    "RateLimited",
    "This principal sends too many requests. Wait, then repeat the identical request.",
    { fields: { retryAfterSeconds: RETRY_AFTER_SECONDS } },
  );
}

/** A limiter that fails limits nothing: it protects the service, and must not be what takes it down. */
async function isWithin(limiter: RateLimiter, key: string): Promise<boolean> {
  try {
    return (await limiter.limit({ key })).success;
  } catch (error) {
    logEvent("error", "rate-limiter-failed", { error: errorName(error) });
    return true;
  }
}
