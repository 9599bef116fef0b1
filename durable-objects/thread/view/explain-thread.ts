// Why a thread is in its state and what would move it (OBS-04). Writes nothing.
import { toIsoInstant, type EpochMillis } from "../../../shared/time.ts";
import type { ExplainedLane, Explanation } from "../../../shared/wire/explain.ts";
import type { LaneRow } from "../../scheduler/lanes.store.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import { isLive, readRunIfReadable } from "../run/read-run.ts";
import { isJoined } from "../ledger/select-head.ts";
import type { ThreadCore } from "../thread-core.ts";
import { listOperations } from "./list-operations.ts";
import { renderSubmission, renderSummary } from "./render-explanation.ts";
import { readSnapshot, showFault, stateOf } from "./thread-snapshot.ts";

export function explainThread(core: ThreadCore): Explanation {
  const { owed, row, head, state } = readSnapshot(core);
  const lane = core.dueQueue.read(core.nativeLane);
  const submissions = owed.map((entry) => {
    const { state: ofEntry, wait = null, host = null } = stateOf(core, entry, row.claimedRun);
    const hasJoined = owed.some((each) => each.host === entry.queueSequence && isJoined(each));
    const { threadId } = core;
    const deadlineAt = deadlineOf(core, entry);
    const now = core.clock.now();
    const facts = { threadId, state: ofEntry, wait, head, host, hasJoined, deadlineAt, now };
    return renderSubmission(entry, facts);
  });
  const alarm = {
    reason: lane?.reason ?? "idle",
    dueAt: lane === null || lane.dueAt === null ? null : toIsoInstant(lane.dueAt),
  };
  return {
    threadId: core.threadId,
    state,
    summary: renderSummary(state, submissions),
    queueDepth: owed.length,
    tail: core.journal.tail().sequence,
    ...activeRunOf(core),
    submissions,
    operations: listOperations(core, owed),
    ...(core.fault === null ? {} : { fault: showFault(core.fault) }),
    lanes: core.lanes.rows().flatMap(explainLane),
    alarm,
  };
}

/** Reads the runs of those owed submissions alone that run or wait: at most the queue's depth. */
function deadlineOf(core: ThreadCore, entry: LedgerEntry): EpochMillis | null {
  if (entry.wait === null && !isLive(core, entry)) return null;
  return readRunIfReadable(core, entry)?.start?.deadlineAt ?? null;
}

function explainLane({ lane: id, dueAt, reason, unchanged }: LaneRow): ExplainedLane[] {
  if (dueAt === null) return [];
  const state = reason === "lane-parked" ? "parked" : "due";
  return [{ id, state, dueAt: toIsoInstant(dueAt), unchangedWaves: unchanged }];
}

function activeRunOf(core: ThreadCore): Pick<Explanation, "activeRun"> {
  const { live } = core;
  if (live === null || live.state.start === null) return {};
  const { state } = live;
  return {
    activeRun: {
      submissionId: state.submissionId,
      runId: state.runId,
      turn: state.turns.length,
      attempt: live.epoch,
      deadlineAt: toIsoInstant(live.state.start.deadlineAt),
      usage: state.usage,
      inFlight: [...live.inFlight].map(([operationId, { toolName, since, progress }]) => ({
        operationId,
        toolName,
        since: toIsoInstant(since),
        ...(progress === undefined ? {} : { progress }),
      })),
    },
  };
}
