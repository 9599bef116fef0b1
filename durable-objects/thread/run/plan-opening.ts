// The records that a run, and a log, begin with. Pure but for the author's own functions, which run here once (CTX-04).
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { utf8Length } from "../../../shared/bytes.ts";
import type { Agent, RunOpening } from "../../../shared/define/agent.ts";
import { durationMillis } from "../../../shared/define/duration.ts";
import { runIdOf } from "../../../shared/ids.ts";
import { MAX_CONTENT_BYTES } from "../../../shared/limits.ts";
import { toIsoInstant, type EpochMillis } from "../../../shared/time.ts";
import type { UserMessage } from "../../../shared/wire/messages.ts";
import type { Allowances } from "../../../shared/wire/policy.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import type { Binding } from "../../agents/registry.ts";
import type { ThreadRow } from "../ledger/thread-row.store.ts";
import { asJsonMessage } from "./project-messages.ts";
import { planSettlement } from "./plan-settlement.ts";
import { emptyRun } from "./run-state.ts";

/** The record that opens a log (THR-13). */
export function createThreadDrafts(thread: ThreadRow, first: number): RecordDraft[] {
  if (first > 1) return [];
  const { threadId, createdBy } = thread;
  return [{ type: "ThreadCreated", payload: { threadId, createdBy } }];
}

/** What a run is made from. */
export interface OpeningCommand {
  readonly input: JsonValue;
  readonly allowances: Allowances | null;
  readonly metadata: JsonValue;
  /** The record of the input, where it is canonical already: it joined a run that ended without a response to it. */
  readonly inputAt: number | null;
}

/** An input made canonical, in its own run or in the run that it joins. */
export function inputDraft(
  submissionId: string,
  runId: string,
  kind: "user" | "joined",
  command: Pick<OpeningCommand, "input" | "allowances" | "metadata">,
  prompt: UserMessage[] | null = null,
): RecordDraft {
  const { input, allowances, metadata } = command;
  return {
    type: "InputRecorded",
    submissionId,
    runId,
    payload: {
      kind,
      input,
      ...(allowances !== null && { allowances }),
      ...(metadata !== null && { metadata }),
      ...(prompt !== null && { prompt }),
    },
  };
}

/** Runs the author's functions. Throws what they throw, and where their result does not fit a record. */
export function openBounded(agent: Agent, input: JsonValue): RunOpening {
  const opening = agent.open(input);
  if (utf8Length(JSON.stringify(opening)) > MAX_CONTENT_BYTES) {
    throw new RangeError("the instructions and the prompt do not fit a record");
  }
  return opening;
}

/** The records a run starts with. Instructions and prompt are the author's functions: if one throws, the run fails as it starts. */
export function planOpening(
  submissionId: string,
  binding: Binding,
  command: OpeningCommand,
  historyFrom: number,
  now: EpochMillis,
): RecordDraft[] {
  const runId = runIdOf(submissionId);
  const { input, inputAt } = command;
  const recorded = inputAt === null ? [inputDraft(submissionId, runId, "user", command)] : [];
  const { agent, digests } = binding;
  try {
    const opening = openBounded(agent, input);
    const deadlineAt = now + durationMillis(agent.policy.maxDuration);
    return [
      ...recorded,
      {
        type: "RunStarted",
        submissionId,
        runId,
        payload: {
          agentId: agent.id,
          revision: agent.revision,
          digests,
          instructions: opening.instructions,
          // What the model is asked stands in the run's own records, wherever the input is.
          prompt: inputAt === null ? opening.prompt : (opening.prompt ?? [asJsonMessage(input)]),
          deadlineAt: toIsoInstant(deadlineAt),
          historyFrom,
          ...(inputAt === null ? {} : { inputAt }),
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
      ...recorded,
      ...planSettlement(emptyRun(submissionId), { outcome: "failed", failure, limit: null }),
    ];
  }
}
