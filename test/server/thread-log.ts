// A thread's log as it was read so far, and what it must hold: contiguous sequences, records that never change, one settlement per
// submission, and an unknown outcome for every external call that a kill interrupted.
import type { RecordOf, ThreadRecord } from "../../shared/wire/records.ts";

export type ReportFault = (fault: string) => void;

/** External calls that the kill found with an intent and without a result, by operation id. */
export interface Interrupted {
  readonly operationId: string;
  readonly callId: string;
}

export class ThreadLog {
  readonly thread: string;
  readonly #lines: string[] = [];
  readonly settlements = new Map<string, RecordOf<"SubmissionSettled">[]>();
  readonly started = new Set<string>();

  constructor(thread: string) {
    this.thread = thread;
  }

  get tail(): number {
    return this.#lines.length;
  }

  /** Takes in the records past the tail. */
  extend(records: readonly ThreadRecord[], report: ReportFault): void {
    for (const record of records) {
      if (record.sequence !== this.tail + 1) {
        report(`${this.thread}: record ${record.sequence} follows ${this.tail}`);
      }
      this.#lines.push(JSON.stringify(record));
      if (record.type === "InputRecorded") {
        if (this.started.has(record.submissionId)) {
          report(`${this.thread}: the input of ${record.submissionId} is there twice`);
        }
        this.started.add(record.submissionId);
      }
      if (record.type === "SubmissionSettled") {
        const earlier = this.settlements.get(record.submissionId) ?? [];
        this.settlements.set(record.submissionId, [...earlier, record]);
      }
    }
  }

  /** A whole second reading must be the same. */
  compare(records: readonly ThreadRecord[], report: ReportFault): void {
    if (records.length !== this.tail) {
      report(`${this.thread}: ${records.length} records at the end, ${this.tail} before`);
    }
    for (const [index, record] of records.entries()) {
      if (this.#lines[index] === JSON.stringify(record)) continue;
      report(`${this.thread}: record ${index + 1} is not what it was`);
    }
  }
}

/** Which calls the kill interrupted, by the records that it left behind. */
export function selectInterrupted(
  records: readonly ThreadRecord[],
  killedAtMillis: number,
): Interrupted[] {
  const before = records.filter((record) => Date.parse(record.createdAt) <= killedAtMillis);
  const answered = new Set(
    before.flatMap((record) => (record.type === "ToolSettled" ? [record.payload.operationId] : [])),
  );
  return before
    .flatMap((record) => (record.type === "ToolsPrepared" ? record.payload.calls : []))
    .filter((call) => call.effect === "external" && !answered.has(call.operationId))
    .map(({ operationId, dispatch }) => ({
      operationId: operationNameOf(operationId, dispatch),
      callId: operationId,
    }));
}

/** The unknown outcomes in these records, by operation id. */
export function selectUnknown(records: readonly ThreadRecord[]): string[] {
  return records.flatMap((record) =>
    record.type === "ToolUnknown"
      ? [operationNameOf(record.payload.operationId, record.payload.dispatch)]
      : [],
  );
}

/** Written out here and not imported: the ids are part of what clients rely on. */
export function operationNameOf(callId: string, dispatch: number): string {
  return dispatch <= 1 ? callId : `${callId}.d${dispatch}`;
}

/** The call that an operation is about: what a tool sends as its idempotency key. */
export function callIdOf(operationId: string): string {
  return operationId.replace(/\.d\d+$/, "");
}
