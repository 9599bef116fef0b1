// What one job of the kill test does, call by call, and what a kill after each call must lead to. Shared by the deployment and the
// orchestrator, so it imports nothing of a platform.
import { z } from "zod";

/** The calls that a job makes at the stub, in order: four model turns, a read, four external calls in one turn, an idempotent write. */
export const STEPS = [
  "model-1",
  "look_up",
  "model-2",
  "charge-0",
  "charge-1",
  "charge-2",
  "charge-3",
  "model-3",
  "save_note",
  "model-4",
] as const;
export const StepSchema = z.enum(STEPS);
export type Step = z.infer<typeof StepSchema>;

export const CHARGES_PER_JOB = 4;
export const FINAL_STEP: Step = "model-4";

/**
 * What an accepted job whose last call was this must do after the kill, without any request: `due` goes on by itself, `parked` has an
 * external call with an intent and no result and must not go on, `either` depends on a commit that cannot be seen from outside.
 */
export type Fate = "due" | "parked" | "either";

/** By the job's last call, and whether the stub had been told to answer it. The intents of a turn are one commit, so a kill between the
 * first charge and the last parks the job even when the earlier ones were answered. */
export const FATES: Record<Step, { readonly held: Fate; readonly replied: Fate }> = {
  "model-1": { held: "due", replied: "due" },
  look_up: { held: "due", replied: "due" },
  "model-2": { held: "due", replied: "either" },
  "charge-0": { held: "parked", replied: "parked" },
  "charge-1": { held: "parked", replied: "parked" },
  "charge-2": { held: "parked", replied: "parked" },
  "charge-3": { held: "parked", replied: "either" },
  "model-3": { held: "due", replied: "due" },
  save_note: { held: "due", replied: "due" },
  "model-4": { held: "due", replied: "either" },
};
