// The deployment that accepts the work.
import { holdfast } from "../../../worker/holdfast.ts";
import { clerk, firstCourier } from "./courier.ts";
import { models } from "./scripted-courier.ts";

const deployment = holdfast({ agents: [firstCourier, clerk], models });

export class ThreadObject extends deployment.ThreadObject {}
export default deployment.worker;
