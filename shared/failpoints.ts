// Named crash points. In production every one is a no-op; a test hands in an implementation that throws, or aborts the object.

/** Every place where a crash is tested: `:before`, `:inside` (in the transaction, after its writes) and `:after` its commit. */
export const FAILPOINTS = [
  "migrate:inside",
  "migrate:after",
  "submit:before",
  "submit:inside",
  "submit:after",
  "claim:before",
  "claim:inside",
  "claim:after",
  "model:before-call",
  "model:after-call",
  "turn:inside",
  "turn:after",
  "model-failure:inside",
  "model-failure:after",
  "join:inside",
  "join:after",
  "interruption:inside",
  "interruption:after",
  "unknown:inside",
  "unknown:after",
  "approval-request:inside",
  "approval-request:after",
  "intents:inside",
  "intents:after",
  "tool:before-handler",
  "tool:after-handler",
  "step:inside",
  "step:after",
  "results:inside",
  "results:after",
  "settle:inside",
  "settle:after",
  "park:inside",
  "park:after",
  "unbound:inside",
  "unbound:after",
  "expire:inside",
  "expire:after",
  "yield:inside",
  "yield:after",
  "charge:inside",
  "charge:after",
  "finish-pass:before",
  "finish-pass:inside",
  "finish-pass:after",
  "abort:inside",
  "abort:after",
  "decide:inside",
  "decide:after",
  "retry:inside",
  "retry:after",
  "delete:inside",
  "delete:after",
  "teardown:inside",
  "teardown:after",
  "fault:inside",
  "fault:after",
  "lane:inside",
  "lane:after",
  "rearm:inside",
] as const;

export type Failpoint = (typeof FAILPOINTS)[number];

/** Contract: returns, or throws to simulate a crash at this point. */
export interface Failpoints {
  hit(point: Failpoint): void;
}

export const NO_FAILPOINTS: Failpoints = { hit: () => undefined };
