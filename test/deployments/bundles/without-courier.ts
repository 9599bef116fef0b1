// A deployment that has no courier.
import { holdfast } from "../../../worker/holdfast.ts";
import { clerk } from "./courier.ts";
import { models } from "./scripted-courier.ts";

const deployment = holdfast({ agents: [clerk], models });

export class ThreadObject extends deployment.ThreadObject {}
export default deployment.worker;
