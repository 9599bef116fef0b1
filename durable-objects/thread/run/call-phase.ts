// The states of one tool call, and the only moves between them. Pure; the fold uses this table, and a test walks all of it.

export type CallPhase =
  | "declared"
  | "awaiting-approval"
  | "approved"
  | "denied"
  | "prepared"
  | "unknown"
  | "cleared"
  | "settled";

export type CallEvent =
  | "approval-requested"
  | "approved"
  | "denied"
  | "prepared"
  | "lost"
  | "cleared"
  | "settled";

type Move = CallPhase | "refused";

/** `prepared` means that the outside may have been touched; from there only a result or an unknown outcome leads on. `cleared` is an
 * unknown outcome that a person allowed to run again: it needs a new intent. */
export const CALL_MOVES: Record<CallPhase, Record<CallEvent, Move>> = {
  declared: {
    "approval-requested": "awaiting-approval",
    approved: "approved",
    denied: "denied",
    prepared: "prepared",
    lost: "refused",
    cleared: "refused",
    settled: "settled",
  },
  "awaiting-approval": {
    "approval-requested": "refused",
    approved: "approved",
    denied: "denied",
    prepared: "refused",
    lost: "refused",
    cleared: "refused",
    settled: "settled",
  },
  approved: {
    "approval-requested": "refused",
    approved: "refused",
    denied: "refused",
    prepared: "prepared",
    lost: "refused",
    cleared: "refused",
    settled: "settled",
  },
  denied: {
    "approval-requested": "refused",
    approved: "refused",
    denied: "refused",
    prepared: "refused",
    lost: "refused",
    cleared: "refused",
    settled: "settled",
  },
  prepared: {
    "approval-requested": "refused",
    approved: "refused",
    denied: "refused",
    prepared: "refused",
    lost: "unknown",
    cleared: "refused",
    settled: "settled",
  },
  unknown: {
    "approval-requested": "refused",
    approved: "refused",
    denied: "refused",
    prepared: "refused",
    lost: "refused",
    cleared: "cleared",
    settled: "settled",
  },
  cleared: {
    "approval-requested": "refused",
    approved: "refused",
    denied: "refused",
    prepared: "prepared",
    lost: "refused",
    cleared: "refused",
    settled: "settled",
  },
  settled: {
    "approval-requested": "refused",
    approved: "refused",
    denied: "refused",
    prepared: "refused",
    lost: "refused",
    cleared: "refused",
    settled: "refused",
  },
};
