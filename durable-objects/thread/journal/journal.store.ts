// SQL for the log of one thread: append, tail, pages. Sequences are contiguous by construction; nothing here is ever updated.
import { utf8Length } from "../../../shared/bytes.ts";
import { MAX_PAGE_BYTES, MAX_WINDOW_RECORDS } from "../../../shared/limits.ts";
import type { EpochMillis } from "../../../shared/time.ts";
import type { RecordDraft, ThreadRecord } from "../../../shared/wire/records.ts";
import { CHAIN_START, type ChainPoint } from "../../../shared/wire/verification.ts";
import type { Database } from "../../platform/database.ts";
import { positionOf, sequenceAt } from "../position.ts";
import type { ChainRow } from "./verify-chain.ts";
import {
  chainDigest,
  decodeBatch,
  decodeRecordAt,
  encodeBatches,
  LogCorrupt,
} from "./record-codec.ts";

/** A record with what its row says about who appended it. */
export interface StoredRecord {
  readonly record: ThreadRecord;
  /** The attempt's epoch; null for a control. */
  readonly epoch: number | null;
}

/** The records of one row. */
export interface StoredBatch {
  readonly first: number;
  readonly last: number;
  /** Queue sequence of the submission that the records are about. */
  readonly run: number;
  readonly bytes: number;
  readonly records: readonly StoredRecord[];
}

/** What one commit added. */
export interface Appended {
  readonly records: readonly StoredRecord[];
  readonly bytes: number;
}

interface BatchRow extends Record<string, SqlStorageValue> {
  position: number;
  last: number;
  run: number;
  epoch: number | null;
  records: string;
}

/** How large rows are, without their text: a page is chosen before it is loaded (RTM-01). `octet_length` takes the size from the row's header;
 * `length` of a cast would read every byte of up to 1,024 rows for a page of 4 MiB. */
const EXTENTS = "SELECT position, last, octet_length(records) AS bytes FROM batches";

interface ExtentRow extends Record<string, SqlStorageValue> {
  position: number;
  last: number;
  bytes: number;
}

export class JournalStore {
  readonly #database: Database;
  readonly #thread: number;
  readonly #deploymentId: string;
  /** This instance is the log's only writer, so it knows the tail; a transaction that rolled back makes it look again. */
  #known: { readonly tail: ChainPoint; readonly rollbacks: number } | null = null;

  constructor(database: Database, thread: number, deploymentId: string) {
    this.#database = database;
    this.#thread = thread;
    this.#deploymentId = deploymentId;
  }

  /** The last sequence and the chain's digest there; the chain's start before the first record. */
  tail(): ChainPoint {
    if (this.#known?.rollbacks === this.#database.rollbacks) return this.#known.tail;
    const tail = this.#readTail();
    this.#known = { tail, rollbacks: this.#database.rollbacks };
    return tail;
  }

  /** Call when rows were deleted. */
  forgetTail(): void {
    this.#known = null;
  }

  #readTail(): ChainPoint {
    const row = this.#database.row<{ last: number; digest: string }>(
      "SELECT last, digest FROM batches WHERE position BETWEEN ? AND ? ORDER BY position DESC LIMIT 1",
      this.#at(0),
      this.#end,
    );
    return row === undefined ? CHAIN_START : { sequence: row.last, digest: row.digest };
  }

  /** Appends records about one submission. Call inside the transaction of the change that they record. */
  append(
    run: number,
    epoch: number | null,
    drafts: readonly RecordDraft[],
    now: EpochMillis,
  ): Appended {
    let { sequence, digest } = this.tail();
    let bytes = 0;
    const records: StoredRecord[] = [];
    const stamp = { now, deploymentId: this.#deploymentId };
    for (const batch of encodeBatches(drafts, sequence + 1, stamp)) {
      digest = chainDigest(digest, batch.json);
      const first = sequence + 1;
      sequence += batch.records.length;
      this.#database.run(
        "INSERT INTO batches (position, last, run, epoch, digest, records) VALUES (?, ?, ?, ?, ?, ?)",
        this.#at(first),
        sequence,
        run,
        epoch,
        digest,
        batch.json,
      );
      bytes += batch.bytes;
      for (const record of batch.records) records.push({ record, epoch });
    }
    this.#known = { tail: { sequence, digest }, rollbacks: this.#database.rollbacks };
    return { records, bytes };
  }

  /** A run has records past `sequence` other than audit records. Looks at the text alone: the records may be unreadable. */
  hasProgressedSince(run: number, sequence: number): boolean {
    return (
      this.#database.row(
        `SELECT 1 FROM batches WHERE position > ? AND position <= ? AND run = ?
           AND instr(records, '"type":"ModelInterrupted"') = 0 AND instr(records, '"type":"RepairAnnotated"') = 0 LIMIT 1`,
        this.#at(sequence),
        this.#end,
        run,
      ) !== undefined
    );
  }

  /** The record at `sequence`. Throws `LogCorrupt` when it is not there. */
  readOne(sequence: number): ThreadRecord {
    const row = this.#database.row<Pick<BatchRow, "position" | "last" | "records">>(
      "SELECT position, last, records FROM batches WHERE position BETWEEN ? AND ? ORDER BY position DESC LIMIT 1",
      this.#at(0),
      this.#at(sequence),
    );
    if (row === undefined || row.last < sequence) {
      throw new LogCorrupt(`record ${sequence} is missing`);
    }
    return decodeRecordAt(sequenceAt(row.position), row.last, row.records, sequence);
  }

  /** The batches that hold records from `from` to `to`, oldest first, up to the one that makes `maxRecords` records or a page of bytes. */
  readForward(from: number, to: number, maxRecords: number): StoredBatch[] {
    const start = this.#positionHolding(from);
    // The batch that holds `from` may begin before it: what lies before does not count.
    const before = from - sequenceAt(start);
    const extents = this.#database.rows<ExtentRow>(
      `${EXTENTS} WHERE position BETWEEN ? AND ? ORDER BY position LIMIT ?`,
      start,
      this.#at(to),
      maxRecords,
    );
    return this.#readPage(extents, maxRecords + before);
  }

  /** The newest batches before `before`, oldest first, up to the one that makes `maxRecords` records or a page of bytes. */
  readBackward(before: number, maxRecords: number): StoredBatch[] {
    const extents = this.#database.rows<ExtentRow>(
      `${EXTENTS} WHERE position >= ? AND position < ? ORDER BY position DESC LIMIT ?`,
      this.#at(0),
      this.#at(before),
      maxRecords,
    );
    return this.#readPage(extents, maxRecords).toSorted((left, right) => left.first - right.first);
  }

  /** The batches of one run from its first record on, in pages of bounded bytes. */
  *readRun(run: number, from: number): Generator<StoredBatch> {
    let position = this.#at(from);
    for (;;) {
      const extents = this.#database.rows<ExtentRow>(
        `${EXTENTS} WHERE position BETWEEN ? AND ? AND run = ? ORDER BY position LIMIT 256`,
        position,
        this.#end,
        run,
      );
      const page = this.#readPage(extents, Number.MAX_SAFE_INTEGER, run);
      yield* page;
      const last = page.at(-1);
      if (last === undefined) return;
      position = this.#at(last.last + 1);
    }
  }

  /** The rows that follow `after` as they are stored, in a page of bounded rows and bytes; none after the last. */
  readRowsAfter(after: number): ChainRow[] {
    const extents = this.#database.rows<ExtentRow>(
      `${EXTENTS} WHERE position BETWEEN ? AND ? ORDER BY position LIMIT ?`,
      this.#at(after + 1),
      this.#end,
      MAX_WINDOW_RECORDS,
    );
    const last = fitPage(extents, Number.MAX_SAFE_INTEGER).at(-1);
    if (last === undefined) return [];
    return this.#database
      .rows<Pick<BatchRow, "position" | "last" | "records"> & { digest: string }>(
        "SELECT position, last, digest, records FROM batches WHERE position BETWEEN ? AND ? ORDER BY position",
        this.#at(after + 1),
        last.position,
      )
      .map(({ position, last: end, digest, records }) => ({
        first: sequenceAt(position),
        last: end,
        digest,
        json: records,
      }));
  }

  /** A row ends with `sequence`, or it is 0. */
  isRowEnd(sequence: number): boolean {
    if (sequence === 0) return true;
    const row = this.#database.row<{ last: number }>(
      "SELECT last FROM batches WHERE position BETWEEN ? AND ? ORDER BY position DESC LIMIT 1",
      this.#at(0),
      this.#at(sequence),
    );
    return row?.last === sequence;
  }

  /** Loads the rows of `extents`, in their order, until they hold `maxRecords` records or a page of bytes. The first is always loaded. */
  #readPage(extents: readonly ExtentRow[], maxRecords: number, run?: number): StoredBatch[] {
    const fitting = fitPage(extents, maxRecords);
    const ends = [fitting.at(0)?.position, fitting.at(-1)?.position];
    const [one, other] = ends;
    if (one === undefined || other === undefined) return [];
    const rows = this.#database.rows<BatchRow>(
      `SELECT position, last, run, epoch, records FROM batches WHERE position BETWEEN ? AND ?${run === undefined ? "" : " AND run = ?"} ORDER BY position`,
      Math.min(one, other),
      Math.max(one, other),
      ...(run === undefined ? [] : [run]),
    );
    if (rows.length !== fitting.length) throw new LogCorrupt("a page came back short");
    return rows.map(toStoredBatch);
  }

  /** The key of the batch that holds `sequence`: a record's place is found from its batch's first sequence. */
  #positionHolding(sequence: number): number {
    return (
      this.#database.row<{ position: number }>(
        "SELECT position FROM batches WHERE position BETWEEN ? AND ? ORDER BY position DESC LIMIT 1",
        this.#at(0),
        this.#at(sequence),
      )?.position ?? this.#at(sequence)
    );
  }

  #at(sequence: number): number {
    return positionOf(this.#thread, sequence);
  }

  get #end(): number {
    return positionOf(this.#thread + 1, 0) - 1;
  }
}

/** The first of `extents`, up to the one that makes `maxRecords` records or a page of bytes; one at least. */
function fitPage(extents: readonly ExtentRow[], maxRecords: number): ExtentRow[] {
  const fitting: ExtentRow[] = [];
  let bytes = 0;
  let records = 0;
  for (const extent of extents) {
    bytes += extent.bytes;
    if (fitting.length > 0 && (bytes > MAX_PAGE_BYTES || records >= maxRecords)) break;
    records += extent.last - sequenceAt(extent.position) + 1;
    fitting.push(extent);
  }
  return fitting;
}

function toStoredBatch(row: BatchRow): StoredBatch {
  const first = sequenceAt(row.position);
  const records = decodeBatch(first, row.last, row.records);
  return {
    first,
    last: row.last,
    run: row.run,
    bytes: utf8Length(row.records),
    records: records.map((record) => ({ record, epoch: row.epoch })),
  };
}
