// What must hold when the faults have stopped: all work settled or waits with a reason, every watcher saw the whole log, and the files of the
// server, once it is down, hold histories that the checker finds sound.
import { setTimeout as sleep } from "node:timers/promises";
import { digestText } from "../../durable-objects/platform/digest.ts";
import { checkHistory } from "../../shared/testing/history-checker.ts";
import { readStoredThreads, storedBytes } from "../server/stored-threads.ts";
import { selectUnknown, ThreadLog } from "../server/thread-log.ts";
import type { SoakJob, SoakThread, SoakWorld } from "./soak-world.ts";

const DRAIN_MILLIS = 120_000;
const CATCH_UP_MILLIS = 30_000;

export interface Ending {
  readonly threads: number;
  readonly records: number;
  readonly unknown: number;
  readonly storageBytes: number;
  readonly violations: number;
}

/** Waits until nothing is owed, or all that is says what it waits for. */
export async function drain(world: SoakWorld): Promise<void> {
  const deadline = performance.now() + DRAIN_MILLIS;
  while (openJobs(world).length > 0 && performance.now() < deadline) await sleep(50);
  for (const { thread, plan, receipt } of openJobs(world)) {
    if (receipt === null) {
      world.report(`${plan.key} never got a receipt`);
      continue;
    }
    const view = await world.persistently((api) => api.submission(thread, receipt.submissionId));
    if (view.wait === undefined) world.report(`${plan.key} is ${view.state}, and nothing moves it`);
    else world.count(`waiting in the end for ${view.wait.reason}`);
  }
}

function openJobs({ threads }: SoakWorld): SoakJob[] {
  return [...threads.values()].flatMap(({ open }) => [...open]);
}

/** The logs as the interface gives them: sound, and what the watchers saw. */
export async function readLogs(world: SoakWorld): Promise<Map<string, ThreadLog>> {
  const logs = new Map<string, ThreadLog>();
  for (const thread of world.threads.values()) {
    const records = await world.persistently((api) => api.records(thread.name, 0));
    const log = new ThreadLog(thread.name);
    log.extend(records, world.report);
    logs.set(thread.name, log);
    world.count("unknown outcomes", selectUnknown(records).length);
    await catchUp(thread, records.length);
    const lines = records.map((record) => JSON.stringify(record));
    if (thread.watched.length !== lines.length) {
      world.report(`${thread.name}: ${thread.watched.length} of ${lines.length} records were seen`);
    }
    const at = lines.findIndex((line, index) => line !== thread.watched[index]);
    if (at >= 0) world.report(`${thread.name}: record ${at + 1} is not what its watcher saw`);
  }
  for (const { receipt, thread, settlement, plan } of world.jobs.values()) {
    const count = logs.get(thread)?.settlements.get(receipt?.submissionId ?? "")?.length ?? 0;
    if (count !== (settlement === null ? 0 : 1)) {
      world.report(`${plan.key} on ${thread} has ${count} settlements`);
    }
  }
  return logs;
}

async function catchUp({ watched }: SoakThread, length: number): Promise<void> {
  const deadline = performance.now() + CATCH_UP_MILLIS;
  while (watched.length < length && performance.now() < deadline) await sleep(20);
}

/** The files of the server, which is down. */
export async function checkFiles(
  { server, stub, jobs, report }: SoakWorld,
  logs: ReadonlyMap<string, ThreadLog>,
): Promise<Omit<Ending, "unknown">> {
  const executed = await stub.executions(null);
  const executions = new Map(executed.map(({ operationId, count }) => [operationId, count]));
  const stored = await readStoredThreads(server.storage);
  let records = 0;
  let violations = 0;
  for (const { threadId, dump } of stored) {
    records += dump.records.length;
    logs.get(threadId)?.compare(dump.records, report);
    const receipts = [...jobs.values()].flatMap(({ thread, receipt, plan }) =>
      thread === threadId && receipt !== null ? [{ key: plan.key, receipt }] : [],
    );
    const found = checkHistory(dump, {
      receipts,
      executions,
      acknowledgedTail: logs.get(threadId)?.tail ?? 0,
      isQuiet: true,
      sha256: digestText,
      readTools: new Set(["look_up"]),
    });
    violations += found.length;
    for (const { rule, found: what } of found) report(`${threadId} breaks rule ${rule}: ${what}`);
  }
  if (stored.length !== logs.size) report(`${stored.length} threads are stored, of ${logs.size}`);
  const storageBytes = await storedBytes(server.storage);
  return { threads: stored.length, records, storageBytes, violations };
}
