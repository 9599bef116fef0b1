// The threads of a server that is down, read from its files by SQL past all of the runtime's own reading.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { decodeBatch } from "../../durable-objects/thread/journal/record-codec.ts";
import { readDump, type Dump } from "../../shared/testing/dump.store.ts";

export interface StoredThread {
  readonly threadId: string;
  readonly dump: Dump;
}

const ThreadIdSchema = z.array(z.object({ threadId: z.string() })).max(1);
/** Where workerd keeps an object's own alarm, in nanoseconds. */
const AlarmSchema = z.array(z.object({ value: z.bigint() })).max(1);
const ALARM_QUERY = "SELECT value FROM _cf_METADATA WHERE key = 1 AND typeof(value) = 'integer'";

/** Every thread below workerd's storage folder. */
export async function readStoredThreads(storage: string): Promise<StoredThread[]> {
  const threads: StoredThread[] = [];
  for (const path of databasesOf(storage)) {
    const thread = await withDatabase(path, readThread);
    if (thread !== null) threads.push(thread);
  }
  return threads;
}

const PageCountSchema = z.array(z.object({ bytes: z.int() })).length(1);

/** What the objects' databases take, with what stands in their write-ahead logs. */
export async function storedBytes(storage: string): Promise<number> {
  let sum = 0;
  for (const path of databasesOf(storage)) {
    sum += await withDatabase(path, async (database) => {
      const query =
        "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size";
      return PageCountSchema.parse(database.prepare(query).all())[0]?.bytes ?? 0;
    });
  }
  return sum;
}

function databasesOf(storage: string): string[] {
  return readdirSync(storage, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".sqlite") && !path.endsWith("metadata.sqlite"))
    .map((path) => join(storage, path));
}

/** Only reads, so that a server that starts on these files finds them as the kill left them. */
async function withDatabase<T>(path: string, read: (database: DatabaseSync) => Promise<T>) {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return await read(database);
  } finally {
    database.close();
  }
}

async function readThread(database: DatabaseSync): Promise<StoredThread | null> {
  const query = (sql: string): unknown[] => database.prepare(sql).all();
  // An object that was asked about a thread and never given one has no tables.
  if (query("SELECT 1 FROM sqlite_master WHERE name = 'threads'").length === 0) return null;
  const [row] = ThreadIdSchema.parse(query("SELECT threadId FROM threads"));
  if (row === undefined) return null;
  const dump = await readDump({
    sql: { exec: (sql) => ({ toArray: () => query(sql) }) },
    getAlarm: () => Promise.resolve(readAlarm(database)),
  });
  const records = dump.batches.flatMap((batch) =>
    decodeBatch(batch.first, batch.last, batch.records),
  );
  return { threadId: row.threadId, dump: { ...dump, records } };
}

function readAlarm(database: DatabaseSync): number | null {
  if (
    database.prepare("SELECT 1 FROM sqlite_master WHERE name = '_cf_METADATA'").all().length === 0
  )
    return null;
  const statement = database.prepare(ALARM_QUERY);
  statement.setReadBigInts(true);
  const [row] = AlarmSchema.parse(statement.all());
  return row === undefined ? null : Number(row.value / 1_000_000n);
}
