// Tells the host of tool results that were failures and that the run went on with. Content-free: identities and the kind of failure (TOOL-12).
import type { ToolOutcome } from "../../shared/wire/records.ts";
import { errorName, logEvent } from "../platform/log.ts";
import type { StoredRecord } from "./journal/journal.store.ts";

export interface ToolFailure {
  readonly threadId: string;
  readonly submissionId: string;
  readonly runId: string;
  readonly turn: number;
  readonly operationId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly outcome: Extract<ToolOutcome, "failure" | "timeout" | "invalid" | "unavailable">;
}

/** Contract: observes, once per failed result that was committed; what it throws or rejects with is logged by its class alone, and changes
 * nothing. A crash right behind the commit loses the notice: the record is the truth. */
export type OnToolFailure = (failure: ToolFailure) => void | Promise<void>;

export function observeFailure(
  onToolFailure: OnToolFailure,
  threadId: string,
  { record }: StoredRecord,
): void {
  if (record.type !== "ToolSettled") return;
  const { outcome, operationId, toolCallId, toolName } = record.payload;
  if (!isFailure(outcome)) return;
  const { submissionId, runId, turn } = record;
  const call = { operationId, toolCallId, toolName, outcome };
  void tell(onToolFailure, { threadId, submissionId, runId, turn, ...call });
}

function isFailure(outcome: ToolOutcome): outcome is ToolFailure["outcome"] {
  switch (outcome) {
    case "failure":
    case "timeout":
    case "invalid":
    case "unavailable":
      return true;
    case "success":
    case "denied":
    case "budget-rejected":
      return false;
  }
}

async function tell(onToolFailure: OnToolFailure, failure: ToolFailure): Promise<void> {
  try {
    await onToolFailure(failure);
  } catch (error) {
    const { threadId, operationId } = failure;
    logEvent("error", "on-tool-failure-failed", { threadId, operationId, error: errorName(error) });
  }
}
