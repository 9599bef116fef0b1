// An agent without tools: structured input in, structured output out.
import { z } from "zod";
import { defineAgent } from "../../shared/define/index.ts";

export const travelPlanner = defineAgent({
  id: "travel-planner",
  revision: 1,
  description: "Plans a short trip, day by day.",
  input: z.object({
    destination: z.string().min(1).max(200),
    days: z.int().min(1).max(14).default(3),
  }),
  output: z.object({
    destination: z.string(),
    days: z.array(z.object({ day: z.int(), plan: z.string() })),
  }),
  instructions:
    "You plan short trips. Answer with one entry per day, each a single sentence that a traveller can follow.",
  inputPrompt: ({ destination, days }) => `Plan ${days} days in ${destination}.`,
  model: "local/travel-planner",
});
