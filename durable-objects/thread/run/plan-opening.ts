// The records that a run, and a log, begin with. Pure but for the author's own functions, which run here once (CTX-04).
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { utf8Length } from "../../../shared/bytes.ts";
import { durationMillis } from "../../../shared/define/duration.ts";
import { runIdOf } from "../../../shared/ids.ts";
import { MAX_CONTENT_BYTES } from "../../../shared/limits.ts";
import { toIsoInstant, type EpochMillis } from "../../../shared/time.ts";
import type { Allowances } from "../../../shared/wire/policy.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import type { Binding } from "../../agents/registry.ts";
import type { ThreadRow } from "../ledger/thread-row.store.ts";
import { planSettlement } from "./plan-settlement.ts";
import { emptyRun } from "./run-state.ts";

/** The record that opens a log (THR-13). */
export function createThreadDrafts(thread: ThreadRow, first: number): RecordDraft[] {
  if (first > 1) return [];
  const { threadId, createdBy } = thread;
  return [{ type: "ThreadCreated", payload: { threadId, createdBy } }];
}

/** The records a run starts with. Instructions and prompt are the author's functions: if one throws, the run fails as it starts. */
export function planOpening(
  submissionId: string,
  binding: Binding,
  { input, allowances }: { readonly input: JsonValue; readonly allowances: Allowances | null },
  historyFrom: number,
  now: EpochMillis,
): RecordDraft[] {
  const runId = runIdOf(submissionId);
  const recorded: RecordDraft = {
    type: "InputRecorded",
    submissionId,
    runId,
    payload: { kind: "user", input, ...(allowances !== null && { allowances }) },
  };
  const { agent, digests } = binding;
  try {
    const opening = agent.open(input);
    if (utf8Length(JSON.stringify(opening)) > MAX_CONTENT_BYTES) {
      throw new RangeError("the instructions and the prompt do not fit a record");
    }
    const deadlineAt = now + durationMillis(agent.policy.maxDuration);
    return [
      recorded,
      {
        type: "RunStarted",
        submissionId,
        runId,
        payload: {
          agentId: agent.id,
          revision: agent.revision,
          digests,
          instructions: opening.instructions,
          prompt: opening.prompt,
          deadlineAt: toIsoInstant(deadlineAt),
          historyFrom,
        },
      },
    ];
  } catch {
    // The error may hold the input; the failure says where to look and no more.
    const failure = {
      tag: "PreparationFailed" as const,
      message: `The instructions or inputPrompt of agent ${agent.id} threw an error, or are larger than a record can be.`,
    };
    return [
      recorded,
      ...planSettlement(emptyRun(submissionId), { outcome: "failed", failure, limit: null }),
    ];
  }
}
