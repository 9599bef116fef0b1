// A head that is being claimed, and what came of it.
import type { Binding } from "../../agents/registry.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import type { ThreadRow } from "../ledger/thread-row.store.ts";
import type { LiveRun } from "./live-run.ts";

export interface Head {
  /** The thread's row as it was before this claim. */
  readonly thread: ThreadRow;
  readonly entry: LedgerEntry;
  readonly binding: Binding;
  /** Input of later submissions waits to join its run. */
  readonly hasJoiners: boolean;
  /** The lane's revision that the wave saw. */
  readonly waveRevision: number;
}

export type TakenUp =
  | { readonly kind: "live"; readonly live: LiveRun }
  /** So many attempts ended without a new record that another is not worth it. */
  | { readonly kind: "exhausted"; readonly attempts: number }
  /** It is settled now. */
  | { readonly kind: "settled" };
