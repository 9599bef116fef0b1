// What the middleware hands to the routes.
import type { Principal } from "./auth/verify-key.ts";
import type { WorkerEnv } from "./env.ts";

export interface AppEnv {
  Bindings: Cloudflare.Env;
  Variables: {
    requestId: string;
    bindings: WorkerEnv;
    principal: Principal;
  };
}
