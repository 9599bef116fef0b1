// What the owner of a deployment edits: the agents, and the classes that Cloudflare binds to.
import { opsAssistant } from "./agents/ops-assistant.ts";
import { opsAssistantScript } from "./agents/ops-assistant.local.ts";
import { researcher } from "./agents/researcher.ts";
import { researcherScript } from "./agents/researcher.local.ts";
import { travelPlanner } from "./agents/travel-planner.ts";
import { travelPlannerScript } from "./agents/travel-planner.local.ts";
import { holdfast } from "./holdfast.ts";

const deployment = holdfast({
  agents: [travelPlanner, researcher, opsAssistant],
  models: {
    "local/travel-planner": travelPlannerScript,
    "local/researcher": researcherScript,
    "local/ops-assistant": opsAssistantScript,
  },
});

export class ThreadObject extends deployment.ThreadObject {}
export class HoldfastService extends deployment.HoldfastService {}
export default deployment.worker;
