// What the log of a deployment says about records as they are committed: one JSON object a line for what an operator wants to know, or, for
// a developer who watches, one readable line for each. Identities, codes and counts; never what anybody said (TRC-02). Pure but for the writing.
import type { JsonValue } from "../../shared/canonical-json.ts";
import { isOwnCall } from "../../shared/wire/messages.ts";
import type { ThreadRecord } from "../../shared/wire/records.ts";
import { logEvent, type LogLevel } from "../platform/log.ts";
import type { StoredRecord } from "./journal/journal.store.ts";

export type RecordLog = (stored: StoredRecord) => void;

/** @param isReadable a line for a person's eyes for every record, as `npm start` shows them */
export function makeRecordLog(threadId: string, isReadable: boolean): RecordLog {
  return isReadable
    ? ({ record }) => console.info(renderRecord(threadId, record))
    : ({ record, epoch }) => {
        const line = describeRecord(record);
        if (line === null) return;
        const attempt = epoch === null ? {} : { attempt: epoch };
        logEvent(line.level, line.event, {
          threadId,
          ...identitiesOf(record),
          ...attempt,
          ...line.fields,
        });
      };
}

interface Line {
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: Readonly<Record<string, JsonValue>>;
}

/** The records that an operator acts on, or counts; null for those that are the ordinary course of a run. */
export function describeRecord(record: ThreadRecord): Line | null {
  switch (record.type) {
    case "ModelCallFailed": {
      const { failure, reason, httpStatus = null, retryAt } = record.payload;
      return warn("model-call-failed", { failure, reason, httpStatus, retryAt });
    }
    case "ModelInterrupted":
      return warn("model-call-interrupted", {
        supersededAttempt: record.payload.supersededEpoch,
      });
    case "ToolUnknown": {
      const { operationId, toolName, reason } = record.payload;
      return warn("tool-outcome-unknown", { operationId, toolName, reason });
    }
    case "BudgetWarned":
      return warn("budget-warned", { ...record.payload });
    case "ApprovalRequested": {
      const { operationId, toolName } = record.payload;
      return { level: "info", event: "approval-requested", fields: { operationId, toolName } };
    }
    case "SubmissionSettled": {
      const { outcome, failure, limit = null, exhausted = null, usage } = record.payload;
      const fields = { outcome, tag: failure?.tag ?? null, limit, exhausted, usage: { ...usage } };
      return {
        level: outcome === "failed" ? "warn" : "info",
        event: "submission-settled",
        fields,
      };
    }
    default:
      return null;
  }
}

function warn(event: string, fields: Line["fields"]): Line {
  return { level: "warn", event, fields };
}

function identitiesOf(record: ThreadRecord): Readonly<Record<string, JsonValue>> {
  return {
    ...("submissionId" in record ? { submissionId: record.submissionId } : {}),
    ...("runId" in record ? { runId: record.runId } : {}),
    ...("turn" in record ? { turn: record.turn } : {}),
    sequence: record.sequence,
  };
}

/** `12:00:01.250  customer-17 #7  ModelResponded  turn 2: 1 call, 120 + 30 tokens` */
export function renderRecord(threadId: string, record: ThreadRecord): string {
  const time = record.createdAt.slice(11, 23);
  const turn = "turn" in record ? `turn ${record.turn}` : "";
  const says = [turn, sayRecord(record)].filter((part) => part !== "").join(": ");
  const line = `${time}  ${threadId} #${record.sequence}  ${record.type}  ${says}`.trimEnd();
  // A model names the tools that it calls: none of its words may begin a line, or steer a terminal.
  return line.replaceAll(/\p{Cc}/gu, "?");
}

function sayRecord(record: ThreadRecord): string {
  switch (record.type) {
    case "RunStarted":
      return `${record.payload.agentId}, until ${record.payload.deadlineAt}`;
    case "ModelResponded": {
      const { content, usage, finishReason } = record.payload;
      const calls = content.filter(isOwnCall).length;
      const what = calls === 0 ? finishReason : `${calls} ${calls === 1 ? "call" : "calls"}`;
      return `${what}, ${usage.inputTokens} + ${usage.outputTokens} tokens`;
    }
    case "ModelCallFailed": {
      const { reason, httpStatus, retryAt } = record.payload;
      const status = httpStatus === undefined ? "" : ` ${httpStatus}`;
      return `${reason}${status}, ${retryAt === null ? "for good" : `again at ${retryAt}`}`;
    }
    case "ModelInterrupted":
      return `attempt ${record.payload.supersededEpoch} was lost`;
    case "ToolsPrepared":
      return record.payload.calls.map(({ toolName }) => toolName).join(", ");
    case "StepRecorded": {
      const { toolName, step, output } = record.payload;
      return `${toolName} ${step} ${output === undefined ? "begins" : "is done"}`;
    }
    case "ToolSettled":
      return `${record.payload.toolName} ${record.payload.outcome}`;
    case "ToolUnknown":
      return `${record.payload.toolName} may have happened (${record.payload.reason})`;
    case "ApprovalRequested":
      return `${record.payload.toolName} asks a person`;
    case "OperationDecided":
      return `${record.payload.toolName} ${record.payload.decision}`;
    case "BudgetWarned": {
      const { dimension, used, limit } = record.payload;
      return `${dimension} ${used} of ${limit}`;
    }
    case "RepairAnnotated":
      return record.payload.action;
    case "SubmissionSettled": {
      const { outcome, failure, limit, exhausted } = record.payload;
      const why = [failure?.tag, limit, exhausted].filter((part) => part !== undefined);
      return [outcome, ...why].join(", ");
    }
    case "ThreadCreated":
    case "InputRecorded":
    case "AbortRequested":
      return "";
  }
}
