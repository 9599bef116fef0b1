// SQL for the list of applied migrations.
import type { Database } from "./database.ts";
import type { AppliedMigration, Migration } from "./migration-plan.ts";

export class MigrationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  exists(): boolean {
    return (
      this.#database.row(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'",
      ) !== undefined
    );
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
