// Records to batch rows and back. Splits what would not fit a row; refuses a record that never would. Pure.
import { utf8Length } from "../../../shared/bytes.ts";
import { runIdOf, submissionIdOfRun } from "../../../shared/ids.ts";
import { MAX_BATCH_BYTES, MAX_RECORD_BYTES } from "../../../shared/limits.ts";
import { toIsoInstant, type EpochMillis } from "../../../shared/time.ts";
import { RECORD_SCHEMA_VERSION } from "../../../shared/wire/envelope.ts";
import {
  recordIdOf,
  ThreadRecordSchema,
  type RecordDraft,
  type ThreadRecord,
} from "../../../shared/wire/records.ts";
import { z } from "zod";
import { packPayload, unpackPayload } from "./pack-payload.ts";
import { isBoundedOutput } from "../../context/tool-result-bounds.ts";
import { digestText } from "../../platform/digest.ts";

/** The log cannot be read or extended as it is: a gap, a second fact of one identity, a row that does not decode. Settles nothing. */
export class LogCorrupt extends Error {
  override readonly name = "LogCorrupt";
}

/** A record that no row can hold. Its maker bounds what it puts in, so this is never met by data from outside. */
export class RecordTooLarge extends Error {
  override readonly name = "RecordTooLarge";
}

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

/** A row's text: what all its records share stands once, and what follows from a record's place is not stored at all. */
const StoredBatchSchema = z.object({
  schemaVersion: z.literal(RECORD_SCHEMA_VERSION),
  createdAt: z.int(),
  deploymentId: z.string(),
  submissionId: z.string().optional(),
  records: z.array(
    z.object({
      type: z.string(),
      /** Of a record of this run about a submission that joined it. */
      submissionId: z.string().optional(),
      turn: z.number().optional(),
      payload: z.unknown(),
    }),
  ),
});
type StoredBatchText = z.infer<typeof StoredBatchSchema>;

/** Room for the shared part of a row. */
const ENVELOPE_BYTES = 1_024;

/**
 * Stamps the drafts and packs them into as few rows as their bytes allow, in order. The drafts of one commit are about one submission, or about
 * those that joined its run; the first record of a thread alone is about none.
 */
export function encodeBatches(
  drafts: readonly RecordDraft[],
  firstSequence: number,
  stamp: Stamp,
): EncodedBatch[] {
  const owner = ownerOf(drafts);
  const batches: { records: ThreadRecord[]; parts: string[]; bytes: number }[] = [];
  for (const [index, draft] of drafts.entries()) {
    const record = stampRecord(draft, firstSequence + index, stamp);
    const { type } = draft;
    const payload = packPayload(draft);
    const json = JSON.stringify({
      type,
      ...("submissionId" in draft &&
        draft.submissionId !== owner && { submissionId: draft.submissionId }),
      ...("turn" in draft && { turn: draft.turn }),
      payload,
    });
    const bytes = utf8Length(json) + 1;
    if (bytes > MAX_RECORD_BYTES) throw new RecordTooLarge(draft.type);
    const open = batches.at(-1);
    if (open === undefined || open.bytes + bytes > MAX_BATCH_BYTES) {
      batches.push({ records: [record], parts: [json], bytes: bytes + ENVELOPE_BYTES });
    } else {
      open.records.push(record);
      open.parts.push(json);
      open.bytes += bytes;
    }
  }
  return batches.map(({ records, parts }) => {
    const json = `${renderEnvelope(records, owner, stamp)}"records":[${parts.join(",")}]}`;
    return { records, json, bytes: utf8Length(json) };
  });
}

/** The submission whose run the drafts are of; null where they are of none. */
function ownerOf(drafts: readonly RecordDraft[]): string | null {
  const about = drafts.find((draft) => draft.type !== "ThreadCreated");
  if (about === undefined) return null;
  return "runId" in about ? submissionIdOfRun(about.runId) : about.submissionId;
}

/** The shared part, left open for the records. */
function renderEnvelope(
  records: readonly ThreadRecord[],
  owner: string | null,
  stamp: Stamp,
): string {
  const hasOwner = records.some((record) => record.type !== "ThreadCreated");
  const envelope = JSON.stringify({
    schemaVersion: RECORD_SCHEMA_VERSION,
    createdAt: stamp.now,
    deploymentId: stamp.deploymentId,
    ...(owner !== null && hasOwner && { submissionId: owner }),
  });
  return `${envelope.slice(0, -1)},`;
}

/** The chain: SHA-256 over the previous batch's digest and this batch's stored text. */
export function chainDigest(previous: string, json: string): string {
  return digestText(`${previous}\n${json}`);
}

/** The records of a stored row. Throws `LogCorrupt` when the text does not decode or does not hold what its key says. */
export function decodeBatch(first: number, last: number, json: string): ThreadRecord[] {
  const stored = parseStored(first, last, json);
  return stored.records.map((_record, index) => decodeRecord(stored, first, index));
}

/** One record of a stored row, the others undecoded. */
export function decodeRecordAt(
  first: number,
  last: number,
  json: string,
  sequence: number,
): ThreadRecord {
  return decodeRecord(parseStored(first, last, json), first, sequence - first);
}

function parseStored(first: number, last: number, json: string): StoredBatchText {
  let raw: unknown;
  try {
    raw = JSON.parse(json);
  } catch {
    throw new LogCorrupt(`batch ${first} is not JSON`);
  }
  const parsed = StoredBatchSchema.safeParse(raw);
  if (!parsed.success) throw new LogCorrupt(`batch ${first} does not fit the batch schema`);
  if (parsed.data.records.length !== last - first + 1) {
    throw new LogCorrupt(`batch ${first} has a gap`);
  }
  return parsed.data;
}

function decodeRecord(stored: StoredBatchText, first: number, index: number): ThreadRecord {
  const { records, submissionId, createdAt, ...shared } = stored;
  const record = records[index];
  const sequence = first + index;
  const parsed = ThreadRecordSchema.safeParse({
    ...shared,
    ...record,
    payload: record === undefined ? null : unpackPayload(record.type, record.payload),
    submissionId: record?.submissionId ?? submissionId,
    ...(submissionId !== undefined && { runId: runIdOf(submissionId) }),
    createdAt: toIsoInstant(createdAt),
    sequence,
    recordId: `${sequence}`,
  });
  if (!parsed.success) throw new LogCorrupt(`record ${sequence} does not fit its schema`);
  if (parsed.data.type === "ToolSettled" && !isBoundedOutput(parsed.data.payload.output)) {
    throw new LogCorrupt(`record ${sequence} holds an unbounded result`);
  }
  return { ...parsed.data, recordId: recordIdOf(sequence, parsed.data) };
}
