// A deployment that has two couriers, and selects by the input.
import { holdfast } from "../../../worker/holdfast.ts";
import { JobSchema } from "../job.ts";
import { clerk, firstCourier, secondCourier } from "./courier.ts";
import { models } from "./scripted-courier.ts";

const deployment = holdfast({
  agents: [firstCourier, secondCourier, clerk],
  models,
  selectBinding: {
    key: "by-revision",
    select: ({ agentId, input }) => {
      if (agentId !== "courier") return undefined;
      return JobSchema.parse(input).revision === 1 ? firstCourier : secondCourier;
    },
  },
});

export class ThreadObject extends deployment.ThreadObject {}
export default deployment.worker;
