// What the history checker looks at beside the log, and what it finds.
import type { ThreadRecord } from "../wire/records.ts";
import type { Receipt } from "../wire/submission.ts";

/** What the world knows beside the object. */
export interface Evidence {
  /** Receipts that callers hold, by idempotency key, in the order they came. */
  readonly receipts: readonly { readonly key: string; readonly receipt: Receipt }[];
  /** Handler executions by operation id, as the stubs counted them. */
  readonly executions: ReadonlyMap<string, number>;
  /** SHA-256 of a text's UTF-8 bytes, in lower-case hex. */
  readonly sha256: (text: string) => string;
  /** The highest sequence that any caller has read: it must still be there. */
  readonly acknowledgedTail: number;
  /** All work must have ended or wait with a reason. */
  readonly isQuiet: boolean;
  /** Tools whose calls need no intent; where they are not named, intents are not asked for. */
  readonly readTools?: ReadonlySet<string>;
}

/** One broken promise: the number of its rule in QUA-02, and what was found. */
export interface Violation {
  readonly rule: number;
  readonly found: string;
}

export function violation(rule: number, found: string): Violation {
  return { rule, found };
}

/** The settlement of a submission, or null while it is owed. */
export function settlementOf(records: readonly ThreadRecord[], submissionId: string) {
  const record = records.find(
    (candidate) =>
      candidate.type === "SubmissionSettled" && candidate.submissionId === submissionId,
  );
  return record?.type === "SubmissionSettled" ? record.payload : null;
}
