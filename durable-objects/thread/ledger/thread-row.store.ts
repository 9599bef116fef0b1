// SQL for the one row that a thread has: its epoch, what is charged to the run it claimed last, its recovery fault, and its tombstone.
import type { EpochMillis } from "../../../shared/time.ts";
import { FaultSchema, type Fault } from "../../../shared/wire/fault.ts";
import { TombstoneSchema, type Tombstone } from "../../../shared/wire/thread.ts";
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
  /** JSON of the tombstone; null for a thread that is there. */
  readonly deleted: string | null;
  /** JSON of the recovery fault; null for a thread that can be read. */
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
  /** This instance is the row's only writer, so it knows the row until it writes; a transaction that rolled back makes it look again. */
  #known: { readonly row: ThreadRow; readonly rollbacks: number } | null = null;

  constructor(database: Database, thread: number) {
    this.#database = database;
    this.#thread = thread;
  }

  read(): ThreadRow | null {
    const { rollbacks } = this.#database;
    if (this.#known?.rollbacks === rollbacks) return this.#known.row;
    const row = this.#database.row<Columns<ThreadRow>>(
      "SELECT number, threadId, createdBy, createdAt, epoch, claimedRun, claimedRunFirst, charge, chargedAt, yieldedEpoch, unboundUnder, deleted, fault FROM threads WHERE number = ?",
      this.#thread,
    );
    this.#known = row === undefined ? null : { row, rollbacks };
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

  /** As it is stored, whatever is known: a commit stands or falls with it. */
  epoch(): number | null {
    return (
      this.#database.row<{ epoch: number }>(
        "SELECT epoch FROM threads WHERE number = ?",
        this.#thread,
      )?.epoch ?? null
    );
  }

  claim(claim: Claim): void {
    this.#change(
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
    this.#change("UPDATE threads SET yieldedEpoch = ? WHERE number = ?", epoch, this.#thread);
  }

  /** Notes under which registry work waits for a binding, or that none does any more. */
  noteUnbound(registryKey: string | null): void {
    this.#change("UPDATE threads SET unboundUnder = ? WHERE number = ?", registryKey, this.#thread);
  }

  /** Begins the charge of a run anew, if it is the run that was claimed last: a person asked for another try. */
  forgive(run: number): void {
    this.#change(
      "UPDATE threads SET charge = 0 WHERE number = ? AND claimedRun = ?",
      this.#thread,
      run,
    );
  }

  /** Marks the thread as deleted. A higher epoch refuses whatever an attempt still wants to write. */
  bury(tombstone: Tombstone): void {
    this.#change(
      "UPDATE threads SET deleted = ?, epoch = epoch + 1, claimedRun = NULL, claimedRunFirst = NULL, unboundUnder = NULL WHERE number = ?",
      JSON.stringify(tombstone),
      this.#thread,
    );
  }

  /** Null for a thread that is there. */
  tombstone(): Tombstone | null {
    const text = this.read()?.deleted ?? null;
    return text === null ? null : TombstoneSchema.parse(JSON.parse(text));
  }

  noteFault(fault: Fault | null): void {
    this.#change(
      "UPDATE threads SET fault = ? WHERE number = ?",
      fault === null ? null : JSON.stringify(fault),
      this.#thread,
    );
  }

  /** Null for a thread that can be read. */
  fault(): Fault | null {
    const text = this.read()?.fault ?? null;
    return text === null ? null : FaultSchema.parse(JSON.parse(text));
  }

  #change(statement: string, ...bindings: SqlStorageValue[]): void {
    this.#known = null;
    this.#database.run(statement, ...bindings);
  }
}
