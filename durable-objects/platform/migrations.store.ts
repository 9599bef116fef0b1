// SQL for the list of applied migrations.
import type { Database } from "./database.ts";
import type { AppliedMigration, Migration } from "./migration-plan.ts";

export class MigrationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Whether the accounting is there, and whether a table is that only a migration makes. */
  look(): { readonly hasAccounting: boolean; readonly hasTables: boolean } {
    const names = this.#database
      .rows<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('schema_migrations', 'threads', 'batches')",
      )
      .map(({ name }) => name);
    const hasAccounting = names.includes("schema_migrations");
    return { hasAccounting, hasTables: names.length > (hasAccounting ? 1 : 0) };
  }

  create(): void {
    this.#database.run(
      "CREATE TABLE schema_migrations (number INTEGER PRIMARY KEY, tag TEXT NOT NULL, digest TEXT NOT NULL, appliedAt INTEGER NOT NULL)",
    );
  }

  applied(): AppliedMigration[] {
    return this.#database.rows<{ tag: string; digest: string }>(
      "SELECT tag, digest FROM schema_migrations ORDER BY number",
    );
  }

  record(migration: Migration, now: number): void {
    this.#database.run(
      "INSERT INTO schema_migrations (tag, digest, appliedAt) VALUES (?, ?, ?)",
      migration.tag,
      migration.digest,
      now,
    );
  }
}
