// The requests of a thread object's RPC methods. The Worker authenticated the caller; `principal` is who it found.
import { z } from "zod";
import { PrincipalSchema, PrintableIdSchema, ThreadIdSchema } from "../../shared/ids.ts";
import { DecideRequestSchema } from "../../shared/wire/operations.ts";
import {
  ReadPageRequestSchema,
  TimeoutMillisSchema,
  WaitIdSchema,
} from "../../shared/wire/progress.ts";
import {
  AbortRequestSchema,
  RetryRequestSchema,
  SubmitRequestSchema,
} from "../../shared/wire/submission.ts";

const AddressedSchema = z.object({ threadId: ThreadIdSchema, principal: PrincipalSchema });
const OfSubmissionSchema = AddressedSchema.extend({ submissionId: PrintableIdSchema });

export const ThreadRpcSchemas = {
  submit: AddressedSchema.extend({
    idempotencyKey: PrintableIdSchema,
    request: SubmitRequestSchema,
    timeoutMillis: TimeoutMillisSchema.default(0),
  }),
  getSubmission: OfSubmissionSchema.extend({ timeoutMillis: TimeoutMillisSchema.default(0) }),
  awaitSettlement: OfSubmissionSchema.extend({
    timeoutMillis: TimeoutMillisSchema,
    waitId: WaitIdSchema.optional(),
  }),
  readPage: AddressedSchema.extend({ page: ReadPageRequestSchema }),
  awaitProgress: AddressedSchema.extend({
    after: z.int().nonnegative(),
    timeoutMillis: TimeoutMillisSchema,
    waitId: WaitIdSchema.optional(),
  }),
  cancelWait: AddressedSchema.extend({ waitId: WaitIdSchema }),
  abort: OfSubmissionSchema.extend({ request: AbortRequestSchema }),
  listOperations: AddressedSchema,
  decideOperations: AddressedSchema.extend({ request: DecideRequestSchema }),
  retry: AddressedSchema.extend({ request: RetryRequestSchema }),
  explain: AddressedSchema,
} as const;

export type ThreadRpcRequest<Method extends keyof typeof ThreadRpcSchemas> = z.input<
  (typeof ThreadRpcSchemas)[Method]
>;
