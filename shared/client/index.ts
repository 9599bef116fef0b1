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
export type { ServiceRpc } from "../wire/service.ts";
