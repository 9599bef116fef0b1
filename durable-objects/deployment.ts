// What a deployment hands to its objects: the agents, and what else the owner set. Everything but `agents` has a working default.
import type { Agent } from "../shared/define/agent.ts";
import type { ModelRegistry } from "./model/resolve-model.ts";
import type { ThreadLimits } from "./thread/thread-limits.ts";
import type { ToolAuthorization } from "./thread/run/authorize-tools.ts";

export interface HoldfastOptions {
  readonly agents: readonly Agent[];
  /** Models of the deployment's own, by id: a script for `local/…`, or a function that makes the model. */
  readonly models?: ModelRegistry;
  /** Asked for each call before anything of its batch starts; allows everything by default (TOOL-06). */
  readonly toolAuthorization?: ToolAuthorization;
  readonly limits?: Partial<ThreadLimits>;
}
