// SQL for the lanes of several threads that share an object: which are due, and whose turn it is. The turn is kept in the first thread's row.
import type { Database } from "../platform/database.ts";
import { NATIVE_LANE, threadNumberOfLane } from "./due.ts";

export class NativeLanesStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The due lanes, the one behind the last that was granted first. */
  dueInTurn(now: number): string[] {
    const lanes = this.#database
      .rows<{ lane: string }>(
        "SELECT lane FROM due_queue WHERE dueAt <= ? AND (lane = ? OR lane GLOB ?)",
        now,
        NATIVE_LANE,
        `${NATIVE_LANE}:*`,
      )
      .map(({ lane }) => lane)
      .toSorted((left, right) => threadNumberOfLane(left) - threadNumberOfLane(right));
    const last = this.#lastTurn();
    const behind = lanes.filter((lane) => threadNumberOfLane(lane) > last);
    return [...behind, ...lanes.filter((lane) => threadNumberOfLane(lane) <= last)];
  }

  turn(threadNumber: number): void {
    this.#database.run("UPDATE due_queue SET cursor = ? WHERE lane = ?", threadNumber, NATIVE_LANE);
  }

  #lastTurn(): number {
    return (
      this.#database.row<{ cursor: number }>(
        "SELECT cursor FROM due_queue WHERE lane = ?",
        NATIVE_LANE,
      )?.cursor ?? 0
    );
  }
}
