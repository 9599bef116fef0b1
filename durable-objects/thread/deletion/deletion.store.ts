// SQL of a thread's end: the tombstone in its row, and the rows that go, a bounded number at a time.
import { TombstoneSchema, type Tombstone } from "../../../shared/wire/thread.ts";
import type { Database } from "../../platform/database.ts";
import { positionOf } from "../position.ts";

/** Rows of one transaction: a row of the log is at most 2 MB, so this much is freed and journaled at once. */
const ROWS_PER_CHUNK = 64;

export class DeletionStore {
  readonly #database: Database;
  readonly #thread: number;

  constructor(database: Database, thread: number) {
    this.#database = database;
    this.#thread = thread;
  }

  /** Null for a thread that is there. */
  tombstone(): Tombstone | null {
    const text = this.#database.row<{ deleted: string | null }>(
      "SELECT deleted FROM threads WHERE number = ?",
      this.#thread,
    )?.deleted;
    return text === null || text === undefined ? null : TombstoneSchema.parse(JSON.parse(text));
  }

  /** Written before anything goes. A higher epoch refuses whatever an attempt still wants to write. */
  bury(tombstone: Tombstone): void {
    this.#database.run(
      "UPDATE threads SET deleted = ?, epoch = epoch + 1, claimedRun = NULL, claimedRunFirst = NULL, unboundUnder = NULL WHERE number = ?",
      JSON.stringify(tombstone),
      this.#thread,
    );
  }

  /** Deletes one chunk of what the thread owned; false when nothing was left. */
  clearChunk(): boolean {
    const gone = ["batches", "submissions"].flatMap((table) =>
      this.#database.rows(
        `DELETE FROM ${table} WHERE position IN (SELECT position FROM ${table} WHERE position BETWEEN ? AND ? LIMIT ${ROWS_PER_CHUNK}) RETURNING position`,
        positionOf(this.#thread, 0),
        positionOf(this.#thread + 1, 0) - 1,
      ),
    );
    return gone.length > 0;
  }
}
