// The agents of the deployments: a courier in two revisions, and a clerk that every deployment has.
import { z } from "zod";
import { defineAgent, defineTool } from "../../../shared/define/index.ts";
import { callStub } from "../../server/stubbed-agent.ts";
import { JobSchema, type ToolName } from "../job.ts";
import { MODEL } from "./scripted-courier.ts";

interface Traits {
  readonly effect?: "read" | "idempotent" | "external";
  readonly needsApproval?: boolean;
  readonly revision?: number;
}

function tool(
  name: ToolName,
  { effect = "external", needsApproval = false, revision = 1 }: Traits,
) {
  return defineTool({
    name,
    revision,
    description: "Reports its call to the stub.",
    input: z.object({ job: z.string().min(1) }),
    output: z.object({ done: z.boolean() }),
    effect,
    needsApproval,
    execute: async ({ job }, { signal, idempotencyKey, env }) => {
      await callStub(env, "tool", { job, step: name }, { signal, idempotencyKey });
      return { done: true };
    },
  });
}

const COMMON = {
  id: "courier",
  description: "Follows the turns of its input.",
  input: JobSchema,
  model: MODEL,
} as const;

/** Stored runs must not have come to their deadline by the time that later code opens them. */
const policy = { maxDuration: "365 days" } as const;

export const firstCourier = defineAgent({
  ...COMMON,
  revision: 1,
  instructions: "Deliver, by the first revision.",
  tools: {
    lookUp: tool("look_up", { effect: "read" }),
    note: tool("note", { effect: "idempotent" }),
    act: tool("act", {}),
    guarded: tool("guarded", { needsApproval: true }),
    dropped: tool("dropped", { needsApproval: true }),
  },
  policy,
});

/** Other instructions, and of the tools one alone, revised. */
export const secondCourier = defineAgent({
  ...COMMON,
  revision: 2,
  instructions: "Deliver, by the second revision.",
  tools: { guarded: tool("guarded", { needsApproval: true, revision: 2 }) },
  policy,
});

export const clerk = defineAgent({
  ...COMMON,
  id: "clerk",
  revision: 1,
  instructions: "Keep the office open.",
  policy,
});
