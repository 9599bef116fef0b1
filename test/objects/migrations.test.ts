// An object whose tables were made by earlier code: this code opens it, brings its tables up to date, and finds its work where it was.
import { afterEach, describe, expect, it } from "vitest";
import { encodeUsage } from "../../shared/wire/usage.ts";
import { must } from "../../shared/assert.ts";
import { migrations } from "../../migrations/thread/bundle.ts";
import { resetOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

afterEach(resetOptions);

const TABLES = ["threads", "submissions", "batches", "due_queue"] as const;

type Row = Record<string, SqlStorageValue>;

async function tablesOf(thread: ThreadDriver): Promise<Record<string, Row[]>> {
  return thread.inObject(({ sql }) =>
    Object.fromEntries(
      TABLES.map((table) => [table, sql.exec(`SELECT * FROM ${table}`).toArray()]),
    ),
  );
}

async function appliedTo(thread: ThreadDriver): Promise<Row[]> {
  return thread.inObject(({ sql }) =>
    sql.exec("SELECT tag, digest FROM schema_migrations ORDER BY number").toArray(),
  );
}

/** Puts the object's rows into tables as the first migration alone made them, and lets the object go. */
async function takeBack(thread: ThreadDriver): Promise<void> {
  const rows = await tablesOf(thread);
  const first = must(migrations[0], "the first migration");
  await thread.inObject((storage) => {
    const { sql } = storage;
    storage.transactionSync(() => {
      for (const table of [...TABLES, "lane_envelopes", "schema_migrations"])
        sql.exec(`DROP TABLE ${table}`);
      for (const statement of first.statements) sql.exec(statement);
      sql.exec(
        "CREATE TABLE schema_migrations (number INTEGER PRIMARY KEY, tag TEXT NOT NULL, digest TEXT NOT NULL, appliedAt INTEGER NOT NULL)",
      );
      sql.exec(
        "INSERT INTO schema_migrations (tag, digest, appliedAt) VALUES (?, ?, ?)",
        first.tag,
        first.digest,
        world.now,
      );
      for (const table of TABLES) {
        const columns = sql
          .exec<{ name: string }>(`SELECT name FROM pragma_table_info('${table}')`)
          .toArray()
          .map(({ name }) => name);
        for (const row of rows[table] ?? []) {
          sql.exec(
            `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
            ...columns.map((column) => row[column] ?? null),
          );
        }
      }
    });
  });
  await thread.evict();
}

describe("an object of the first release", () => {
  async function firstRelease() {
    const thread = new ThreadDriver("migrated");
    const settled = await thread.run([{ calls: [{ tool: "act" }] }, { text: "done" }]);
    const { receipt } = await thread.submit([{ calls: [{ tool: "guarded" }] }, { text: "ok" }]);
    await thread.waitingFor(receipt.submissionId, "approval");
    await thread.quiet();
    const before = {
      tables: await tablesOf(thread),
      records: await thread.records(),
      list: await thread.list(),
      operations: await thread.operations(),
      alarm: await thread.alarmAt(),
    };
    await takeBack(thread);
    return { thread, settled, asking: receipt.submissionId, before };
  }

  it("is migrated when it is opened, with every row in its place", async () => {
    const { thread, before } = await firstRelease();
    expect(await appliedTo(thread)).toEqual(migrations.map(({ tag, digest }) => ({ tag, digest })));
    const tables = await tablesOf(thread);
    expect(tables).toEqual({
      ...before.tables,
      // What the first release did not keep.
      submissions: before.tables["submissions"]?.map((row) => ({ ...row, usage: null })),
    });
    expect(await thread.alarmAt()).toBe(before.alarm);
    await thread.evict();
    expect(await tablesOf(thread)).toEqual(tables);
  });

  it("reads its log, its list, its settlement and its operations as before", async () => {
    const { thread, settled, before } = await firstRelease();
    expect(await thread.records()).toEqual(before.records);
    expect(await thread.list()).toEqual(before.list);
    expect(await thread.operations()).toEqual(before.operations);
    const [first] = before.list.submissions;
    expect((await thread.submission(first?.submissionId ?? "")).settlement).toEqual(settled);
    expect(await thread.usage()).toMatchObject({ settled: 1, owed: [{}] });
  });

  it("goes on: its open work is decided, new work is admitted, and old keys still replay", async () => {
    const { thread, asking, before } = await firstRelease();
    const [operation] = before.operations;
    await thread.decide(operation?.operationId ?? "", "edit", { arguments: { value: "edited" } });
    expect(await thread.settlement(asking)).toMatchObject({ outcome: "completed" });
    const replay = await thread.submit([{ calls: [{ tool: "guarded" }] }, { text: "ok" }], {
      key: "key-2",
    });
    expect(replay).toMatchObject({ replayed: true, receipt: { submissionId: asking } });
    expect(await thread.run([{ text: "new" }])).toMatchObject({ output: "new" });
    await thread.quiet();
    const [, second, third] = (await thread.dump()).submissions;
    for (const row of [second, third]) {
      const { usage } = await thread.submission(row?.submissionId ?? "");
      expect(row?.usage).toBe(encodeUsage(usage));
    }
    expect(await thread.usage()).toMatchObject({ settled: 3, owed: [] });
  });
});
