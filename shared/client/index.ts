// What `holdfast/client` offers: runs in browsers, Node and Workers.
export {
  holdfastClient,
  type Cancellable,
  type ClientOptions,
  type HoldfastClient,
  type SettlementOf,
  type SubmitOptions,
  type ThreadHandle,
} from "./client.ts";
export type { FollowedEvent } from "./read-events.ts";
export type { InputOf, OutputOf } from "../define/agent.ts";
export { HoldfastError } from "../errors/holdfast-error.ts";
export type { ErrorCode } from "../errors/codes.ts";
export type { AgentView } from "../wire/agent-view.ts";
export type { Explanation } from "../wire/explain.ts";
export type { Decision, DecisionKind, Operation } from "../wire/operations.ts";
export type { RecordOf, RecordType, ThreadRecord } from "../wire/records.ts";
export type { Settlement } from "../wire/settlement.ts";
export type { Receipt, SubmissionState, SubmissionView, Wait } from "../wire/submission.ts";
export type { ThreadView } from "../wire/thread.ts";
export type { RunUsage, ThreadUsage, Usage } from "../wire/usage.ts";
export type { ChainPoint, LogFault, Verification } from "../wire/verification.ts";
export type { ServiceRpc } from "../wire/entrypoint.ts";
