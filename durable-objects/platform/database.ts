// One object's SQLite: typed statements and synchronous transactions. Everything that commits together happens inside one `transact`.
import { InvariantViolation } from "../../shared/assert.ts";

/** A transaction callback must not be asynchronous: the platform would commit at its first await, and roll nothing back afterwards. */
type Synchronous<T> = T extends PromiseLike<unknown> ? never : unknown;

/** A row interface as the columns of a statement. */
export type Columns<Row> = { [Name in keyof Row]: Row[Name] & SqlStorageValue };

export class Database {
  readonly #storage: DurableObjectStorage;
  #depth = 0;
  #rollbacks = 0;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** All rows of a statement. `Row` names the columns; the stores are the only callers. At most 100 bindings (platform limit). */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the platform's own signature: SQL has no types to infer from
  rows<Row extends Record<string, SqlStorageValue>>(
    statement: string,
    ...bindings: SqlStorageValue[]
  ): Row[] {
    return this.#storage.sql.exec<Row>(statement, ...bindings).toArray();
  }

  /** The first row, or undefined. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as above
  row<Row extends Record<string, SqlStorageValue>>(
    statement: string,
    ...bindings: SqlStorageValue[]
  ): Row | undefined {
    return this.rows<Row>(statement, ...bindings)[0];
  }

  /** Runs a statement for its effect. */
  run(statement: string, ...bindings: SqlStorageValue[]): void {
    this.#storage.sql.exec(statement, ...bindings);
  }

  /** How many transactions of this instance rolled back: what was remembered before the last one may be wrong. */
  get rollbacks(): number {
    return this.#rollbacks;
  }

  /** The size of the object's database file in bytes. */
  get sizeBytes(): number {
    return this.#storage.sql.databaseSize;
  }

  /**
   * Runs `change` in one transaction and returns its result; a throw rolls everything back, alarms included. A callback that returns a
   * promise is a type error, and where the type was lost it throws inside the transaction, so that nothing of it is kept. Transactions
   * do not nest: a caller that needs two changes together writes them in one.
   */
  transact<T>(change: (() => T) & (() => Synchronous<T>)): T {
    if (this.#depth > 0) throw new InvariantViolation("transactions do not nest");
    this.#depth += 1;
    try {
      return this.#storage.transactionSync(() => {
        const result: T = change();
        if (isThenable(result)) {
          // Its rejection, if one comes, belongs to the violation that is thrown here.
          void Promise.resolve(result).catch(() => undefined);
          throw new InvariantViolation("a transaction callback returned a promise");
        }
        return result;
      });
    } catch (error) {
      this.#rollbacks += 1;
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    "then" in value &&
    typeof value.then === "function"
  );
}
