// SQL for the number of the last event of a recovery fault that the host was told: a column of the thread's own row that nothing else reads.
import type { Database } from "../../platform/database.ts";

export class FaultStore {
  readonly #database: Database;
  readonly #thread: number;

  constructor(database: Database, thread: number) {
    this.#database = database;
    this.#thread = thread;
  }

  /** The number of the first of `count` events that come next. */
  takeSequences(count: number): number {
    const row = this.#database.row<{ faultEvents: number }>(
      "SELECT faultEvents FROM threads WHERE number = ?",
      this.#thread,
    );
    const first = (row?.faultEvents ?? 0) + 1;
    this.#database.run(
      "UPDATE threads SET faultEvents = ? WHERE number = ?",
      first + count - 1,
      this.#thread,
    );
    return first;
  }
}
