// Which definition of this deployment runs an owed submission.
import type { Binding } from "../../agents/registry.ts";
import { requireCommand } from "../ledger/find-submission.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import type { ThreadCore } from "../thread-core.ts";

/** Null where this deployment has none, or more than one and nothing selects (THR-09). */
export function resolveBinding(core: ThreadCore, entry: LedgerEntry): Binding | null {
  const { registry, threadId } = core;
  const { agentId, submissionId, queueSequence } = entry;
  if (!registry.hasSelection) return registry.only(agentId);
  const { principal, input, metadata } = requireCommand(core, queueSequence);
  return registry.resolve({ threadId, submissionId, agentId, principal, input, metadata });
}
