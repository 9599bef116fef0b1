// Brings an object's tables to what this code expects, synchronously, in one transaction. Our own runner, because drizzle's hides the
// statement's error behind its rollback and does not notice an edited file.
import type { Database } from "./database.ts";
import { findRefusal, type AppliedMigration, type Migration } from "./migration-plan.ts";
import { MigrationStore } from "./migrations.store.ts";

export type SchemaStatus =
  /** No table was ever made: the object was addressed, not written. */
  | { readonly kind: "empty" }
  | { readonly kind: "ready" }
  /** This code must not touch the file: it is newer, or an applied migration was edited. */
  | { readonly kind: "refused"; readonly why: string };

/**
 * Reads what was applied and applies what is missing, unless the file is empty: an object that is only read stays an empty file
 * (THR-13).
 */
export function openSchema(
  database: Database,
  migrations: readonly Migration[],
  now: number,
): SchemaStatus {
  const store = new MigrationStore(database);
  const { hasAccounting, hasTables } = store.look();
  if (!hasAccounting) {
    return hasTables
      ? { kind: "refused", why: "the accounting of its migrations is missing" }
      : { kind: "empty" };
  }
  const applied = store.applied();
  const why = findRefusal(applied, migrations);
  if (why !== null) return { kind: "refused", why };
  if (applied.length === migrations.length) return { kind: "ready" };
  try {
    database.transact(() => applyMissing(database, store, applied, migrations, now));
    return { kind: "ready" };
  } catch (error) {
    // A constructor that throws uses up the alarm's redeliveries; a refused object answers, and looks again.
    return { kind: "refused", why: `a migration failed: ${String(error).slice(0, 256)}` };
  }
}

/** Creates every table of an empty file. Call inside the transaction of the first admission. */
export function createSchema(
  database: Database,
  migrations: readonly Migration[],
  now: number,
): void {
  const store = new MigrationStore(database);
  store.create();
  applyMissing(database, store, [], migrations, now);
}

function applyMissing(
  database: Database,
  store: MigrationStore,
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
  now: number,
): void {
  for (const migration of migrations.slice(applied.length)) {
    for (const statement of migration.statements) database.run(statement);
    store.record(migration, now);
  }
}
