// The end of a thread (OBS-06): a tombstone first, then, as alarm work, everything that it owned. The tombstone stays, so that no late alarm or
// request makes the thread anew under its id.
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import { toIsoInstant } from "../../../shared/time.ts";
import type { DeleteRequest, Tombstone } from "../../../shared/wire/thread.ts";
import type { ThreadOperation } from "../../../shared/wire/requests.ts";
import { letOthersRun } from "../../platform/let-others-run.ts";
import { logEvent } from "../../platform/log.ts";
import type { EventBudget } from "../../scheduler/native-lanes.ts";
import type { Due } from "../../scheduler/due.ts";
import type { ThreadCore } from "../thread-core.ts";

/**
 * Buries the thread; the answer of a repeat is that of the first. Throws `WorkOwed` while submissions are owed, unless forced: then they end
 * with the thread, without an outcome, and an attempt that runs is stopped.
 */
export function deleteThread(
  core: ThreadCore,
  author: string,
  { force, reason }: DeleteRequest,
): Tombstone {
  if (core.tombstone !== null) return core.tombstone;
  const owed = core.ledger.owed();
  const [first] = owed;
  if (first !== undefined && !force) {
    throw new HoldfastError(
      "WorkOwed",
      `${owed.length} ${owed.length === 1 ? "submission is" : "submissions are"} owed. Nothing was deleted.`,
      { fields: { owed: owed.length, submissionId: first.submissionId } },
    );
  }
  const tombstone: Tombstone = {
    deletedAt: toIsoInstant(core.clock.now()),
    deletedBy: author,
    owed: owed.length,
    ...(reason === undefined ? {} : { reason }),
  };
  core.database.transact(() => {
    core.row.bury(tombstone);
    core.enrolNative("deleted");
    core.failpoints.hit("delete:inside");
  });
  core.tombstone = tombstone;
  core.live?.stop("deleted");
  logEvent("warn", "thread-deleted", { threadId: core.threadId, author, owed: owed.length });
  core.committed([], true);
  core.failpoints.hit("delete:after");
  return tombstone;
}

/**
 * The native wave of a thread that was deleted: chunk by chunk, each in a transaction of its own, so that a crash goes on where it was. Without
 * the pauses all of them would reach the disk as one, nobody would be answered before the last, and the clock would stand still.
 */
export async function tearDown(core: ThreadCore, budget: EventBudget): Promise<Due> {
  for (;;) {
    await letOthersRun();
    const now = core.clock.now();
    if (now >= budget.yieldAt) return { reason: "yield", dueAt: now };
    const hasMore = core.database.transact(() => {
      const cleared = core.deletion.clearChunk();
      if (cleared) core.failpoints.hit("teardown:inside");
      return cleared;
    });
    core.journal.forgetTail();
    if (!hasMore) return { reason: "idle", dueAt: null };
    core.failpoints.hit("teardown:after");
  }
}

/** What a thread that was deleted still answers. */
const ANSWERED: ReadonlySet<ThreadOperation | null> = new Set([
  "getThread",
  "explain",
  "deleteThread",
]);

/** Throws `ThreadDeleted`: nothing else of the thread is answered or accepted any more. */
export function refuseDeleted(
  { tombstone }: ThreadCore,
  operation: ThreadOperation | null = null,
): void {
  if (tombstone === null || ANSWERED.has(operation)) return;
  throw new HoldfastError("ThreadDeleted", "The thread was deleted; its id stays used.", {
    fields: { deletedAt: tombstone.deletedAt },
  });
}
