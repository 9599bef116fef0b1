// The travel planner's stand-in model: a function of the prompt, no network.
import type { LocalScript } from "../../durable-objects/model/local-model.ts";
import { lastUserText } from "./local-prompt.ts";

export const travelPlannerScript: LocalScript = (prompt) => {
  const [, days = "3", destination = "somewhere"] =
    /Plan (\d+) days in (.+)\./.exec(lastUserText(prompt)) ?? [];
  return {
    text: JSON.stringify({
      destination,
      days: Array.from({ length: Number(days) }, (_, index) => ({
        day: index + 1,
        plan: `The local model suggests a walk through ${destination}.`,
      })),
    }),
  };
};
