// The request of every operation, as one object: what RPC methods take, what the client sends, and what a thread object gets with the caller
// added. HTTP spreads the same fields over path, headers, query and body.
import { z } from "zod";
import { PrintableIdSchema, ThreadIdSchema } from "../ids.ts";
import { EventsRequestSchema } from "./events.ts";
import { DecideRequestSchema } from "./operations.ts";
import { ReadPageRequestSchema, TimeoutMillisSchema, WaitIdSchema } from "./progress.ts";
import {
  AbortRequestSchema,
  ListSubmissionsRequestSchema,
  RepairRequestSchema,
  SubmitRequestSchema,
} from "./submission.ts";
import { DeleteRequestSchema } from "./thread.ts";
import { CHAIN_START, ChainPointSchema } from "./verification.ts";

const OfThreadSchema = z.strictObject({ threadId: ThreadIdSchema });
const OfSubmissionSchema = OfThreadSchema.extend({ submissionId: PrintableIdSchema });

/** A bounded wait. Its id, chosen by the caller, is what `cancelWait` ends it by. */
const WAITING = {
  timeoutMillis: TimeoutMillisSchema.default(0),
  waitId: WaitIdSchema.optional(),
};

export const RequestSchemas = {
  /** With a timeout, the answer comes with the submission once it settled. */
  submit: OfThreadSchema.extend({
    idempotencyKey: PrintableIdSchema,
    request: SubmitRequestSchema,
    ...WAITING,
  }),
  getThread: OfThreadSchema,
  getSubmission: OfSubmissionSchema.extend(WAITING),
  listSubmissions: OfThreadSchema.extend({
    page: ListSubmissionsRequestSchema.prefault({}),
  }),
  awaitSettlement: OfSubmissionSchema.extend(WAITING),
  awaitSettlementRecord: OfSubmissionSchema.extend(WAITING),
  readPage: OfThreadSchema.extend({ page: ReadPageRequestSchema.prefault({}) }),
  awaitProgress: OfThreadSchema.extend({ after: z.int().nonnegative(), ...WAITING }),
  events: OfThreadSchema.extend(EventsRequestSchema.shape),
  cancelWait: OfThreadSchema.extend({ waitId: WaitIdSchema }),
  abort: OfSubmissionSchema.extend({ request: AbortRequestSchema.prefault({}) }),
  listOperations: OfThreadSchema,
  decideOperations: OfThreadSchema.extend({ request: DecideRequestSchema }),
  explain: OfThreadSchema,
  usage: OfThreadSchema,
  /** From the beginning, or from where an earlier check ended. */
  verify: OfThreadSchema.extend({ from: ChainPointSchema.default(CHAIN_START) }),
  repair: OfThreadSchema.extend({ request: RepairRequestSchema }),
  deleteThread: OfThreadSchema.extend({ request: DeleteRequestSchema.prefault({}) }),
} as const;

export type ThreadOperation = keyof typeof RequestSchemas;
export type RequestOf<Operation extends ThreadOperation> = z.input<
  (typeof RequestSchemas)[Operation]
>;

/** How long a request may wait before it is answered, in milliseconds; 0 for one that does not wait. */
export function waitMillisOf(request: RequestOf<ThreadOperation>): number {
  return "timeoutMillis" in request ? (request.timeoutMillis ?? 0) : 0;
}
