// A deployment that has two couriers, and nothing that selects.
import { holdfast } from "../../../worker/holdfast.ts";
import { clerk, firstCourier, secondCourier } from "./courier.ts";
import { models } from "./scripted-courier.ts";

const deployment = holdfast({ agents: [firstCourier, secondCourier, clerk], models });

export class ThreadObject extends deployment.ThreadObject {}
export default deployment.worker;
