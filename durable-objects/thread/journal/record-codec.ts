// Records to batch rows and back. Splits what would not fit a row; refuses a record that never would. Pure.
import { utf8Length } from "../../../shared/bytes.ts";
import { MAX_BATCH_BYTES, MAX_RECORD_BYTES } from "../../../shared/limits.ts";
import { toIsoInstant, type EpochMillis } from "../../../shared/time.ts";
import {
  RECORD_SCHEMA_VERSION,
  recordIdOf,
  ThreadRecordSchema,
  type RecordDraft,
  type ThreadRecord,
} from "../../../shared/wire/records.ts";
import { z } from "zod";
import { digestText } from "../../platform/digest.ts";

/** The log cannot be read or extended as it is: a gap, a second fact of one identity, a row that does not decode. Settles nothing. */
export class LogCorrupt extends Error {
  override readonly name = "LogCorrupt";
}

/** A record that no row can hold. Its maker bounds what it puts in, so this is never met by data from outside. */
export class RecordTooLarge extends Error {
  override readonly name = "RecordTooLarge";
}

/** The chain's start: 64 zeros. */
export const EMPTY_DIGEST = "0".repeat(64);

export interface Stamp {
  readonly now: EpochMillis;
  readonly deploymentId: string;
}

/** The record that a draft becomes at `sequence`. */
export function stampRecord(draft: RecordDraft, sequence: number, stamp: Stamp): ThreadRecord {
  return {
    ...draft,
    sequence,
    recordId: recordIdOf(sequence, draft),
    schemaVersion: RECORD_SCHEMA_VERSION,
    createdAt: toIsoInstant(stamp.now),
    deploymentId: stamp.deploymentId,
  };
}

export interface EncodedBatch {
  readonly records: readonly ThreadRecord[];
  readonly json: string;
  /** The length of `json` in UTF-8. */
  readonly bytes: number;
}

/** Stamps the drafts and packs them into as few rows as their bytes allow, in order. */
export function encodeBatches(
  drafts: readonly RecordDraft[],
  firstSequence: number,
  stamp: Stamp,
): EncodedBatch[] {
  const batches: { records: ThreadRecord[]; parts: string[]; bytes: number }[] = [];
  for (const [index, draft] of drafts.entries()) {
    const record = stampRecord(draft, firstSequence + index, stamp);
    const json = JSON.stringify(record);
    const bytes = utf8Length(json) + 1;
    if (bytes > MAX_RECORD_BYTES) throw new RecordTooLarge(draft.type);
    const open = batches.at(-1);
    if (open === undefined || open.bytes + bytes > MAX_BATCH_BYTES) {
      batches.push({ records: [record], parts: [json], bytes: bytes + 1 });
    } else {
      open.records.push(record);
      open.parts.push(json);
      open.bytes += bytes;
    }
  }
  return batches.map(({ records, parts, bytes }) => ({
    records,
    json: `[${parts.join(",")}]`,
    bytes,
  }));
}

/** The chain: SHA-256 over the previous batch's digest and this batch's stored text. */
export function chainDigest(previous: string, json: string): string {
  return digestText(`${previous}\n${json}`);
}

const BatchSchema = z.array(ThreadRecordSchema);

/** The records of a stored row. Throws `LogCorrupt` when the text does not decode or does not start where its key says. */
export function decodeBatch(first: number, last: number, json: string): ThreadRecord[] {
  let raw: unknown;
  try {
    raw = JSON.parse(json);
  } catch {
    throw new LogCorrupt(`batch ${first} is not JSON`);
  }
  const parsed = BatchSchema.safeParse(raw);
  if (!parsed.success) throw new LogCorrupt(`batch ${first} does not fit the record schema`);
  const records = parsed.data;
  if (records.length !== last - first + 1) throw new LogCorrupt(`batch ${first} has a gap`);
  for (const [index, record] of records.entries()) {
    if (record.sequence !== first + index) throw new LogCorrupt(`batch ${first} is out of order`);
  }
  return records;
}
