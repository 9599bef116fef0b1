// Which definition of this deployment runs an owed submission.
import { must } from "../../../shared/assert.ts";
import type { JsonValue } from "../../../shared/canonical-json.ts";
import type { Binding } from "../../agents/registry.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import type { ThreadCore } from "../thread-core.ts";

/** Null where this deployment has none, or more than one and nothing selects (THR-09). */
export function resolveBinding(core: ThreadCore, entry: LedgerEntry): Binding | null {
  const { registry, threadId } = core;
  const { agentId, submissionId, queueSequence } = entry;
  if (!registry.hasSelection) return registry.only(agentId);
  const command = must(core.ledger.command(queueSequence), "an owed submission has its input");
  const input: JsonValue = JSON.parse(command.input);
  const { principal, metadata } = command;
  return registry.resolve({ threadId, submissionId, agentId, principal, input, metadata });
}
