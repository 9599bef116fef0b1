// The deployment after it: a later revision of the courier.
import { holdfast } from "../../../worker/holdfast.ts";
import { clerk, secondCourier } from "./courier.ts";
import { models } from "./scripted-courier.ts";

const deployment = holdfast({ agents: [secondCourier, clerk], models });

export class ThreadObject extends deployment.ThreadObject {}
export default deployment.worker;
