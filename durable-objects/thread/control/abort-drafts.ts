// The records of an abort. Pure.
import { runIdOf } from "../../../shared/ids.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { planSettlement } from "../run/plan-settlement.ts";
import type { ControlFacts } from "./control-decision.ts";

/** The request, and, where no attempt is there to do it, the settlement in the same batch. */
export function abortDrafts(
  facts: ControlFacts,
  author: string,
  reason: string | null,
): RecordDraft[] {
  const { run, isLive } = facts;
  const { submissionId } = run;
  const settlement = isLive ? [] : planSettlement(run, { outcome: "aborted" });
  // An earlier request whose attempt was lost is settled by the next abort.
  if (run.abort !== null) return settlement;
  const request: RecordDraft = {
    type: "AbortRequested",
    submissionId,
    runId: runIdOf(submissionId),
    payload: { author, reason },
  };
  return [request, ...settlement];
}
