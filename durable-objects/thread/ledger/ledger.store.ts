// SQL for the ledger of one thread: what was accepted, and what is still owed. The log is the truth; this can be rebuilt from it.
import { z } from "zod";
import { canonicalJson, JsonSchema, type JsonValue } from "../../../shared/canonical-json.ts";
import type { EpochMillis } from "../../../shared/time.ts";
import { AllowancesSchema, type Allowances } from "../../../shared/wire/policy.ts";
import { OutcomeSchema, type Outcome } from "../../../shared/wire/settlement.ts";
import { WaitSchema, type Wait } from "../../../shared/wire/submission.ts";
import { encodeUsage, USAGE_FIELDS, UsageSchema, type Usage } from "../../../shared/wire/usage.ts";
import type { Columns, Database } from "../../platform/database.ts";
import { positionOf, sequenceAt } from "../position.ts";

/** What control flow needs of a submission; no payload is among it. */
export interface LedgerEntry {
  readonly queueSequence: number;
  readonly submissionId: string;
  readonly agentId: string;
  readonly acceptedAt: EpochMillis;
  readonly wait: Wait | null;
  readonly firstSequence: number | null;
  readonly outcome: Outcome | null;
  readonly settledSequence: number | null;
  /** Queue sequence of the run that the input joins; null when it has, or will have, a run of its own. */
  readonly host: number | null;
  /** The record that made the input canonical in a host's run; null before, and for work that never joined. */
  readonly joinedAt: number | null;
}

export interface NewSubmission {
  readonly queueSequence: number;
  readonly submissionId: string;
  readonly principal: string;
  readonly idempotencyKey: string;
  readonly commandDigest: string;
  readonly agentId: string;
  /** Canonical JSON. */
  readonly input: string;
  readonly allowances: Allowances | null;
  readonly metadata: JsonValue;
  /** The run that it is to join. */
  readonly host: number | null;
  readonly acceptedAt: EpochMillis;
}

/** What a run starts from. */
export interface Command {
  readonly principal: string;
  /** Canonical JSON. */
  readonly input: string;
  readonly allowances: Allowances | null;
  readonly metadata: JsonValue;
}

interface EntryColumns {
  position: number;
  submissionId: string;
  agentId: string;
  acceptedAt: number;
  wait: string | null;
  firstSequence: number | null;
  outcome: string | null;
  settledSequence: number | null;
  host: number | null;
  joinedAt: number | null;
}

const ENTRY =
  "position, submissionId, agentId, acceptedAt, wait, firstSequence, outcome, settledSequence, host, joinedAt";

export class LedgerStore {
  readonly #database: Database;
  readonly #thread: number;

  constructor(database: Database, thread: number) {
    this.#database = database;
    this.#thread = thread;
  }

  /** The submission that a key of this principal admitted, with the digest of its command. */
  findByKey(
    principal: string,
    idempotencyKey: string,
  ): { entry: LedgerEntry; commandDigest: string } | null {
    const row = this.#database.row<Columns<EntryColumns & { commandDigest: string }>>(
      `SELECT ${ENTRY}, commandDigest FROM submissions WHERE scopedKey = ?`,
      this.#scopedKey(principal, idempotencyKey),
    );
    return row === undefined ? null : { entry: toEntry(row), commandDigest: row.commandDigest };
  }

  /** The submission of that id. Its queue sequence is in the id, so this is a look-up by primary key. */
  find(queueSequence: number, submissionId: string): LedgerEntry | null {
    const entry = this.at(queueSequence);
    return entry?.submissionId === submissionId ? entry : null;
  }

  /** The submission at a place of the queue. */
  at(queueSequence: number): LedgerEntry | null {
    const row = this.#database.row<Columns<EntryColumns>>(
      `SELECT ${ENTRY} FROM submissions WHERE position = ?`,
      this.#at(queueSequence),
    );
    return row === undefined ? null : toEntry(row);
  }

  /** Everything owed, in queue order: at most the queue's depth. Read through the partial index. */
  owed(): LedgerEntry[] {
    return this.#database
      .rows<Columns<EntryColumns>>(
        `SELECT ${ENTRY} FROM submissions WHERE outcome IS NULL AND position BETWEEN ? AND ? ORDER BY position`,
        this.#at(0),
        this.#end,
      )
      .map(toEntry);
  }

  /** The newest record that is a settlement, as far as the ledger knows; 0 without one. */
  lastSettledSequence(): number {
    const row = this.#database.row<{ last: number | null }>(
      "SELECT max(settledSequence) AS last FROM submissions WHERE position BETWEEN ? AND ?",
      this.#at(0),
      this.#end,
    );
    return row?.last ?? 0;
  }

  /** Submissions past a queue sequence, in queue order; only settled ones where `isSettled`. */
  page(after: number, limit: number, isSettled: boolean): LedgerEntry[] {
    const settled = isSettled ? "AND outcome IS NOT NULL" : "";
    return this.#database
      .rows<Columns<EntryColumns>>(
        `SELECT ${ENTRY} FROM submissions WHERE position > ? AND position <= ? ${settled} ORDER BY position LIMIT ?`,
        this.#at(after),
        this.#end,
        limit,
      )
      .map(toEntry);
  }

  /** What all settled work of the thread spent, and how much of it there is. `total` cannot overflow, as `sum` would; like `addUsage` it
   * stops at the largest exact count. */
  settledUsage(): { readonly usage: Usage; readonly settled: number } {
    const sums = USAGE_FIELDS.map(
      (field, place) =>
        `min(total(usage ->> '$[${place}]'), ${Number.MAX_SAFE_INTEGER}) AS ${field}`,
    ).join(", ");
    const row = this.#database.row(
      `SELECT count(*) AS settled, ${sums} FROM submissions WHERE outcome IS NOT NULL AND position BETWEEN ? AND ?`,
      this.#at(0),
      this.#end,
    );
    return { usage: UsageSchema.parse(row), settled: z.int().parse(row?.["settled"]) };
  }

  /** The queue as an admission needs it: how much is owed, and the next place. */
  queue(): { readonly depth: number; readonly nextSequence: number } {
    const row = this.#database.row<{ depth: number; last: number | null }>(
      `SELECT (SELECT count(*) FROM submissions INDEXED BY submissions_owed WHERE outcome IS NULL AND position BETWEEN ?1 AND ?2) AS depth,
         (SELECT position FROM submissions WHERE position BETWEEN ?1 AND ?2 ORDER BY position DESC LIMIT 1) AS last`,
      this.#at(0),
      this.#end,
    );
    const last = row?.last ?? null;
    return { depth: row?.depth ?? 0, nextSequence: last === null ? 1 : sequenceAt(last) + 1 };
  }

  insert(submission: NewSubmission): void {
    this.#database.run(
      "INSERT INTO submissions (position, submissionId, principal, scopedKey, commandDigest, agentId, input, allowances, metadata, host, acceptedAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      this.#at(submission.queueSequence),
      submission.submissionId,
      submission.principal,
      this.#scopedKey(submission.principal, submission.idempotencyKey),
      submission.commandDigest,
      submission.agentId,
      submission.input,
      submission.allowances === null ? null : JSON.stringify(submission.allowances),
      submission.metadata === null ? null : canonicalJson(submission.metadata),
      submission.host,
      submission.acceptedAt,
    );
  }

  command(queueSequence: number): Command | null {
    const row = this.#database.row<{
      principal: string;
      input: string;
      allowances: string | null;
      metadata: string | null;
    }>(
      "SELECT principal, input, allowances, metadata FROM submissions WHERE position = ?",
      this.#at(queueSequence),
    );
    if (row === undefined) return null;
    const { principal, input, allowances, metadata } = row;
    return {
      principal,
      input,
      allowances: allowances === null ? null : AllowancesSchema.parse(JSON.parse(allowances)),
      metadata: metadata === null ? null : JsonSchema.parse(JSON.parse(metadata)),
    };
  }

  /** Parks a run, and keeps where its records begin. */
  setWait(queueSequence: number, wait: Wait, firstSequence: number | null): void {
    this.#database.run(
      "UPDATE submissions SET wait = ?, firstSequence = coalesce(firstSequence, ?) WHERE position = ? AND outcome IS NULL",
      JSON.stringify(wait),
      firstSequence,
      this.#at(queueSequence),
    );
  }

  clearWait(queueSequence: number): void {
    this.#database.run(
      "UPDATE submissions SET wait = NULL WHERE position = ? AND outcome IS NULL",
      this.#at(queueSequence),
    );
  }

  /** Ends every wait for a binding. */
  clearBindingWaits(): void {
    this.#database.run(
      "UPDATE submissions SET wait = NULL WHERE outcome IS NULL AND wait ->> '$.reason' = 'binding' AND position BETWEEN ? AND ?",
      this.#at(0),
      this.#end,
    );
  }

  /** The one transition out of owed. A second, different outcome is impossible: false when there already was one. */
  settle(
    queueSequence: number,
    outcome: Outcome,
    settledSequence: number,
    firstSequence: number,
    usage: Usage,
  ): boolean {
    return (
      this.#database.rows(
        "UPDATE submissions SET outcome = ?, settledSequence = ?, firstSequence = coalesce(firstSequence, ?), usage = ?, wait = NULL WHERE position = ? AND outcome IS NULL RETURNING position",
        outcome,
        settledSequence,
        firstSequence,
        encodeUsage(usage),
        this.#at(queueSequence),
      ).length === 1
    );
  }

  #scopedKey(principal: string, idempotencyKey: string): string {
    return canonicalJson([this.#thread, principal, idempotencyKey]);
  }

  #at(queueSequence: number): number {
    return positionOf(this.#thread, queueSequence);
  }

  get #end(): number {
    return positionOf(this.#thread + 1, 0) - 1;
  }
}

function toEntry(row: EntryColumns): LedgerEntry {
  return {
    queueSequence: sequenceAt(row.position),
    submissionId: row.submissionId,
    agentId: row.agentId,
    acceptedAt: row.acceptedAt,
    wait: row.wait === null ? null : WaitSchema.parse(JSON.parse(row.wait)),
    firstSequence: row.firstSequence,
    outcome: row.outcome === null ? null : OutcomeSchema.parse(row.outcome),
    settledSequence: row.settledSequence,
    host: row.host,
    joinedAt: row.joinedAt,
  };
}
