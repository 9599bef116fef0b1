// A thread as the demo shows it: the typed client, with the records printed as their events come.
import {
  holdfastClient,
  type Operation,
  type ThreadHandle,
  type ThreadRecord,
} from "../../shared/client/index.ts";

export function openThread(baseUrl: string, threadId: string): ThreadHandle {
  // Patient: the server is killed and started again in the middle.
  const retry = { maxRetries: 200, baseMillis: 100, capMillis: 500 };
  return holdfastClient({ baseUrl, token: "holdfast-dev", retry }).thread(threadId);
}

/** Prints new records until one of them fits; returns its sequence, from which the next look goes on. */
export async function follow(
  thread: ThreadHandle,
  after: number,
  fits: (record: ThreadRecord) => boolean,
): Promise<number> {
  for await (const event of thread.events({ after, deltas: false })) {
    if (event.event !== "record") continue;
    const record = event.data;
    console.log(`  ${`${record.sequence}`.padStart(3)}  ${describe(record)}`);
    if (fits(record)) return record.sequence;
  }
  throw new Error(`the events of ${thread.threadId} ended`);
}

/** The operation of that kind, as soon as it is listed. */
export async function operationOf(
  thread: ThreadHandle,
  kind: Operation["kind"],
): Promise<Operation> {
  for (;;) {
    const found = (await thread.operations()).find((operation) => operation.kind === kind);
    if (found !== undefined) return found;
  }
}

function describe(record: ThreadRecord): string {
  switch (record.type) {
    case "ModelResponded": {
      const parts = record.payload.content.map((part) =>
        part.type === "tool-call" ? `calls ${part.toolName}` : part.type,
      );
      return `ModelResponded     turn ${record.turn}: ${parts.join(", ")}`;
    }
    case "ToolsPrepared":
      return `ToolsPrepared      ${record.payload.calls.map((call) => call.toolName).join(", ")}`;
    case "ToolSettled":
      return `ToolSettled        ${record.payload.toolName}: ${record.payload.outcome}`;
    case "ToolUnknown":
      return `ToolUnknown        ${record.payload.toolName}: ${record.payload.reason}`;
    case "ApprovalRequested":
      return `ApprovalRequested  ${record.payload.toolName}`;
    case "OperationDecided":
      return `OperationDecided   ${record.payload.decision} by ${record.payload.author}: ${record.payload.reason}`;
    case "SubmissionSettled":
      return `SubmissionSettled  ${record.payload.outcome}`;
    default:
      return record.type;
  }
}
