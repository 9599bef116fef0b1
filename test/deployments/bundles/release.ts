// The deployment that writes the stored threads of an earlier release: built from that release's source, with a clock of its own.
import { systemPorts } from "../../../durable-objects/platform/system-ports.ts";
import { holdfast } from "../../../worker/holdfast.ts";
import { clerk, firstCourier } from "./courier.ts";
import { models } from "./scripted-courier.ts";

declare const CLOCK_AHEAD_MILLIS: number;
declare const HAS_COURIER: boolean;

const deployment = holdfast(
  { agents: HAS_COURIER ? [firstCourier, clerk] : [clerk], models },
  { ...systemPorts, clock: { now: () => Date.now() + CLOCK_AHEAD_MILLIS } },
);

export class ThreadObject extends deployment.ThreadObject {}
export default deployment.worker;
