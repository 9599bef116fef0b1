// The RPC interface that other Workers bind to: the operations by name, with results and errors as data.
import type { AgentList } from "./agent-view.ts";
import type { AnswerOf } from "./answers.ts";
import type { RequestOf, ThreadOperation } from "./requests.ts";
import type { RpcResult } from "./rpc.ts";

export type ServiceRpc = {
  [Operation in ThreadOperation]: (
    request: RequestOf<Operation>,
  ) => Promise<RpcResult<AnswerOf<Operation>>>;
} & { agents: () => Promise<RpcResult<AgentList>> };
