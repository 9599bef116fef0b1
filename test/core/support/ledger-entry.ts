// A submission as the ledger keeps it, for tests of what is decided about it.
import type { LedgerEntry } from "../../../durable-objects/thread/ledger/ledger.store.ts";
import { T0 } from "./builders.ts";

/** Queued, and never run. */
export function ledgerEntry(
  queueSequence: number,
  changes: Partial<LedgerEntry> = {},
): LedgerEntry {
  return {
    queueSequence,
    submissionId: `sub-${queueSequence}-aaaaaaaaaaaaaaaa`,
    agentId: "agent",
    acceptedAt: T0,
    wait: null,
    firstSequence: null,
    outcome: null,
    settledSequence: null,
    host: null,
    joinedAt: null,
    ...changes,
  };
}
