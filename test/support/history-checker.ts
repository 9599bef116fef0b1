// Checks a thread's history against the promises (QUA-02): what was accepted settles once, what may have happened outside was not silently
// repeated, the log is whole. Runs after every scenario, over what the objects hold and what the stubs counted; pure.
import { digestJson } from "../../durable-objects/platform/digest.ts";
import { chainDigest, EMPTY_DIGEST } from "../../durable-objects/thread/journal/record-codec.ts";
import { canonicalJson } from "../../shared/canonical-json.ts";
import { operationIdOf } from "../../shared/ids.ts";
import type { ThreadRecord } from "../../shared/wire/records.ts";
import type { Receipt } from "../../shared/wire/submission.ts";
import { UsageSchema } from "../../shared/wire/usage.ts";
import type { BatchRow, Dump } from "./thread-driver.ts";

/** What the world knows beside the object. */
export interface Evidence {
  /** Receipts that callers hold, by idempotency key, in the order they came. */
  readonly receipts: readonly { readonly key: string; readonly receipt: Receipt }[];
  /** Handler executions by operation id, as the stubs counted them. */
  readonly executions: ReadonlyMap<string, number>;
  /** The highest sequence that any caller has read: it must still be there. */
  readonly acknowledgedTail: number;
  /** All work must have ended or wait with a reason. */
  readonly isQuiet: boolean;
  /** Tools whose calls need no intent; where they are not named, intents are not asked for. */
  readonly readTools?: ReadonlySet<string>;
}

/** One broken promise: the number of its rule in QUA-02, and what was found. */
export interface Violation {
  readonly rule: number;
  readonly found: string;
}

export function checkHistory(dump: Dump, evidence: Evidence): Violation[] {
  return [
    ...checkSequences(dump.records),
    ...checkAdmissions(dump, evidence),
    ...checkSettlements(dump),
    ...checkAfterSettlement(dump.records),
    ...checkCalls(dump.records),
    ...checkExternalCalls(dump.records, evidence),
    ...checkIntents(dump.records),
    ...checkAcknowledged(dump.records, evidence),
    ...checkOrder(dump),
    ...checkUsage(dump.records),
    ...checkLedgerUsage(dump),
    ...checkAborts(dump.records),
    ...checkLiveness(dump, evidence),
    ...checkAlarm(dump),
    ...checkChain(dump.batches),
    ...checkEpochs(dump.batches),
  ];
}

function violation(rule: number, found: string): Violation {
  return { rule, found };
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
      (record) => "submissionId" in record && record.submissionId === row.submissionId,
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

/** 5. Every call of a completed run has exactly one result, of any other run at most one. */
function checkCalls(records: readonly ThreadRecord[]): Violation[] {
  const found: Violation[] = [];
  for (const record of records) {
    if (record.type !== "ModelResponded") continue;
    const outcome = settlementOf(records, record.submissionId)?.outcome ?? null;
    const calls = record.payload.content.filter((part) => part.type === "tool-call").length;
    for (let index = 0; index < calls; index += 1) {
      const operationId = `${record.runId}.t${record.turn}.c${index}`;
      const results = records.filter(
        (other) => other.type === "ToolSettled" && other.payload.operationId === operationId,
      ).length;
      if (results > 1 || (outcome === "completed" && results !== 1)) {
        found.push(violation(5, `${operationId} has ${results} results`));
      }
    }
  }
  return found;
}

/** 6. An external call ran at most once per intent, and had an intent; a further intent needs a decision that allowed it. */
function checkExternalCalls(
  records: readonly ThreadRecord[],
  { executions, readTools }: Evidence,
): Violation[] {
  const found: Violation[] = [];
  const prepared = new Set<string>();
  const external = new Map<string, number>();
  const allowed = new Map<string, number>();
  for (const record of records) {
    if (record.type === "ToolsPrepared") {
      for (const call of record.payload.calls) {
        prepared.add(call.operationId);
        if (call.effect === "external") {
          external.set(call.operationId, (external.get(call.operationId) ?? 0) + 1);
        }
      }
    }
    if (
      record.type === "ToolSettled" &&
      record.payload.by === "handler" &&
      readTools !== undefined
    ) {
      const { operationId, toolName } = record.payload;
      if (!readTools.has(toolName) && !prepared.has(operationId)) {
        found.push(violation(6, `${operationId} ran without an intent`));
      }
    }
    if (record.type === "OperationDecided") {
      const { operationId, decision } = record.payload;
      if (decision === "never-started" || decision === "safe-to-retry") {
        allowed.set(operationId, (allowed.get(operationId) ?? 0) + 1);
      }
    }
  }
  for (const [operationId, intents] of external) {
    const limit = 1 + (allowed.get(operationId) ?? 0);
    const ran = executions.get(operationId) ?? 0;
    if (intents > limit) found.push(violation(6, `${operationId} was prepared ${intents} times`));
    if (ran > limit) found.push(violation(6, `${operationId} ran ${ran} times, allowed ${limit}`));
  }
  return found;
}

/** 6. An intent carries the digest of what its call runs with: the arguments of a person's edit, where there was one, else the model's. */
function checkIntents(records: readonly ThreadRecord[]): Violation[] {
  const found: Violation[] = [];
  const expected = new Map<string, string>();
  for (const record of records) {
    if (record.type === "ModelResponded") {
      const calls = record.payload.content.filter((part) => part.type === "tool-call");
      for (const [index, { input }] of calls.entries()) {
        expected.set(operationIdOf(record.runId, record.turn, index), digestJson(input));
      }
    }
    if (record.type === "OperationDecided" && record.payload.arguments !== undefined) {
      expected.set(record.payload.operationId, digestJson(record.payload.arguments));
    }
    if (record.type !== "ToolsPrepared") continue;
    for (const { operationId, argumentsDigest } of record.payload.calls) {
      if (argumentsDigest === expected.get(operationId)) continue;
      found.push(violation(6, `${operationId} was prepared with other arguments than its own`));
    }
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
    record.type === "InputRecorded" ? [order.indexOf(record.submissionId)] : [],
  );
  const isSorted = started.every((at, index) => index === 0 || at > (started[index - 1] ?? -1));
  return isSorted ? [] : [violation(8, `runs started in the order ${started.join(", ")}`)];
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
    const { usage } = record.payload;
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
    const kept = usage === null ? null : canonicalJson(UsageSchema.parse(JSON.parse(usage)));
    return kept === (settled === null ? null : canonicalJson(settled))
      ? []
      : [violation(10, `${submissionId}: the ledger's usage is not its settlement's`)];
  });
}

/** 11. After an abort was recorded, nothing of the run is dispatched. */
function checkAborts(records: readonly ThreadRecord[]): Violation[] {
  const aborted = new Set<string>();
  const found: Violation[] = [];
  for (const record of records) {
    if (record.type === "AbortRequested") aborted.add(record.submissionId);
    const isDispatch = record.type === "ToolsPrepared" || record.type === "ModelResponded";
    if (isDispatch && aborted.has(record.submissionId)) {
      found.push(violation(11, `${record.type} after the abort of ${record.submissionId}`));
    }
  }
  return found;
}

/** 14. When the world is quiet, everything accepted has settled or waits with a reason, or is queued behind what waits. */
function checkLiveness(dump: Dump, { isQuiet }: Evidence): Violation[] {
  if (!isQuiet) return [];
  const owed = dump.submissions.filter((row) => row.outcome === null);
  const blocked = owed.some((row) => row.wait !== null && !isParked(row.wait));
  return owed
    .filter((row) => row.wait === null && !blocked)
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
function checkChain(batches: readonly BatchRow[]): Violation[] {
  let digest = EMPTY_DIGEST;
  for (const batch of batches) {
    digest = chainDigest(digest, batch.records);
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

function settlementOf(records: readonly ThreadRecord[], submissionId: string) {
  const record = records.find(
    (candidate) =>
      candidate.type === "SubmissionSettled" && candidate.submissionId === submissionId,
  );
  return record?.type === "SubmissionSettled" ? record.payload : null;
}
