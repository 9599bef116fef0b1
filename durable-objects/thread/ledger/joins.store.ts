// SQL for input that joins a run of another submission: columns of the submission's own row.
import type { Database } from "../../platform/database.ts";
import { positionOf } from "../position.ts";

export class JoinsStore {
  readonly #database: Database;
  readonly #thread: number;

  constructor(database: Database, thread: number) {
    this.#database = database;
    this.#thread = thread;
  }

  /** Notes that the input is canonical in its host's run, as record `joinedAt`. */
  join(queueSequence: number, joinedAt: number): void {
    this.#database.run(
      "UPDATE submissions SET joinedAt = ? WHERE position = ? AND outcome IS NULL",
      joinedAt,
      positionOf(this.#thread, queueSequence),
    );
  }

  /** Gives an input its place in the queue back: it gets a run of its own. */
  leave(queueSequence: number): void {
    this.#database.run(
      "UPDATE submissions SET host = NULL WHERE position = ? AND outcome IS NULL",
      positionOf(this.#thread, queueSequence),
    );
  }
}
