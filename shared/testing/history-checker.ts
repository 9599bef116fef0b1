// Checks a thread's history against the promises (QUA-02): what was accepted settles once, what may have happened outside was not silently
// repeated, the log is whole. Runs after every scenario, over what the objects hold and what the stubs counted; pure.
import type { ThreadRecord } from "../wire/records.ts";
import { encodeUsage } from "../wire/usage.ts";
import { checkAborts, checkCalls, checkExternalCalls, checkIntents } from "./check-calls.ts";
import type { BatchRow, Dump, SubmissionRow } from "./dump.store.ts";
import { settlementOf, violation, type Evidence, type Violation } from "./evidence.ts";

export type { Evidence, Violation } from "./evidence.ts";

export function checkHistory(dump: Dump, evidence: Evidence): Violation[] {
  return [
    ...checkSequences(dump.records),
    ...checkAdmissions(dump, evidence),
    ...checkSettlements(dump),
    ...checkAfterSettlement(dump.records),
    ...checkCalls(dump.records),
    ...checkExternalCalls(dump.records, evidence),
    ...checkIntents(dump.records, evidence),
    ...checkAcknowledged(dump.records, evidence),
    ...checkOrder(dump),
    ...checkJoined(dump.records),
    ...checkUsage(dump.records),
    ...checkLedgerUsage(dump),
    ...checkAborts(dump.records),
    ...checkLiveness(dump, evidence),
    ...checkAlarm(dump),
    ...checkChain(dump.batches, evidence),
    ...checkEpochs(dump.batches),
  ];
}

/** 1. Sequences are contiguous from 1, and no record id stands twice. */
function checkSequences(records: readonly ThreadRecord[]): Violation[] {
  const found: Violation[] = [];
  const ids = new Set<string>();
  for (const [index, record] of records.entries()) {
    if (record.sequence !== index + 1)
      found.push(violation(1, `record ${index + 1} is ${record.sequence}`));
    const identity = record.recordId.slice(record.recordId.indexOf(":") + 1);
    if (ids.has(identity)) found.push(violation(1, `identity ${identity} stands twice`));
    ids.add(identity);
  }
  if (records.length > 0 && records[0]?.type !== "ThreadCreated") {
    found.push(violation(1, "the log does not begin with ThreadCreated"));
  }
  return found;
}

/** 2. One admission per key; the same key has the same receipt; 7. what was acknowledged is there. */
function checkAdmissions(dump: Dump, { receipts }: Evidence): Violation[] {
  const found: Violation[] = [];
  const keys = dump.submissions.map((row) => row.scopedKey);
  if (new Set(keys).size !== keys.length) found.push(violation(2, "two admissions of one key"));
  const byKey = new Map<string, string>();
  for (const { key, receipt } of receipts) {
    const known = byKey.get(key);
    if (known !== undefined && known !== receipt.submissionId) {
      found.push(violation(2, `key ${key} has two receipts`));
    }
    byKey.set(key, receipt.submissionId);
    if (!dump.submissions.some((row) => row.submissionId === receipt.submissionId)) {
      found.push(violation(7, `an acknowledged submission is lost: ${key}`));
    }
  }
  return found;
}

/** 3. One settlement per submission, and ledger and log agree. */
function checkSettlements(dump: Dump): Violation[] {
  const found: Violation[] = [];
  for (const row of dump.submissions) {
    const settlements = dump.records.filter(
      (record) => record.type === "SubmissionSettled" && record.submissionId === row.submissionId,
    );
    if (settlements.length > 1) found.push(violation(3, `${row.submissionId} settled twice`));
    const [settlement] = settlements;
    const outcome = settlement?.type === "SubmissionSettled" ? settlement.payload.outcome : null;
    if (outcome !== row.outcome || (settlement?.sequence ?? null) !== row.settledSequence) {
      found.push(violation(3, `${row.submissionId}: ledger ${row.outcome}, log ${outcome}`));
    }
    const own = dump.records.find(
      (record) =>
        "submissionId" in record &&
        record.submissionId === row.submissionId &&
        // Input that joined another run and came back stands before the run of its own.
        !(record.type === "InputRecorded" && record.payload.kind === "joined"),
    );
    if (row.firstSequence !== null && own !== undefined && row.firstSequence > own.sequence) {
      found.push(
        violation(3, `${row.submissionId}: its records begin before ${row.firstSequence}`),
      );
    }
  }
  return found;
}

/** 4. Nothing of a run after its settlement; operators' notes are not of the run. */
function checkAfterSettlement(records: readonly ThreadRecord[]): Violation[] {
  const settled = new Set<string>();
  const found: Violation[] = [];
  for (const record of records) {
    if (record.type === "ThreadCreated" || record.type === "RepairAnnotated") continue;
    if (settled.has(record.submissionId)) {
      found.push(violation(4, `${record.type} of ${record.submissionId} after its settlement`));
    }
    if (record.type === "SubmissionSettled") settled.add(record.submissionId);
  }
  return found;
}

/** 7. What a caller has read stays. */
function checkAcknowledged(
  records: readonly ThreadRecord[],
  { acknowledgedTail }: Evidence,
): Violation[] {
  return records.length < acknowledgedTail
    ? [violation(7, `the log ends at ${records.length}, and ${acknowledgedTail} was read`)]
    : [];
}

/** 8. Heads start in the order of admission. */
function checkOrder(dump: Dump): Violation[] {
  const order = dump.submissions.map((row) => row.submissionId);
  const started = dump.records.flatMap((record) =>
    record.type === "InputRecorded" && record.payload.kind === "user"
      ? [order.indexOf(record.submissionId)]
      : [],
  );
  const isSorted = started.every((at, index) => index === 0 || at > (started[index - 1] ?? -1));
  return isSorted ? [] : [violation(8, `runs started in the order ${started.join(", ")}`)];
}

/** 9. Joined input stands once, in one run, and where it settled with that run a response of the run came after it. */
function checkJoined(records: readonly ThreadRecord[]): Violation[] {
  return records.flatMap((record) => {
    if (record.type !== "SubmissionSettled" || record.payload.host === undefined) return [];
    const { submissionId, runId } = record;
    const inputs = records.filter(
      (other) => other.type === "InputRecorded" && other.submissionId === submissionId,
    );
    const [input] = inputs;
    const isAnswered = records.some(
      (other) =>
        other.type === "ModelResponded" &&
        other.runId === runId &&
        other.sequence > (input?.sequence ?? Number.MAX_SAFE_INTEGER) &&
        other.sequence < record.sequence,
    );
    if (inputs.length === 1 && isAnswered && record.payload.output === undefined) return [];
    return [violation(9, `${submissionId} settled with a run that did not answer it once`)];
  });
}

/** 10. A settlement's usage is the sum of what the run's records say. */
function checkUsage(records: readonly ThreadRecord[]): Violation[] {
  const found: Violation[] = [];
  for (const record of records) {
    if (record.type !== "SubmissionSettled") continue;
    let turns = 0;
    let inputTokens = 0;
    let outputTokens = 0;
    let failedModelCalls = 0;
    let interruptedModelCalls = 0;
    for (const other of records) {
      if (!("runId" in other) || other.runId !== record.runId) continue;
      if (other.type === "ModelResponded") turns += 1;
      if (other.type === "ModelCallFailed") failedModelCalls += 1;
      if (other.type === "ModelInterrupted") interruptedModelCalls += 1;
      if (other.type === "ModelResponded" || other.type === "ModelCallFailed") {
        inputTokens += other.payload.usage.inputTokens;
        outputTokens += other.payload.usage.outputTokens;
      }
    }
    const { usage, host } = record.payload;
    if (host !== undefined) {
      // What a joined input cost is its host's.
      if (Object.values(usage).some((count) => count !== 0)) {
        found.push(violation(10, `${record.submissionId} joined, and has usage of its own`));
      }
      continue;
    }
    const sums = { turns, inputTokens, outputTokens, failedModelCalls, interruptedModelCalls };
    // A count stops at the largest that is exact.
    const isSum = Object.entries(sums).every(
      ([name, sum]) => Reflect.get(usage, name) === Math.min(sum, Number.MAX_SAFE_INTEGER),
    );
    if (!isSum) {
      found.push(violation(10, `${record.submissionId}: usage is not the sum of its records`));
    }
  }
  return found;
}

/** 10. What the ledger keeps of a run's usage is its settlement's, and nothing of a run that is owed. */
function checkLedgerUsage({ records, submissions }: Dump): Violation[] {
  return submissions.flatMap(({ submissionId, usage }) => {
    const settled = settlementOf(records, submissionId)?.usage ?? null;
    return usage === (settled === null ? null : encodeUsage(settled))
      ? []
      : [violation(10, `${submissionId}: the ledger's usage is not its settlement's`)];
  });
}

/** 14. When the world is quiet, everything accepted has settled or waits with a reason, or is queued behind what waits. */
function checkLiveness(dump: Dump, { isQuiet }: Evidence): Violation[] {
  if (!isQuiet) return [];
  const owed = dump.submissions.filter((row) => row.outcome === null);
  const isJoined = (row: SubmissionRow): boolean => row.host !== null && row.joinedAt !== null;
  const blocked = owed.some((row) => (row.wait !== null && !isParked(row.wait)) || isJoined(row));
  // Without its host among what is owed, nothing would ever settle a joined input.
  const hosts = owed.filter((row) => row.wait !== null);
  return owed
    .filter((row) => row.wait === null && (isJoined(row) ? hosts.length === 0 : !blocked))
    .map((row) => violation(14, `${row.submissionId} is owed, and nothing moves it`));
}

function isParked(wait: string): boolean {
  return wait.includes('"unknown-outcome"') || wait.includes('"attempts-exhausted"');
}

/** 18. The alarm is armed exactly when the lane is due. */
function checkAlarm(dump: Dump): Violation[] {
  const dueAt = dump.due?.dueAt ?? null;
  return dueAt === dump.alarm ? [] : [violation(18, `due ${dueAt}, alarm ${dump.alarm}`)];
}

/** 19. The digest chain is intact. */
function checkChain(batches: readonly BatchRow[], { sha256 }: Evidence): Violation[] {
  // Each batch's digest is over the one before, a line break, and its own text; the first follows 64 zeros.
  let digest = "0".repeat(64);
  for (const batch of batches) {
    digest = sha256(`${digest}\n${batch.records}`);
    if (digest !== batch.digest)
      return [violation(19, `the chain breaks at record ${batch.first}`)];
  }
  return [];
}

/** No record of a superseded epoch: the epochs of attempts never fall. */
function checkEpochs(batches: readonly BatchRow[]): Violation[] {
  let highest = 0;
  for (const { epoch, first } of batches) {
    if (epoch === null) continue;
    if (epoch < highest) return [violation(1, `record ${first} is of superseded epoch ${epoch}`)];
    highest = epoch;
  }
  return [];
}
