// What the middleware hands to the routes.
import type { Credential } from "./auth/verification.ts";
import type { Deployment } from "./deployment-options.ts";
import type { WorkerEnv } from "./env.ts";
import type { ThreadOperations } from "./operations/thread-operations.ts";

export interface AppEnv {
  Bindings: Cloudflare.Env;
  Variables: {
    requestId: string;
    bindings: WorkerEnv;
    /** Who calls; not there before it was verified, and on routes that ask for no credential. */
    credential: Credential | undefined;
    operations: ThreadOperations;
    deployment: Deployment;
  };
}
