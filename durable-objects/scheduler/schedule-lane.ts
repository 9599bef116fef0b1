// What a source elsewhere asks of an object (LANE-04).
import { z } from "zod";
import { ThreadIdSchema } from "../../shared/ids.ts";

export const ScheduleLaneSchema = z.strictObject({
  threadId: ThreadIdSchema,
  laneId: z.string().min(1).max(128),
  /** Epoch milliseconds. */
  dueAt: z.int().nonnegative(),
  /** How far the source is: only a higher one than before is news. */
  cursor: z.int().nonnegative(),
});
export type ScheduleLaneRequest = z.infer<typeof ScheduleLaneSchema>;
