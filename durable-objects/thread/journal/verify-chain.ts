// Whether stored rows are the ones that were written: contiguous, under an unbroken chain of digests, and readable (REC-09). Pure.
import type { ChainPoint, LogFault } from "../../../shared/wire/verification.ts";
import { chainDigest, decodeBatch, decodeRecordAt, LogCorrupt } from "./record-codec.ts";

/** A row as it is stored, nothing of it decoded. */
export interface ChainRow {
  readonly first: number;
  readonly last: number;
  readonly digest: string;
  readonly json: string;
}

export interface CheckedRows {
  /** The last place that is right. */
  readonly verified: ChainPoint;
  readonly fault: LogFault | null;
}

/** Checks the rows that follow `from`, in their order, as far as they are right. */
export function verifyRows(from: ChainPoint, rows: readonly ChainRow[]): CheckedRows {
  let verified = from;
  for (const row of rows) {
    const fault = findFault(verified, row);
    if (fault !== null) return { verified, fault };
    verified = { sequence: row.last, digest: row.digest };
  }
  return { verified, fault: null };
}

function findFault(before: ChainPoint, row: ChainRow): LogFault | null {
  const next = before.sequence + 1;
  if (row.first !== next) return { sequence: next, problem: "gap" };
  if (chainDigest(before.digest, row.json) !== row.digest) {
    return { sequence: next, problem: "digest" };
  }
  return findUnreadable(row);
}

function findUnreadable({ first, last, json }: ChainRow): LogFault | null {
  if (isReadable(() => decodeBatch(first, last, json))) return null;
  // Each look decodes the row anew: only a damaged one is looked through.
  let sequence = first;
  while (sequence < last && isReadable(() => decodeRecordAt(first, last, json, sequence))) {
    sequence += 1;
  }
  return { sequence, problem: "schema" };
}

function isReadable(decode: () => unknown): boolean {
  try {
    decode();
    return true;
  } catch (error) {
    if (!(error instanceof LogCorrupt)) throw error;
    return false;
  }
}
