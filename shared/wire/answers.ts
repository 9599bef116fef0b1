// What every operation answers. With `requests.ts` the whole interface of a thread, whichever way it is called.
import type { DecideResult, OperationList } from "./operations.ts";
import type { Explanation } from "./explain.ts";
import type { RecordPage } from "./progress.ts";
import type { ThreadOperation } from "./requests.ts";
import type { Settlement, SettlementMetadata } from "./settlement.ts";
import type {
  AbortResult,
  RepairResult,
  SubmissionList,
  SubmissionView,
  SubmitResult,
} from "./submission.ts";
import type { ThreadView, Tombstone } from "./thread.ts";
import type { ThreadUsage } from "./usage.ts";
import type { Verification } from "./verification.ts";

interface Answers {
  submit: SubmitResult;
  getThread: ThreadView;
  /** As it is once it settled, or after the timeout. */
  getSubmission: SubmissionView;
  listSubmissions: SubmissionList;
  /** Outcome, usage and failure without the output; null when it is still owed after the timeout. */
  awaitSettlement: SettlementMetadata | null;
  /** The terminal record's content, the output included; null when it is still owed after the timeout. */
  awaitSettlementRecord: Settlement | null;
  readPage: RecordPage;
  /** Comes when a record past `after` is there, or after the timeout; the caller reads what it is. */
  awaitProgress: { tail: number };
  /** Server-sent events as UTF-8 text (`events.ts`). */
  events: ReadableStream<Uint8Array>;
  cancelWait: { cancelled: boolean };
  abort: AbortResult;
  listOperations: OperationList;
  decideOperations: DecideResult;
  explain: Explanation;
  usage: ThreadUsage;
  /** Of an object, one page of the log; of a deployment, all of it. */
  verify: Verification;
  repair: RepairResult;
  deleteThread: Tombstone;
}

export type AnswerOf<Operation extends ThreadOperation> = Answers[Operation];
