// One page of canonical records for a reader (OBS-01).
import type { ReadPageRequest, RecordPage } from "../../../shared/wire/progress.ts";
import type { RecordOf, RecordType, ThreadRecord } from "../../../shared/wire/records.ts";
import { LogCorrupt } from "./record-codec.ts";
import type { JournalStore } from "./journal.store.ts";

/**
 * Contiguous records past `after`. `next` is the last sequence looked at, so that a filtered page still advances. Of a damaged log the records
 * before the damage, the last of them one by one: a reader is told where it is. Throws `LogCorrupt` where the very next record is the damage.
 */
export function readRecordPage(journal: JournalStore, request: ReadPageRequest): RecordPage {
  const tail = journal.tail().sequence;
  const after = Math.min(request.after, tail);
  if (after === tail) return { records: [], next: tail, tail };
  const looked = readBeforeDamage(journal, after, tail, request.limit);
  const next = looked.at(-1)?.sequence ?? after;
  const types = request.types;
  const records =
    types === undefined ? looked : looked.filter((record) => types.includes(record.type));
  return { records, next, tail };
}

function readBeforeDamage(
  journal: JournalStore,
  after: number,
  tail: number,
  limit: number,
): ThreadRecord[] {
  try {
    return readContiguous(journal, after, tail, limit);
  } catch (error) {
    if (!(error instanceof LogCorrupt)) throw error;
    return readContiguous(journal, after, tail, 1);
  }
}

function readContiguous(
  journal: JournalStore,
  after: number,
  tail: number,
  limit: number,
): ThreadRecord[] {
  const found = journal
    .readForward(after + 1, tail, limit)
    .flatMap((batch) => batch.records.map((stored) => stored.record))
    .filter((record) => record.sequence > after)
    .slice(0, limit);
  const gap = found.findIndex(({ sequence }, index) => sequence !== after + 1 + index);
  const records = gap < 0 ? found : found.slice(0, gap);
  if (records.length === 0) throw new LogCorrupt(`record ${after + 1} is missing`);
  return records;
}

/** The record at `sequence`, which must be of `type`. */
export function readRecord<Type extends RecordType>(
  journal: JournalStore,
  sequence: number,
  type: Type,
): RecordOf<Type> {
  const record = journal.readOne(sequence);
  if (isOfType(record, type)) return record;
  throw new LogCorrupt(`record ${sequence} is not a ${type}`);
}

function isOfType<Type extends RecordType>(
  record: ThreadRecord,
  type: Type,
): record is RecordOf<Type> {
  return record.type === type;
}
