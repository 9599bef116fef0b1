// What the suites ask of the courier, and what it answers. Shared by the deployments and by those who drive them, so it imports no platform.
import { z } from "zod";

/** Each is called so at the stub too. */
const ToolNameSchema = z.enum(["look_up", "note", "act", "guarded", "dropped"]);
export type ToolName = z.infer<typeof ToolNameSchema>;

export const JobSchema = z.object({
  /** Tells the stub whose call it is. */
  job: z.string().min(1),
  /** The calls of each turn; the model answers in the turn after the last. */
  turns: z.array(z.array(ToolNameSchema).min(1)).max(3),
  /** Where several revisions are deployed: the one to run it. */
  revision: z.int().positive().exactOptional(),
});
export type Job = z.infer<typeof JobSchema>;

/** The output: what the model's last call had. */
export const ShownSchema = z.object({
  instructions: z.array(z.string()),
  tools: z.array(z.string()),
  results: z.array(z.string()),
});
export type Shown = z.infer<typeof ShownSchema>;
