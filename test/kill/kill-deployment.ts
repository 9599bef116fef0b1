// The deployment that the kill test runs and kills: an agent that runs jobs, and one for the drill. Nothing of it is part of the product.
import { z } from "zod";
import { defineAgent } from "../../shared/define/index.ts";
import { holdfast } from "../../worker/holdfast.ts";
import {
  JobInputSchema,
  stubbedModel,
  stubbedTool,
  type PromptShape,
  type ScriptedAnswer,
} from "../server/stubbed-agent.ts";
import { DRILL_CALLS } from "./drill/drill-plan.ts";
import { CHARGES_PER_JOB } from "./job-steps.ts";

const common = {
  revision: 1,
  input: JobInputSchema,
  output: z.object({ job: z.string(), charges: z.int() }),
  instructions: "You run one job.",
  inputPrompt: ({ job }: z.output<typeof JobInputSchema>) => job,
  // The charges of a turn run one after the other, so that a kill finds some done, one open and some not begun.
  policy: { toolConcurrency: 1 },
} as const;

const charge = stubbedTool("charge", "external");

const jobRunner = defineAgent({
  ...common,
  id: "job-runner",
  description: "Runs one job of the kill test.",
  model: "kill/job",
  tools: {
    lookUp: stubbedTool("look_up", "read"),
    charge,
    saveNote: stubbedTool("save_note", "idempotent"),
  },
});

const driller = defineAgent({
  ...common,
  id: "driller",
  description: "Charges in one turn, slowly.",
  model: "kill/drill",
  tools: { charge },
});

function charges(job: string, count: number): ScriptedAnswer {
  return {
    calls: Array.from({ length: count }, (_, index) => ({ tool: "charge", input: { job, index } })),
  };
}

function done({ job, succeeded }: PromptShape): ScriptedAnswer {
  return { text: JSON.stringify({ job, charges: succeeded("charge") }) };
}

function answerJob(shape: PromptShape): ScriptedAnswer {
  const { job, turn } = shape;
  if (turn === 1) return { calls: [{ tool: "look_up", input: { job } }] };
  if (turn === 2) return charges(job, CHARGES_PER_JOB);
  if (turn === 3) return { calls: [{ tool: "save_note", input: { job } }] };
  return done(shape);
}

function answerDrill(shape: PromptShape): ScriptedAnswer {
  return shape.turn === 1 ? charges(shape.job, DRILL_CALLS) : done(shape);
}

const deployment = holdfast({
  agents: [jobRunner, driller],
  models: {
    "kill/job": { create: (env) => stubbedModel(env, answerJob) },
    "kill/drill": { create: (env) => stubbedModel(env, answerDrill) },
  },
});

export class ThreadObject extends deployment.ThreadObject {}
export default deployment.worker;
