// What a test may change of the deployment under test; objects read it when they are constructed.
import { z } from "zod";
import type { Agent } from "../../shared/define/agent.ts";
import type { Environment, Services } from "../../shared/define/environment.ts";
import type { BindingSelection } from "../../durable-objects/agents/select-binding.ts";
import type { HostLanesForMutation, Lane } from "../../durable-objects/scheduler/lane.ts";
import type { OnEvent } from "../../durable-objects/platform/wrap-event.ts";
import type { OwnsThread, Placement } from "../../durable-objects/platform/placement.ts";
import type { OnRecoveryEvent } from "../../durable-objects/thread/recovery/recovery-lane.ts";
import type { OnToolFailure } from "../../durable-objects/thread/observe-failures.ts";
import type { AuthorizeOperation } from "../../durable-objects/thread/authorize-operation.ts";
import type { ToolAuthorization } from "../../durable-objects/thread/run/authorize-tools.ts";
import type { ThreadLimits } from "../../durable-objects/thread/thread-limits.ts";

interface TestOptions {
  authorize: ToolAuthorization;
  authorizeOperation: AuthorizeOperation | undefined;
  limits: Partial<ThreadLimits>;
  /** The agents of the deployment, from those that it has in every test: so that one, or a tool of one, can be gone or come. */
  agents: (all: readonly Agent[]) => readonly Agent[];
  services: (env: Environment) => Services;
  selectBinding: BindingSelection;
  placement: Placement | undefined;
  ownsThread: OwnsThread | undefined;
  lanes: readonly Lane[];
  hostLanesForMutation: HostLanesForMutation | undefined;
  onRecoveryEvent: OnRecoveryEvent | undefined;
  onToolFailure: OnToolFailure;
  onEvent: OnEvent | undefined;
}

/** Their type is a deployment's own; the tests' has none. */
const noServices = z.custom<Services>();

const NOTHING_SELECTED: BindingSelection = { key: "none", select: () => undefined };

export const testOptions: TestOptions = {
  authorize: () => true,
  authorizeOperation: undefined,
  limits: {},
  agents: (all) => all,
  services: () => noServices.parse({}),
  selectBinding: NOTHING_SELECTED,
  placement: undefined,
  ownsThread: undefined,
  lanes: [],
  hostLanesForMutation: undefined,
  onRecoveryEvent: undefined,
  onToolFailure: () => undefined,
  onEvent: undefined,
};

export function resetOptions(): void {
  testOptions.authorize = () => true;
  testOptions.authorizeOperation = undefined;
  testOptions.limits = {};
  testOptions.agents = (all) => all;
  testOptions.services = () => noServices.parse({});
  testOptions.selectBinding = NOTHING_SELECTED;
  testOptions.placement = undefined;
  testOptions.ownsThread = undefined;
  testOptions.lanes = [];
  testOptions.hostLanesForMutation = undefined;
  testOptions.onRecoveryEvent = undefined;
  testOptions.onToolFailure = () => undefined;
  testOptions.onEvent = undefined;
}
