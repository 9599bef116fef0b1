// Situations that the field reports describe, made on a real object, and what each left in log, prompts and world.
import { expect } from "vitest";
import { must } from "../../../shared/assert.ts";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import type { EventsRequest } from "../../../shared/wire/events.ts";
import type { Operation } from "../../../shared/wire/operations.ts";
import type { RecordOf, RecordType, ThreadRecord } from "../../../shared/wire/records.ts";
import { unwrap } from "../../../shared/wire/rpc.ts";
import type { SubmitResult } from "../../../shared/wire/submission.ts";
import { EventReader } from "../../support/event-reader.ts";
import { seenPrompts, type PlannedTurn } from "../../support/scripted-model.ts";
import { TESTER, ThreadDriver } from "../../support/thread-driver.ts";
import { world } from "../../support/world.ts";

export type Prompt = (typeof seenPrompts)[number]["prompt"];

/** Submits work whose model calls and prompts can be told from those of every other thread. */
export function submit(
  thread: ThreadDriver,
  plan: readonly PlannedTurn[],
  options: { agent?: string; key?: string } = {},
): Promise<SubmitResult> {
  return thread.submit(plan, { ...options, note: thread.threadId });
}

/** How often the model was asked for this thread. */
export function modelCallsOf({ threadId }: ThreadDriver): number {
  let calls = 0;
  for (const [key, count] of world.modelCalls) {
    if (key.includes(`"note":"${threadId}"`)) calls += count;
  }
  return calls;
}

/** What the model was shown for this thread, oldest first. */
export function promptsOf({ threadId }: ThreadDriver): Prompt[] {
  return seenPrompts
    .map(({ prompt }) => prompt)
    .filter((prompt) => JSON.stringify(prompt).includes(`\\"note\\":\\"${threadId}\\"`));
}

/** Handler executions of a submission's calls, by operation id. */
export function executionsOf(submissionId: string): Map<string, number> {
  const run = `${runIdOf(submissionId)}.`;
  return new Map([...world.executions].filter(([operationId]) => operationId.startsWith(run)));
}

export function runIdOf(submissionId: string): string {
  return submissionId.replace("sub-", "run-");
}

export function only<Type extends RecordType>(
  records: readonly ThreadRecord[],
  type: Type,
): RecordOf<Type>[] {
  return records.filter((record): record is RecordOf<Type> => record.type === type);
}

/** The code that it is refused with; fails the test where it is not. */
export async function refusalOf(call: Promise<unknown>): Promise<string> {
  const outcome = await call.then(
    () => "accepted",
    (error: unknown) => error,
  );
  if (!(outcome instanceof HoldfastError)) throw outcome;
  return outcome.code;
}

export async function watch(
  thread: ThreadDriver,
  asked: Partial<EventsRequest> = {},
): Promise<EventReader> {
  const request = { threadId: thread.threadId, caller: TESTER, ...asked };
  return new EventReader(unwrap(await thread.stub.events(request)));
}

/** As a good client does after an answer that was lost: the same again. */
export async function persistently<T>(ask: () => Promise<T>): Promise<T> {
  for (let lost = 0; lost < 5; lost += 1) {
    const answer = await ask().then(
      (value) => ({ value }),
      () => null,
    );
    if (answer !== null) return answer.value;
  }
  return ask();
}

interface Situation {
  readonly thread: ThreadDriver;
  readonly submissionId: string;
}

interface AtOperation extends Situation {
  readonly operation: Operation;
}

async function firstOperation(thread: ThreadDriver): Promise<Operation> {
  return must((await thread.operations())[0], "an operation is open");
}

/** A run that waits for a person's approval of its one call. */
export async function awaitingApproval(
  then: readonly PlannedTurn[] = [{ text: "ok" }],
): Promise<AtOperation> {
  const thread = new ThreadDriver("report");
  const { receipt } = await submit(thread, [{ calls: [{ tool: "guarded" }] }, ...then]);
  const { submissionId } = receipt;
  await thread.waitingFor(submissionId, "approval");
  await thread.quiet();
  return { thread, submissionId, operation: await firstOperation(thread) };
}

/** A run that is parked: its object died while its external call was open. */
export async function unknownOutcome(): Promise<AtOperation> {
  const thread = new ThreadDriver("report");
  const gate = `${thread.threadId}-flight`;
  const { receipt } = await submit(thread, [
    { calls: [{ tool: "act", input: { behave: "deaf-gate", gate } }] },
    { text: "ok" },
  ]);
  const { submissionId } = receipt;
  await thread.arrival(gate);
  await thread.crash();
  await thread.runAlarms();
  await thread.waitingFor(submissionId, "unknown-outcome");
  await thread.quiet();
  return { thread, submissionId, operation: await firstOperation(thread) };
}

/** A run that waits to call its model again. */
export async function backingOff(times: number): Promise<Situation> {
  const thread = new ThreadDriver("report");
  const { receipt } = await submit(thread, [
    { text: "ok", fail: { how: "http", status: 503, times } },
  ]);
  await thread.waitingFor(receipt.submissionId, "retry-backoff");
  await thread.quiet();
  return { thread, submissionId: receipt.submissionId };
}

/** A run whose every attempt came to nothing. */
export async function exhausted(): Promise<Situation> {
  const thread = new ThreadDriver("report");
  const gate = `${thread.threadId}-model`;
  const { receipt } = await submit(thread, [{ text: "ok", gate }]);
  await thread.arrival(gate);
  await thread.crash();
  for (let death = 0; death < 5; death += 1) {
    world.armCrashes({ point: "model:before-call", mode: "sync-abort" });
    await thread.fireAlarm().catch(() => false);
  }
  world.disarm();
  await thread.openGate(gate);
  await thread.waitingFor(receipt.submissionId, "attempts-exhausted");
  return { thread, submissionId: receipt.submissionId };
}

/** Every call that a prompt shows has exactly one result, and no result is without its call. */
export function expectPaired(prompt: Prompt): void {
  const calls: string[] = [];
  const results: string[] = [];
  for (const message of prompt) {
    if (message.role === "assistant") {
      for (const part of message.content) {
        if (part.type === "tool-call") calls.push(part.toolCallId);
      }
    }
    if (message.role === "tool") {
      for (const part of message.content) {
        if (part.type === "tool-result") results.push(part.toolCallId);
      }
    }
  }
  expect(results).toEqual(calls);
  expect(new Set(calls).size).toBe(calls.length);
}
