// The model of the tests: it answers with the plan that the input of the run carries.
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { z } from "zod";
import {
  lastUserText,
  PlannedTurnSchema,
  scriptModel,
} from "../../shared/testing/scripted-model.ts";
import { world } from "./world.ts";

export { PlannedTurnSchema, type PlannedTurn } from "../../shared/testing/scripted-model.ts";

/** The input of every scripted agent. */
export const ScriptedInputSchema = z.object({
  plan: z.array(PlannedTurnSchema),
  note: z.string().optional(),
});
export type ScriptedInput = z.infer<typeof ScriptedInputSchema>;

/** Prompts as the model saw them, newest last. */
export const seenPrompts: LanguageModelV4CallOptions[] = [];

export const scriptedModel = scriptModel({
  world,
  planOf: (prompt) => ScriptedInputSchema.parse(JSON.parse(lastUserText(prompt) || "{}")).plan,
  onCall: (options) => {
    seenPrompts.push(options);
    if (seenPrompts.length > 200) seenPrompts.shift();
  },
});
