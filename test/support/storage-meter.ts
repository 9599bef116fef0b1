// Counts what an object asks of its storage: statements, rows read and written, alarm writes. Exact, so it is asserted.
import { ThreadDriver } from "./thread-driver.ts";

export interface StorageCost {
  readonly statements: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly alarmWrites: number;
}

/** The cost of what `run` makes this thread's object do, its construction included. One metering at a time. */
export async function meter(
  thread: ThreadDriver,
  run: () => Promise<unknown>,
): Promise<StorageCost> {
  const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
  let alarmWrites = 0;
  // Patched from inside another object, so that the metered one is not woken by it: the classes are the same.
  const restore = await new ThreadDriver("meter").inObject((storage) => {
    const sql = prototypeOf(storage.sql);
    // oxlint-disable-next-line typescript/unbound-method -- called with its own `this` below
    const { exec } = storage.sql;
    const own = prototypeOf(storage);
    // oxlint-disable-next-line typescript/unbound-method -- as above
    const { setAlarm, deleteAlarm } = storage;
    Reflect.set(sql, "exec", function (this: SqlStorage, ...args: Parameters<typeof exec>) {
      const cursor = exec.apply(this, args);
      cursors.push(cursor);
      return cursor;
    });
    Reflect.set(own, "setAlarm", function (this: DurableObjectStorage, at: number) {
      alarmWrites += 1;
      return setAlarm.call(this, at);
    });
    Reflect.set(own, "deleteAlarm", function (this: DurableObjectStorage) {
      alarmWrites += 1;
      return deleteAlarm.call(this);
    });
    return () => {
      Reflect.set(sql, "exec", exec);
      Reflect.set(own, "setAlarm", setAlarm);
      Reflect.set(own, "deleteAlarm", deleteAlarm);
    };
  });
  try {
    await run();
  } finally {
    restore();
  }
  return thread.inObject(() => ({
    statements: cursors.length,
    rowsRead: cursors.reduce((sum, cursor) => sum + cursor.rowsRead, 0),
    rowsWritten: cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0),
    alarmWrites,
  }));
}

function prototypeOf(value: object): object {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (typeof prototype !== "object" || prototype === null) throw new Error("no prototype");
  return prototype;
}
