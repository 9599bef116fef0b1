// The deployment of the soak test: one agent that does whatever kind of job it is given. Nothing of it is part of the product.
import { defineAgent } from "../../shared/define/index.ts";
import { holdfast } from "../../worker/holdfast.ts";
import {
  JobInputSchema,
  stubbedModel,
  stubbedTool,
  type PromptShape,
  type ScriptedAnswer,
} from "../server/stubbed-agent.ts";
import { CHARGES, kindOf } from "./soak-plan.ts";

const soaker = defineAgent({
  id: "soaker",
  revision: 1,
  description: "Runs the jobs of the soak test.",
  input: JobInputSchema,
  instructions: "You run one job.",
  inputPrompt: ({ job }) => job,
  model: "soak/scripted",
  tools: {
    lookUp: stubbedTool("look_up", "read"),
    saveNote: stubbedTool("save_note", "idempotent"),
    charge: stubbedTool("charge", "external"),
    guarded: stubbedTool("guarded", "external", { needsApproval: true }),
  },
  // People decide at once here; what a kill left open may take a while.
  // One call after the other, so that a kill finds some of a turn done, one open and some not begun.
  policy: { maxDuration: "2 hours", toolConcurrency: 1 },
});

function answer({ job, turn, succeeded }: PromptShape): ScriptedAnswer {
  const kind = kindOf(job);
  const done = {
    text: JSON.stringify({ job, charges: succeeded("charge"), guarded: succeeded("guarded") }),
    deltaLength: 8,
  };
  if (kind === "answer" || turn > 2) return done;
  if (kind === "approval") {
    return turn === 1 ? { calls: [{ tool: "guarded", input: { job } }] } : done;
  }
  if (turn === 2) return { text: "notes", calls: [{ tool: "save_note", input: { job } }] };
  const charges = Array.from({ length: CHARGES }, (_, index) => ({
    tool: "charge",
    input: { job, index },
  }));
  return { calls: [{ tool: "look_up", input: { job } }, ...charges] };
}

const deployment = holdfast({
  agents: [soaker],
  models: { "soak/scripted": { create: (env) => stubbedModel(env, answer) } },
});

export class ThreadObject extends deployment.ThreadObject {}
export default deployment.worker;
