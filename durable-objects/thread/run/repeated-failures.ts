// How many tool results in a row failed, in the order the model declared them (RUN-14). Pure.
import type { ToolOutcome } from "../../../shared/wire/records.ts";
import type { TurnState } from "./run-state.ts";

type Weight = "fails" | "resets" | "neutral";

/** A person's denial, a limit's rejection and a tool that a deployment took away are not failures of the model's doing. */
const WEIGHT: Record<ToolOutcome, Weight> = {
  success: "resets",
  failure: "fails",
  invalid: "fails",
  timeout: "fails",
  denied: "neutral",
  "budget-rejected": "neutral",
  unavailable: "neutral",
};

/** Results of the completion tool are not among them: an answer that does not fit has its one repair (RUN-16). */
export function countTrailingFailures(
  turns: readonly TurnState[],
  completionTool: string | null,
): number {
  let failures = 0;
  for (const { calls } of turns.toReversed()) {
    for (const call of calls.toReversed()) {
      if (call.result === null || call.toolName === completionTool) continue;
      const weight = WEIGHT[call.result.outcome];
      if (weight === "resets") return failures;
      if (weight === "fails") failures += 1;
    }
  }
  return failures;
}
