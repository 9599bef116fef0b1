// What a control is decided from, and what is decided.
import type { ErrorCode } from "../../../shared/errors/codes.ts";
import type { SchemaFault } from "../../../shared/errors/holdfast-error.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import type { RunState } from "../run/run-state.ts";

export interface ControlFacts {
  /** The run as the log has it; one that was never started for a submission that is queued. */
  readonly run: RunState;
  /** An attempt of this instance works on it: it settles the run itself. */
  readonly isLive: boolean;
  /** Parked after too many attempts without a new record. */
  readonly isExhausted: boolean;
  /** An attempt was made at it, also where its records cannot tell. */
  readonly wasClaimed: boolean;
  /** The thread's epoch. */
  readonly epoch: number;
  /** A live attempt runs the call or rejected it: no decision changes that any more, though no record may say so yet. */
  readonly isDispatched: (operationId: string) => boolean;
}

export type ControlDecision =
  | {
      readonly kind: "commit";
      readonly drafts: readonly RecordDraft[];
      readonly effect: "dequeued" | "signalled" | "applied" | "resumed";
      /** Operations that this answers: the wait ends when none is left. */
      readonly answered: readonly string[];
      /** A note on the unknown outcome of a settled run. */
      readonly annotation?: { readonly operationId: string; readonly decisionDigest: string };
    }
  /** The same command was carried out before, or there is nothing to do: nothing is written. */
  | {
      readonly kind: "unchanged";
      readonly effect: "already-settled" | "signalled" | "replayed" | "not-parked";
    }
  | Refusal;

export interface Refusal {
  readonly kind: "refused";
  readonly code: ErrorCode;
  readonly detail: string;
  /** Faults of the command, below the part of the request that holds it. */
  readonly errors?: readonly SchemaFault[];
}
