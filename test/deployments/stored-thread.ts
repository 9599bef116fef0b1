// What a killed server left on the disk, read from a copy: workerd keeps an object as `<unique key>/<object id>.sqlite`, with its write-ahead
// log beside it. The id is a digest of the unique key and the object's name, so that a file is found by the same name on every machine.
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { z } from "zod";
import { UNIQUE_KEY } from "../server/server.ts";
import { readAlarm } from "../server/stored-threads.ts";

export interface StoredThread {
  /** Every table of ours, with all of its rows. */
  readonly tables: Readonly<Record<string, readonly Record<string, SQLOutputValue>[]>>;
  readonly alarmAt: number | null;
}

/** Of a folder whose server is gone. Throws where no object holds the thread. */
export function readStoredThread(storage: string, threadId: string): StoredThread {
  const folder = join(storage, UNIQUE_KEY);
  for (const file of readdirSync(folder)) {
    if (!/^[0-9a-f]{64}\.sqlite$/.test(file)) continue;
    const stored = onCopy(folder, file, (database) => ({
      tables: readTables(database),
      alarmAt: readAlarm(database),
    }));
    if (stored.tables["threads"]?.[0]?.["threadId"] === threadId) return stored;
  }
  throw new Error(`no object holds ${threadId}`);
}

function readTables(database: DatabaseSync): StoredThread["tables"] {
  const names = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(({ name }) => z.string().parse(name))
    .filter((name) => !name.startsWith("_cf_"));
  return Object.fromEntries(
    names.map((name) => [name, database.prepare(`SELECT * FROM ${name} ORDER BY 1`).all()]),
  );
}

/** Opening a file may write to it: what the next server finds stays as it was left. */
function onCopy<Read>(folder: string, file: string, read: (database: DatabaseSync) => Read): Read {
  const into = mkdtempSync(join(tmpdir(), "holdfast-stored-"));
  for (const name of [file, `${file}-wal`]) {
    if (existsSync(join(folder, name))) copyFileSync(join(folder, name), join(into, name));
  }
  const database = new DatabaseSync(join(into, file));
  try {
    return read(database);
  } finally {
    database.close();
    rmSync(into, { recursive: true });
  }
}
