// The type of a deployment's thread object.
import type { DurableObject } from "cloudflare:workers";
import type { RpcResult } from "../../shared/wire/rpc.ts";
import type { ThreadRpc } from "../../shared/wire/thread-rpc.ts";
import type { ScheduleLaneRequest } from "../scheduler/schedule-lane.ts";

/** What the factory makes. Named, so that a package's declarations can say it. */
export type ThreadObjectClass = new (
  ctx: DurableObjectState,
  env: Cloudflare.Env,
) => DurableObject &
  ThreadRpc & {
    alarm(info?: AlarmInvocationInfo): Promise<void>;
    scheduleLane(request: ScheduleLaneRequest): Promise<RpcResult<{ scheduled: boolean }>>;
  };
