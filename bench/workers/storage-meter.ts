// Counts what an object asks of its storage: statements, rows, transactions and alarm writes. It shadows methods of the platform's own
// objects, so that the runtime under measurement stays as it is.

export interface StatementCounts {
  runs: number;
  rowsRead: number;
  rowsWritten: number;
}

export interface StorageCounts extends StatementCounts {
  /** Rows written by each transaction, in order. */
  transactions: number[];
  alarmsSet: number;
  alarmsDeleted: number;
  /** The same by statement, for profiles. */
  byStatement: Record<string, StatementCounts>;
}

export class StorageMeter {
  #counts = noCounts();

  constructor(storage: DurableObjectStorage) {
    this.#meterSql(storage.sql);
    const transactionSync = storage.transactionSync.bind(storage);
    shadow(storage, "transactionSync", (change: () => unknown) => {
      const counts = this.#counts;
      const before = counts.rowsWritten;
      try {
        return transactionSync(change);
      } finally {
        counts.transactions.push(counts.rowsWritten - before);
      }
    });
    const setAlarm = storage.setAlarm.bind(storage);
    shadow(storage, "setAlarm", (time: number) => {
      this.#counts.alarmsSet += 1;
      return setAlarm(time);
    });
    const deleteAlarm = storage.deleteAlarm.bind(storage);
    shadow(storage, "deleteAlarm", () => {
      this.#counts.alarmsDeleted += 1;
      return deleteAlarm();
    });
  }

  read(): StorageCounts {
    return structuredClone(this.#counts);
  }

  reset(): void {
    this.#counts = noCounts();
  }

  #meterSql(sql: SqlStorage): void {
    const exec = sql.exec.bind(sql);
    shadow(sql, "exec", (statement: string, ...bindings: unknown[]) => {
      const cursor = exec(statement, ...bindings);
      const add = this.#begin(statement, cursor);
      const toArray = cursor.toArray.bind(cursor);
      shadow(cursor, "toArray", () => {
        const rows = toArray();
        add();
        return rows;
      });
      return cursor;
    });
  }

  /** Adds what the cursor did so far; the returned function adds what it did since. */
  #begin(statement: string, cursor: SqlStorageCursor<Record<string, SqlStorageValue>>): () => void {
    const total = this.#counts;
    const own = (total.byStatement[statement] ??= noStatementCounts());
    total.runs += 1;
    own.runs += 1;
    let { rowsRead, rowsWritten } = { rowsRead: 0, rowsWritten: 0 };
    const add = (): void => {
      for (const counts of [total, own]) {
        counts.rowsRead += cursor.rowsRead - rowsRead;
        counts.rowsWritten += cursor.rowsWritten - rowsWritten;
      }
      ({ rowsRead, rowsWritten } = cursor);
    };
    add();
    return add;
  }
}

function shadow(target: object, method: string, value: unknown): void {
  Object.defineProperty(target, method, { value, configurable: true });
}

function noStatementCounts(): StatementCounts {
  return { runs: 0, rowsRead: 0, rowsWritten: 0 };
}

function noCounts(): StorageCounts {
  return {
    ...noStatementCounts(),
    transactions: [],
    alarmsSet: 0,
    alarmsDeleted: 0,
    byStatement: {},
  };
}
