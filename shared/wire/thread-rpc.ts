// The requests of a thread object's RPC methods: those of the operations, with the caller that the Worker authenticated.
import type { z } from "zod";
import { CallerSchema, type Caller } from "./access.ts";
import type { AnswerOf } from "./answers.ts";
import { RequestSchemas, type RequestOf, type ThreadOperation } from "./requests.ts";
import type { RpcResult } from "./rpc.ts";

function called<Shape extends z.core.$ZodLooseShape>(schema: z.ZodObject<Shape>) {
  return schema.extend({ caller: CallerSchema });
}

export const ThreadRpcSchemas = {
  submit: called(RequestSchemas.submit),
  getThread: called(RequestSchemas.getThread),
  getSubmission: called(RequestSchemas.getSubmission),
  listSubmissions: called(RequestSchemas.listSubmissions),
  awaitSettlement: called(RequestSchemas.awaitSettlement),
  awaitSettlementRecord: called(RequestSchemas.awaitSettlementRecord),
  readPage: called(RequestSchemas.readPage),
  awaitProgress: called(RequestSchemas.awaitProgress),
  events: called(RequestSchemas.events),
  cancelWait: called(RequestSchemas.cancelWait),
  abort: called(RequestSchemas.abort),
  listOperations: called(RequestSchemas.listOperations),
  decideOperations: called(RequestSchemas.decideOperations),
  explain: called(RequestSchemas.explain),
  usage: called(RequestSchemas.usage),
  verify: called(RequestSchemas.verify),
  repair: called(RequestSchemas.repair),
  deleteThread: called(RequestSchemas.deleteThread),
} as const satisfies Record<ThreadOperation, z.ZodType>;

export type ThreadRpcRequest<Operation extends ThreadOperation> = RequestOf<Operation> & {
  readonly caller: Caller;
};

/** A thread object as its stub offers it: every method answers with data. */
export type ThreadRpc = {
  [Operation in ThreadOperation]: (
    request: ThreadRpcRequest<Operation>,
  ) => Promise<RpcResult<AnswerOf<Operation>>>;
};
