// The state of a submission as callers see it: `queued` and `running` are derived, never stored (spec/6). Pure.
import type { SubmissionState } from "../../../shared/wire/submission.ts";
import type { LedgerEntry } from "./ledger.store.ts";
import { isJoined } from "./select-head.ts";

export function deriveState(entry: LedgerEntry, claimedRun: number | null): SubmissionState {
  if (entry.outcome !== null) return "settled";
  if (isJoined(entry)) return "joined";
  if (entry.wait !== null) return "waiting";
  return entry.queueSequence === claimedRun ? "running" : "queued";
}
