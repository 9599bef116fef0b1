// The warnings that a commit calls for, in the batch of what it records: a warning costs no row of its own, and a crash leaves both or
// neither (CTX-13). Pure.
import type { EpochMillis } from "../../../shared/time.ts";
import type { AgentPolicy } from "../../../shared/wire/policy.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { findBudgetWarnings } from "../../context/budget-warnings.ts";
import { usageAfter } from "./fold-usage.ts";
import type { RunState } from "./run-state.ts";

/** The drafts, with the warnings before the settlement where they bring one: nothing follows a settlement. */
export function withBudgetWarnings(
  state: RunState,
  policy: AgentPolicy,
  drafts: readonly RecordDraft[],
  now: EpochMillis,
): readonly RecordDraft[] {
  const { start, submissionId, runId } = state;
  if (drafts.length === 0 || start === null) return drafts;
  const spent = {
    usage: drafts.reduce((usage, draft) => usageAfter(state, usage, draft), state.usage),
    elapsedMillis: Math.max(0, now - start.startedAt),
    maxDurationMillis: start.deadlineAt - start.startedAt,
  };
  const warnings = findBudgetWarnings(policy, spent, state.warned).map((payload): RecordDraft => ({
    type: "BudgetWarned",
    submissionId,
    runId,
    payload,
  }));
  if (warnings.length === 0) return drafts;
  const end = drafts.findIndex((draft) => draft.type === "SubmissionSettled");
  return end < 0 ? [...drafts, ...warnings] : drafts.toSpliced(end, 0, ...warnings);
}
