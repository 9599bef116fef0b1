// SQL for the due queue: one row per lane, never deleted.
import type { Database } from "../platform/database.ts";
import { DUE_REASONS, type Due, type LaneEntry } from "./due.ts";

interface LaneRow extends Record<string, SqlStorageValue> {
  revision: number;
  reason: string;
  dueAt: number | null;
  attempts: number;
}

export class DueQueueStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  read(lane: string): LaneEntry | null {
    const row = this.#database.row<LaneRow>(
      "SELECT revision, reason, dueAt, attempts FROM due_queue WHERE lane = ?",
      lane,
    );
    if (row === undefined) return null;
    const reason = DUE_REASONS.find((known) => known === row.reason) ?? "idle";
    return { revision: row.revision, reason, dueAt: row.dueAt, attempts: row.attempts };
  }

  /** Marks a lane due, no later than it was, under a new revision. Only a control cuts a failed wave's backoff short: new work waits for
   * it, as it would only fail alike. */
  enrol(lane: string, due: Due): void {
    this.#database.run(
      `INSERT INTO due_queue (lane, revision, reason, dueAt, attempts) VALUES (?1, 1, ?2, ?3, 0)
       ON CONFLICT (lane) DO UPDATE SET revision = revision + 1,
         reason = CASE WHEN reason = 'pass-failed' AND dueAt > ?3 AND ?2 <> 'controlled' THEN reason
                       WHEN dueAt IS NULL OR dueAt > ?3 THEN ?2 ELSE reason END,
         dueAt = CASE WHEN reason = 'pass-failed' AND dueAt > ?3 AND ?2 <> 'controlled' THEN dueAt
                      ELSE min(coalesce(dueAt, ?3), ?3) END`,
      lane,
      due.reason,
      due.dueAt,
    );
  }

  /** Sets what a wave left owed, only at the revision that the wave saw; false when a newer enrolment came. */
  acknowledge(lane: string, seenRevision: number, due: Due): boolean {
    return (
      this.#database.rows(
        "UPDATE due_queue SET reason = ?, dueAt = ?, attempts = 0 WHERE lane = ? AND revision = ? RETURNING lane",
        due.reason,
        due.dueAt,
        lane,
        seenRevision,
      ).length === 1
    );
  }

  fail(lane: string, due: Due, attempts: number): void {
    this.#database.run(
      "UPDATE due_queue SET reason = ?, dueAt = ?, attempts = ? WHERE lane = ?",
      due.reason,
      due.dueAt,
      attempts,
      lane,
    );
  }

  /** The earliest due time of all lanes, or null when none is due. */
  earliest(): number | null {
    return (
      this.#database.row<{ dueAt: number | null }>("SELECT min(dueAt) AS dueAt FROM due_queue")
        ?.dueAt ?? null
    );
  }
}
