// The rules of the history checker about tool calls (QUA-02, rules 5, 6 and 11). Pure.
import { canonicalJson, type JsonValue } from "../canonical-json.ts";
import { operationIdOf } from "../ids.ts";
import { isOwnCall } from "../wire/messages.ts";
import type { ThreadRecord } from "../wire/records.ts";
import { settlementOf, violation, type Evidence, type Violation } from "./evidence.ts";

/** 5. Every call of a completed run has exactly one result, of any other run at most one. */
export function checkCalls(records: readonly ThreadRecord[]): Violation[] {
  const found: Violation[] = [];
  for (const record of records) {
    if (record.type !== "ModelResponded") continue;
    const outcome = settlementOf(records, record.submissionId)?.outcome ?? null;
    const calls = record.payload.content.filter(isOwnCall).length;
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
export function checkExternalCalls(
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
export function checkIntents(records: readonly ThreadRecord[], { sha256 }: Evidence): Violation[] {
  const found: Violation[] = [];
  const digestOf = (args: JsonValue): string => sha256(canonicalJson(args));
  const expected = new Map<string, string>();
  for (const record of records) {
    if (record.type === "ModelResponded") {
      const calls = record.payload.content.filter(isOwnCall);
      for (const [index, { input }] of calls.entries()) {
        expected.set(operationIdOf(record.runId, record.turn, index), digestOf(input));
      }
    }
    if (record.type === "OperationDecided" && record.payload.arguments !== undefined) {
      expected.set(record.payload.operationId, digestOf(record.payload.arguments));
    }
    if (record.type !== "ToolsPrepared") continue;
    for (const { operationId, argumentsDigest } of record.payload.calls) {
      if (argumentsDigest === expected.get(operationId)) continue;
      found.push(violation(6, `${operationId} was prepared with other arguments than its own`));
    }
  }
  return found;
}

/** 11. After an abort was recorded, nothing of the run is dispatched. */
export function checkAborts(records: readonly ThreadRecord[]): Violation[] {
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
