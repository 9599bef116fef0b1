// What a client calls through: HTTP, or the RPC of a service binding. Both answer alike and throw `HoldfastError`.
import type { AgentList } from "../wire/agent-view.ts";
import type { AnswerOf } from "../wire/answers.ts";
import type { RequestOf, ThreadOperation } from "../wire/requests.ts";

/** The operations that both ways offer. */
export type ClientOperation = Exclude<
  ThreadOperation,
  "awaitSettlement" | "awaitProgress" | "cancelWait"
>;

/** Contract of both methods: rejects with `HoldfastError`, or with the signal's reason as soon as it aborts, whatever the other side does. */
export interface Transport {
  call<Operation extends ClientOperation>(
    operation: Operation,
    request: RequestOf<Operation>,
    signal: AbortSignal,
  ): Promise<AnswerOf<Operation>>;
  agents(signal: AbortSignal): Promise<AgentList>;
}
