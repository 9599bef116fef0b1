// What a submission does where the thread has work that is not parked (RUN-09). Pure.
import type { OnBusy } from "../../../shared/wire/submission.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import { isJoined } from "../ledger/select-head.ts";

export type BusyDecision =
  | { readonly kind: "enqueue" }
  /** It goes into the head's run at that run's next turn boundary. */
  | { readonly kind: "join"; readonly host: LedgerEntry }
  | { readonly kind: "refuse"; readonly head: LedgerEntry }
  /** The head is aborted with this admission. Work behind it keeps its place before the new one. */
  | { readonly kind: "interrupt"; readonly head: LedgerEntry };

/**
 * @param head the submission whose turn it is, whether it runs, waits, or is about to start: what a caller sees as busy must not depend on
 * the moment between an admission and its claim. Undefined where all that is owed is parked, and nothing stands in the way.
 */
export function decideBusy(
  onBusy: OnBusy,
  head: LedgerEntry | undefined,
  agentId: string,
): BusyDecision {
  if (head === undefined) return { kind: "enqueue" };
  switch (onBusy) {
    case "enqueue":
      return { kind: "enqueue" };
    case "join":
      // Input that another run waits to settle with cannot be joined in turn.
      return head.agentId === agentId && head.host === null
        ? { kind: "join", host: head }
        : { kind: "enqueue" };
    case "reject":
      return { kind: "refuse", head };
    case "interrupt":
      // Its host waits for a person, and is not what runs.
      return isJoined(head) ? { kind: "enqueue" } : { kind: "interrupt", head };
  }
}
