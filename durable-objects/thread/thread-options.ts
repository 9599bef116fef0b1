// What a deployment hands to its thread objects. Everything but `agents` has a working default.
import type { Agent } from "../../shared/define/agent.ts";
import type { ModelRegistry } from "../model/resolve-model.ts";
import type { ToolAuthorization } from "./run/authorize-tools.ts";
import type { ThreadLimits } from "./thread-limits.ts";

export interface ThreadOptions {
  readonly agents: readonly Agent[];
  /** Models of the deployment's own, by id: a script for `local/…`, or a function that makes the model. */
  readonly models?: ModelRegistry;
  /** Asked for each call before anything of its batch starts; allows everything by default (TOOL-06). */
  readonly toolAuthorization?: ToolAuthorization;
  readonly limits?: Partial<ThreadLimits>;
}
