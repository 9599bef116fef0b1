// The state of a submission as callers see it: `queued` and `running` are derived, never stored (spec/6). Pure.
import { toIsoInstant } from "../../../shared/time.ts";
import type { SubmissionState, Wait } from "../../../shared/wire/submission.ts";
import type { LedgerEntry } from "./ledger.store.ts";
import { isJoined } from "./select-head.ts";

/** @param isBound this deployment has the agent: without it nothing of owed work moves, whatever else it waits for */
export function deriveWait(entry: LedgerEntry, isBound: boolean): Wait | null {
  if (entry.outcome !== null) return null;
  if (isBound) return entry.wait;
  return { reason: "binding", since: toIsoInstant(entry.acceptedAt), deadline: null };
}

export function deriveState(
  entry: LedgerEntry,
  claimedRun: number | null,
  isBound: boolean,
): SubmissionState {
  if (entry.outcome !== null) return "settled";
  if (isJoined(entry)) return "joined";
  if (deriveWait(entry, isBound) !== null) return "waiting";
  return entry.queueSequence === claimedRun ? "running" : "queued";
}
