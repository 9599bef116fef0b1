// A deployment of one agent. `cp .dev.vars.example .dev.vars && npm run dev` serves it, `npm run deploy` deploys it.
import { holdfast } from "holdfast";
import { defineAgent, defineTool } from "holdfast/define";
import { z } from "zod";

const rollDice = defineTool({
  name: "roll_dice",
  revision: 1,
  description: "Rolls a die with so many sides.",
  input: z.object({ sides: z.int().min(2).max(1_000) }),
  effect: "read",
  execute: ({ sides }, { env }) => ({
    table: env.TABLE_NAME,
    rolled: 1 + Math.floor(Math.random() * sides),
  }),
});

export const gameMaster = defineAgent({
  id: "game-master",
  revision: 1,
  description: "Rolls dice when somebody asks.",
  input: z.object({ wish: z.string().min(1) }),
  output: z.object({ answer: z.string() }),
  instructions: "Roll the dice that the player asks for, and say what came.",
  inputPrompt: ({ wish }) => wish,
  // The embedded model needs no account. Name another one here, or set HOLDFAST_MODEL.
  model: "local/game-master",
  tools: { rollDice },
});

const deployment = holdfast({ agents: [gameMaster] });

export class ThreadObject extends deployment.ThreadObject {}
export class HoldfastService extends deployment.HoldfastService {}
export default deployment.worker;
