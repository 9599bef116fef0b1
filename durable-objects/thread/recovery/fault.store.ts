// SQL of a thread's recovery fault: beside the log, in the thread's own row, with the number of the last event that the host was told.
import { FaultSchema, type Fault } from "../../../shared/wire/fault.ts";
import type { Database } from "../../platform/database.ts";

export class FaultStore {
  readonly #database: Database;
  readonly #thread: number;

  constructor(database: Database, thread: number) {
    this.#database = database;
    this.#thread = thread;
  }

  /** Null for a thread that can be read. */
  read(): Fault | null {
    const text = this.#row()?.fault;
    return text === null || text === undefined ? null : FaultSchema.parse(JSON.parse(text));
  }

  write(fault: Fault | null): void {
    this.#database.run(
      "UPDATE threads SET fault = ? WHERE number = ?",
      fault === null ? null : JSON.stringify(fault),
      this.#thread,
    );
  }

  /** The number of the first of `count` events that come next. */
  takeSequences(count: number): number {
    const first = (this.#row()?.faultEvents ?? 0) + 1;
    this.#database.run(
      "UPDATE threads SET faultEvents = ? WHERE number = ?",
      first + count - 1,
      this.#thread,
    );
    return first;
  }

  #row(): { fault: string | null; faultEvents: number } | undefined {
    return this.#database.row<{ fault: string | null; faultEvents: number }>(
      "SELECT fault, faultEvents FROM threads WHERE number = ?",
      this.#thread,
    );
  }
}
