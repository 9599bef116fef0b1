// The agents of a deployment as callers see them.
import { z } from "zod";
import { JsonSchema } from "../canonical-json.ts";
import { DefinitionDigestsSchema, ModelIdentitySchema } from "./agent.ts";
import { EffectSchema } from "./records.ts";

/** An agent as a deployment offers it: what it takes and gives, and what its tools may do. */
export const AgentViewSchema = z
  .object({
    id: z.string(),
    revision: z.int().positive(),
    description: z.string(),
    /** JSON Schema, draft 7. Null where the output is the model's text. */
    input: JsonSchema,
    output: JsonSchema.nullable(),
    /** Null where a submission carries none. */
    metadata: JsonSchema.nullable(),
    tools: z.array(
      z.object({
        name: z.string(),
        revision: z.int().positive(),
        description: z.string(),
        effect: EffectSchema,
        /** It asks a person, for every call or for some. */
        needsApproval: z.boolean(),
        input: JsonSchema,
      }),
    ),
    model: ModelIdentitySchema,
    digests: DefinitionDigestsSchema,
  })
  .meta({ id: "Agent" });
export type AgentView = z.infer<typeof AgentViewSchema>;

export const AgentListSchema = z
  .object({ agents: z.array(AgentViewSchema) })
  .meta({ id: "AgentList" });
export type AgentList = z.infer<typeof AgentListSchema>;
