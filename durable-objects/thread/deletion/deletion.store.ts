// SQL of a thread's end: the rows that go, a bounded number at a time.
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
