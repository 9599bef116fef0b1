// SQL for which threads an object holds.
import type { Database } from "../../platform/database.ts";

export interface PlacedThread {
  readonly number: number;
  readonly threadId: string;
  /** Something of it has to be looked at as the object wakes: work that waits for a binding. */
  readonly isUnbound: boolean;
}

export class ThreadsStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The first threads by number, two at most: whether there is one, or more than one. */
  firstTwo(): PlacedThread[] {
    return this.#list("ORDER BY number LIMIT 2");
  }

  /** Those with work that waits for a binding. */
  unbound(): PlacedThread[] {
    return this.#list("WHERE unboundUnder IS NOT NULL ORDER BY number");
  }

  find(threadId: string): PlacedThread | null {
    return this.#list("WHERE threadId = ?", threadId)[0] ?? null;
  }

  at(number: number): PlacedThread | null {
    return this.#list("WHERE number = ?", number)[0] ?? null;
  }

  nextNumber(): number {
    const row = this.#database.row<{ last: number | null }>(
      "SELECT max(number) AS last FROM threads",
    );
    return (row?.last ?? 0) + 1;
  }

  #list(rest: string, ...bindings: SqlStorageValue[]): PlacedThread[] {
    return this.#database
      .rows<{ number: number; threadId: string; unboundUnder: string | null }>(
        `SELECT number, threadId, unboundUnder FROM threads ${rest}`,
        ...bindings,
      )
      .map(({ number, threadId, unboundUnder }) => ({
        number,
        threadId,
        isUnbound: unboundUnder !== null,
      }));
  }
}
