// What a deployment hands to its thread objects. Everything but `agents` has a working default.
import type { Agent } from "../../shared/define/agent.ts";
import type { Environment, Services } from "../../shared/define/environment.ts";
import type { PriceTable } from "../../shared/define/prices.ts";
import type { BindingSelection } from "../agents/select-binding.ts";
import type { ModelRegistry } from "../model/resolve-model.ts";
import type { AuthorizeOperation } from "./authorize-operation.ts";
import type { ToolAuthorization } from "./run/authorize-tools.ts";
import type { HostLanesForMutation, Lane } from "../scheduler/lane.ts";
import type { OnEvent } from "../platform/wrap-event.ts";
import type { PlacementOptions } from "../platform/placement.ts";
import type { OnRecoveryEvent } from "./recovery/recovery-lane.ts";
import type { OnToolFailure } from "./observe-failures.ts";
import type { ThreadLimits } from "./thread-limits.ts";

export interface ThreadOptions extends PlacementOptions {
  readonly agents: readonly Agent[];
  /** Models of the deployment's own, by id: a script for `local/…`, or a function that makes the model. */
  readonly models?: ModelRegistry;
  /** What models cost, by id: over the known list prices (GW-04). */
  readonly prices?: PriceTable;
  /** Asked for each call before anything of its batch starts; allows everything by default (TOOL-06). */
  readonly toolAuthorization?: ToolAuthorization;
  /** Asked in the object before each operation; allows by default what the permission allows (SEC-02). */
  readonly authorizeOperation?: AuthorizeOperation | undefined;
  /** Which of several definitions of one agent id runs a submission; without it an id has one (THR-08). */
  readonly selectBinding?: BindingSelection;
  /** Deferred work of the host that shares each object's alarm with its runs (LANE-01). */
  readonly lanes?: readonly Lane[];
  /** Which of them a mutation owes something to (LANE-07). */
  readonly hostLanesForMutation?: HostLanesForMutation;
  /** Told when what a thread retains cannot be read, and when it can again (REC-05). */
  readonly onRecoveryEvent?: OnRecoveryEvent | undefined;
  /** Told of each failed tool result that a run went on with (TOOL-12). */
  readonly onToolFailure?: OnToolFailure;
  /** Around each invocation of an object (TOOL-12). */
  readonly onEvent?: OnEvent;
  /** Makes what tools get as `services`, once per object. Contract: synchronous, local, bounded: it runs when an object wakes. */
  readonly services?: (env: Environment) => Services;
  readonly limits?: Partial<ThreadLimits>;
}
