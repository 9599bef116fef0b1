// SQL for the one row that a thread has: its epoch, and what is charged to the run it claimed last.
import type { EpochMillis } from "../../../shared/time.ts";
import type { Columns, Database } from "../../platform/database.ts";

export interface ThreadRow {
  readonly number: number;
  readonly threadId: string;
  readonly createdBy: string;
  readonly createdAt: EpochMillis;
  readonly epoch: number;
  readonly claimedRun: number | null;
  readonly claimedRunFirst: number | null;
  readonly charge: number;
  readonly chargedAt: number;
  readonly yieldedEpoch: number;
  /** The registry's key when work began to wait for a binding; null when none waits for one. */
  readonly unboundUnder: string | null;
  /** JSON of the tombstone (`deletion/deletion.store.ts`); null for a thread that is there. */
  readonly deleted: string | null;
  /** JSON of the recovery fault (`recovery/fault.store.ts`); null for a thread that can be read. */
  readonly fault: string | null;
}

/** What a claim changes, in one write. */
export interface Claim {
  readonly epoch: number;
  readonly claimedRun: number;
  readonly claimedRunFirst: number;
  readonly charge: number;
  readonly chargedAt: number;
}

export class ThreadRowStore {
  readonly #database: Database;
  readonly #thread: number;

  constructor(database: Database, thread: number) {
    this.#database = database;
    this.#thread = thread;
  }

  read(): ThreadRow | null {
    const row = this.#database.row<Columns<ThreadRow>>(
      "SELECT number, threadId, createdBy, createdAt, epoch, claimedRun, claimedRunFirst, charge, chargedAt, yieldedEpoch, unboundUnder, deleted, fault FROM threads WHERE number = ?",
      this.#thread,
    );
    return row ?? null;
  }

  create(threadId: string, createdBy: string, now: EpochMillis): void {
    this.#database.run(
      "INSERT INTO threads (number, threadId, createdBy, createdAt, epoch, claimedRun, claimedRunFirst, charge, chargedAt, yieldedEpoch) VALUES (?, ?, ?, ?, 0, NULL, NULL, 0, 0, 0)",
      this.#thread,
      threadId,
      createdBy,
      now,
    );
  }

  epoch(): number | null {
    return (
      this.#database.row<{ epoch: number }>(
        "SELECT epoch FROM threads WHERE number = ?",
        this.#thread,
      )?.epoch ?? null
    );
  }

  claim(claim: Claim): void {
    this.#database.run(
      "UPDATE threads SET epoch = ?, claimedRun = ?, claimedRunFirst = ?, charge = ?, chargedAt = ? WHERE number = ?",
      claim.epoch,
      claim.claimedRun,
      claim.claimedRunFirst,
      claim.charge,
      claim.chargedAt,
      this.#thread,
    );
  }

  /** Notes that the attempt of this epoch ended in order. */
  markYielded(epoch: number): void {
    this.#database.run("UPDATE threads SET yieldedEpoch = ? WHERE number = ?", epoch, this.#thread);
  }

  /** Notes under which registry work waits for a binding, or that none does any more. */
  noteUnbound(registryKey: string | null): void {
    this.#database.run(
      "UPDATE threads SET unboundUnder = ? WHERE number = ?",
      registryKey,
      this.#thread,
    );
  }

  /** Begins the charge of a run anew, if it is the run that was claimed last: a person asked for another try. */
  forgive(run: number): void {
    this.#database.run(
      "UPDATE threads SET charge = 0 WHERE number = ? AND claimedRun = ?",
      this.#thread,
      run,
    );
  }
}
