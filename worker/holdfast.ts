// The factory: from a deployment's options to the classes and the Worker that it exports.
import { systemPorts } from "../durable-objects/platform/system-ports.ts";
import type { Ports } from "../shared/ports.ts";
import { threadObjectClass } from "../durable-objects/thread/thread-object.ts";
import type { Environment } from "../shared/define/environment.ts";
import { createApp } from "./app.ts";
import { prepareDeployment, type HoldfastOptions } from "./deployment-options.ts";
import { serviceClass } from "./rpc-entrypoint.ts";

export type {
  BindingSelection,
  SelectableSubmission,
} from "../durable-objects/agents/select-binding.ts";
export type { LocalReply, LocalScript } from "../durable-objects/model/local-model.ts";
export type { ModelRegistry, RegisteredModel } from "../durable-objects/model/resolve-model.ts";
export type {
  AuthorizeOperation,
  OperationRequest,
} from "../durable-objects/thread/authorize-operation.ts";
export type {
  ToolAuthorization,
  ToolAuthorizationRequest,
} from "../durable-objects/thread/run/authorize-tools.ts";
export type {
  Envelope,
  HostLanesForMutation,
  Lane,
  LaneWave,
  Mutation,
} from "../durable-objects/scheduler/lane.ts";
export type { OwnsThread, Placement } from "../durable-objects/platform/placement.ts";
export type { ObjectEvent, OnEvent } from "../durable-objects/platform/wrap-event.ts";
export type { OnToolFailure, ToolFailure } from "../durable-objects/thread/observe-failures.ts";
export type { OnRecoveryEvent } from "../durable-objects/thread/recovery/recovery-lane.ts";
export type { RecoveryEvent } from "../shared/wire/fault.ts";
export type { ThreadLimits } from "../durable-objects/thread/thread-limits.ts";
export type { CallerOf } from "./auth/verify-token.ts";
export type { HoldfastOptions } from "./deployment-options.ts";

/**
 * @param options or a function of the environment that returns them
 * @param ports the world's edge; a deployment leaves it out, tests hand in their own clock, ids and crash points
 */
export function holdfast(
  options: HoldfastOptions | ((env: Environment) => HoldfastOptions),
  ports: Ports = systemPorts,
) {
  const deployment = prepareDeployment(options, ports);
  const app = createApp(deployment);
  return {
    ThreadObject: threadObjectClass(deployment.optionsOf, ports),
    HoldfastService: serviceClass(deployment),
    worker: {
      fetch: (request: Request, env: Cloudflare.Env, context: ExecutionContext) =>
        app.fetch(request, env, context),
    },
  };
}
