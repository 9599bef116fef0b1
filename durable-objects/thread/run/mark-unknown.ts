// Calls of a lost attempt that were prepared, never answered, and are not safe to repeat: they may have happened (TOOL-04).
import type { ThreadCore } from "../thread-core.ts";
import type { LiveRun } from "./live-run.ts";
import { unknownDraft } from "./plan-settlement.ts";
import type { CallState } from "./run-state.ts";

/** Commits them as unknown outcomes. */
export function markUnknown(
  core: ThreadCore,
  live: LiveRun,
  turn: number,
  calls: readonly CallState[],
): void {
  const drafts = calls.map((call) => unknownDraft(live.state, turn, call, "attempt-lost"));
  core.commitAsAttempt(live, "unknown", drafts);
}
