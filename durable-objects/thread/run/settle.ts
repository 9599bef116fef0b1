// The end of a submission: its settlement record, the ledger's outcome and the due queue, in one transaction (RUN-11).
import { assert } from "../../../shared/assert.ts";
import type { SettlementPayload } from "../../../shared/wire/settlement.ts";
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { NATIVE_LANE } from "../../scheduler/due.ts";
import { selectHead } from "../ledger/select-head.ts";
import type { ThreadCore } from "../thread-core.ts";
import type { Ending } from "./decide-step.ts";
import type { LiveRun } from "./live-run.ts";
import { planSettlement } from "./plan-settlement.ts";

/** Settles the attempt's run with records that end in its settlement; a final response may share their batch. */
export function settleRun(
  core: ThreadCore,
  live: LiveRun,
  settlement: readonly RecordDraft[],
): void {
  core.commitAsAttempt(live, "settle", settlement, (appended) => {
    const last = appended.records.at(-1)?.record;
    assert(last?.type === "SubmissionSettled", "a settlement ends with its record");
    const { queueSequence, first, waveRevision } = live;
    const { payload, sequence } = last;
    closeSubmission(core, { queueSequence, payload, sequence, first }, waveRevision);
  });
  const tail = core.journal.tail().sequence;
  // Where other runs' records lie in between, as after a park, only the log knows the order.
  if (live.isContiguousTo(tail)) core.history.keep(live.history, live.asHistory(), tail);
}

export function settleWith(core: ThreadCore, live: LiveRun, ending: Ending): void {
  settleRun(core, live, planSettlement(live.state, ending));
}

/** What the ledger keeps of a settlement. */
export interface Closing {
  readonly queueSequence: number;
  readonly payload: SettlementPayload;
  /** The settlement record, and the run's first. */
  readonly sequence: number;
  readonly first: number;
}

/**
 * The ledger's side of a settlement. Call inside its transaction. When nothing can run any more, the due queue goes idle with it, at the
 * revision that the running wave saw, so that a newer enrolment stays; outside a wave the caller sees to the queue.
 */
export function closeSubmission(
  core: ThreadCore,
  { queueSequence, payload, sequence, first }: Closing,
  waveRevision: number | null,
): void {
  const isFirst = core.ledger.settle(
    queueSequence,
    payload.outcome,
    sequence,
    first,
    payload.usage,
  );
  assert(isFirst, "a submission settles once");
  if (waveRevision === null) return;
  const next = selectHead(core.ledger.owed(), queueSequence, core.clock.now());
  if (next.kind === "none") {
    const idle = { reason: "idle", dueAt: null } as const;
    core.dueQueue.acknowledge(NATIVE_LANE, waveRevision, idle);
  }
}
