// SQL for lanes: what the due queue's row says of a lane beside its due time, and the envelopes that it has not acknowledged.
import type { JsonValue } from "../../shared/canonical-json.ts";
import type { Columns, Database } from "../platform/database.ts";
import { DUE_REASONS, NATIVE_LANE, type DueReason } from "./due.ts";

export interface LaneRow {
  readonly lane: string;
  readonly revision: number;
  readonly reason: DueReason;
  readonly dueAt: number | null;
  /** Raised by every progress of the source. */
  readonly progress: number;
  /** The highest cursor that a remote source reported. */
  readonly cursor: number;
  /** Consecutive waves without progress. */
  readonly unchanged: number;
}

const ROW = "lane, revision, reason, dueAt, progress, cursor, unchanged";

/** Envelopes of one wave. */
const MAX_ENVELOPES = 128;

export class LanesStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  read(lane: string): LaneRow | null {
    const row = this.#database.row<Columns<Omit<LaneRow, "reason">> & { reason: string }>(
      `SELECT ${ROW} FROM due_queue WHERE lane = ?`,
      lane,
    );
    return row === undefined ? null : toLaneRow(row);
  }

  /** Every lane but those of threads, by id. */
  all(): LaneRow[] {
    return this.#database
      .rows<Columns<Omit<LaneRow, "reason">> & { reason: string }>(
        `SELECT ${ROW} FROM due_queue WHERE lane <> ? AND lane NOT GLOB ? ORDER BY lane`,
        NATIVE_LANE,
        `${NATIVE_LANE}:*`,
      )
      .map(toLaneRow);
  }

  /** Makes a lane due, no later than it was; with progress of its source it leaves its park and its backoff. */
  enrol(lane: string, dueAt: number, cursor: number, isProgress: boolean): void {
    this.#database.run(
      `INSERT INTO due_queue (lane, revision, reason, dueAt, attempts, progress, cursor, unchanged) VALUES (?1, 1, 'lane', ?2, 0, ?4, ?3, 0)
       ON CONFLICT (lane) DO UPDATE SET revision = revision + 1, reason = 'lane',
         dueAt = CASE WHEN ?4 = 1 AND unchanged > 0 THEN ?2 ELSE min(coalesce(dueAt, ?2), ?2) END,
         progress = progress + ?4, cursor = max(cursor, ?3),
         unchanged = CASE WHEN ?4 = 1 THEN 0 ELSE unchanged END`,
      lane,
      dueAt,
      cursor,
      isProgress ? 1 : 0,
    );
  }

  /** What a wave left. A newer enrolment than the one that the wave saw keeps its due time; without progress it keeps the count. */
  finish(seen: LaneRow, after: Pick<LaneRow, "reason" | "dueAt" | "unchanged">): void {
    this.#database.run(
      `UPDATE due_queue SET reason = CASE WHEN revision = ?2 THEN ?3 ELSE reason END,
         dueAt = CASE WHEN revision = ?2 THEN ?4 ELSE dueAt END,
         unchanged = CASE WHEN progress = ?6 THEN ?5 ELSE unchanged END
       WHERE lane = ?1`,
      seen.lane,
      seen.revision,
      after.reason,
      after.dueAt,
      after.unchanged,
      seen.progress,
    );
  }

  /** Keeps something for the lane until a wave that was handed it drains. */
  post(lane: string, posted: Readonly<Record<string, JsonValue>>): void {
    this.#database.run(
      "INSERT INTO lane_envelopes (lane, envelope) VALUES (?, ?)",
      lane,
      JSON.stringify(posted),
    );
  }

  /** The oldest of what a lane was posted, with the position of the last of it, and whether more is behind it. */
  posted(lane: string): { posted: unknown[]; through: number; hasMore: boolean } {
    const rows = this.#database.rows<{ position: number; envelope: string }>(
      "SELECT position, envelope FROM lane_envelopes WHERE lane = ? ORDER BY position LIMIT ?",
      lane,
      MAX_ENVELOPES + 1,
    );
    const handed = rows.slice(0, MAX_ENVELOPES);
    return {
      posted: handed.map(({ envelope }): unknown => JSON.parse(envelope)),
      through: handed.at(-1)?.position ?? 0,
      hasMore: rows.length > MAX_ENVELOPES,
    };
  }

  acknowledge(lane: string, through: number): void {
    this.#database.run(
      "DELETE FROM lane_envelopes WHERE lane = ? AND position <= ?",
      lane,
      through,
    );
  }

  /** True when an envelope of the lane lies behind `through`. */
  hasEnvelopeAfter(lane: string, through: number): boolean {
    return (
      this.#database.row(
        "SELECT 1 FROM lane_envelopes WHERE lane = ? AND position > ? LIMIT 1",
        lane,
        through,
      ) !== undefined
    );
  }
}

function toLaneRow(row: Omit<LaneRow, "reason"> & { reason: string }): LaneRow {
  return { ...row, reason: DUE_REASONS.find((known) => known === row.reason) ?? "idle" };
}
