// One page of the check of a thread's log (REC-09). It reads, and repairs nothing.
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import type { ChainPoint, LogFault, Verification } from "../../../shared/wire/verification.ts";
import { verifyRows } from "../journal/verify-chain.ts";
import type { ThreadCore } from "../thread-core.ts";

/** Throws `InvalidCursor` where no row ends at `from`: nothing could be told from the rows behind it. */
export function verifyLog(core: ThreadCore, from: ChainPoint): Verification {
  const { journal, threadId } = core;
  if (!journal.isRowEnd(from.sequence)) {
    throw new HoldfastError("InvalidCursor", "`from` is no place where a check of this log ended.");
  }
  const tail = journal.tail().sequence;
  const rows = journal.readRowsAfter(from.sequence);
  const { verified, fault } = verifyRows(from, rows);
  const isThrough = rows.length === 0 || verified.sequence >= tail;
  return {
    threadId,
    tail,
    verified,
    fault: fault ?? (isThrough ? findMissingEnd(core, verified.sequence) : null),
  };
}

/** A chain does not tell that its newest rows are gone: the ledger and the thread's row know records that have to be there. */
function findMissingEnd({ journal, ledger, row }: ThreadCore, through: number): LogFault | null {
  const known = Math.max(
    journal.tail().sequence,
    ledger.lastSettledSequence(),
    row.read()?.claimedRunFirst ?? 0,
  );
  return known > through ? { sequence: through + 1, problem: "gap" } : null;
}
