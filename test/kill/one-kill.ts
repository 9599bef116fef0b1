// One kill: load, SIGKILL at the planned moment, restart, wait for the work that must go on by itself, and only then requests: submits
// again with the same keys, decisions about unknown outcomes by what the stub saw, and every settlement.
import { setTimeout as sleep } from "node:timers/promises";
import type { Settlement } from "../../shared/wire/settlement.ts";
import type { Receipt, SubmitRequest } from "../../shared/wire/submission.ts";
import { waitExactly } from "../server/moments.ts";
import type { Server } from "../server/server.ts";
import type { Stub } from "../server/stub.ts";
import { ThreadApi } from "../server/thread-api.ts";
import type { CallBoard } from "./call-board.ts";
import { Job } from "./job.ts";
import { StepSchema, CHARGES_PER_JOB } from "./job-steps.ts";
import type { JobPlan, KillPlan } from "./kill-plan.ts";
import {
  callIdOf,
  selectInterrupted,
  selectUnknown,
  ThreadLog,
  type ReportFault,
} from "../server/thread-log.ts";

const TARGET_TIMEOUT_MILLIS = 10_000;
const CONTINUE_TIMEOUT_MILLIS = 10_000;
const SETTLE_TIMEOUT_MILLIS = 60_000;

export interface World {
  readonly server: Server;
  readonly stub: Stub;
  readonly board: CallBoard;
  readonly logs: Map<string, ThreadLog>;
  /** Decisions that allowed a call to run again, by call. */
  readonly allowances: Map<string, number>;
  readonly jobs: Job[];
  readonly report: ReportFault;
}

export interface KillResult {
  readonly plan: KillPlan;
  readonly submissions: number;
  /** Receipts before the kill. */
  readonly acknowledged: number;
  /** Admitted, and the receipt was lost with the server. */
  readonly repliesLost: number;
  readonly lost: number;
  /** Jobs that had to go on by themselves, and those that did before any request. */
  readonly due: number;
  readonly continued: number;
  /** From the spawn to the open port. */
  readonly listeningMillis: number;
  /** From the spawn to the first call of such a job, and to that of the last of them; null when none was due. */
  readonly firstContinuedMillis: number | null;
  readonly allContinuedMillis: number | null;
  readonly unknown: number;
  readonly decidedCompleted: number;
  readonly decidedNeverStarted: number;
}

export async function runKill(world: World, plan: KillPlan): Promise<KillResult> {
  const jobs = plan.jobs.map((planned) => new Job(planned));
  world.jobs.push(...jobs);
  world.board.enter(jobs);
  const killedAtMillis = await loadAndKill(world, plan, jobs);
  const acknowledged = jobs.filter((job) => job.isAcknowledged).length;

  const { spawnedAt } = await world.server.start();
  const listeningMillis = performance.now() - spawnedAt;
  const went = await waitForDue(world, jobs, spawnedAt);

  const api = new ThreadApi(world.server.baseUrl);
  const again = await Promise.all(jobs.map((job) => submitAgain(world, api, job)));
  const settled = await settleAll(world, api, jobs);
  await checkThreads(world, api, jobs, killedAtMillis, settled.listed);
  return {
    plan,
    submissions: jobs.length,
    acknowledged,
    repliesLost: again.filter((outcome) => outcome === "reply-lost").length,
    lost: again.filter((outcome) => outcome === "lost").length,
    ...went,
    listeningMillis,
    unknown: settled.listed.size,
    decidedCompleted: settled.completed,
    decidedNeverStarted: settled.neverStarted,
  };
}

/** Returns the wall clock right after the server's end. */
async function loadAndKill(world: World, plan: KillPlan, jobs: readonly Job[]): Promise<number> {
  const { server, board, report } = world;
  const [victim] = jobs;
  if (victim === undefined) throw new Error("a kill has a victim");
  board.load(server.generation);
  const { target } = plan;
  const aimed = target.kind === "call" ? board.aim(victim, target.step, target.moment) : null;
  const api = new ThreadApi(server.baseUrl);
  const submits = jobs.map((job) => submitFirst(api, job));
  if (target.kind !== "submit") {
    const isReached = await Promise.race([
      (aimed ?? Promise.any(submits)).then(() => true),
      sleep(TARGET_TIMEOUT_MILLIS, false, { ref: false }),
    ]);
    if (!isReached) report(`kill ${plan.index}: its ${target.kind} was never reached`);
  }
  await waitExactly(plan.offsetMillis);
  // From here on the stub answers nothing of this server: what it was told to answer before is what may have arrived.
  board.recover(server.generation + 1);
  await server.kill();
  const killedAtMillis = Date.now();
  await Promise.all(submits);
  return killedAtMillis;
}

async function submitFirst(api: ThreadApi, job: Job): Promise<void> {
  try {
    const { receipt } = await api.submit(job.plan.thread, job.plan.key, requestOf(job));
    job.receipt = receipt;
    job.isAcknowledged = true;
  } catch {
    // The server died first: nothing is known of this submit until it is sent again.
    job.isAcknowledged = false;
  }
}

function requestOf({ plan }: Job): SubmitRequest {
  return { agent: "job-runner", input: { job: plan.key } };
}

/** Sends nothing: the alarms alone must bring the work back. */
async function waitForDue(
  world: World,
  jobs: readonly Job[],
  spawnedAt: number,
): Promise<Pick<KillResult, "due" | "continued" | "firstContinuedMillis" | "allContinuedMillis">> {
  const { generation } = world.server;
  const due = jobs.filter((job) => job.fateAt(generation) === "due");
  const parked = jobs.filter((job) => job.fateAt(generation) === "parked");
  const deadline = performance.now() + CONTINUE_TIMEOUT_MILLIS;
  const silent = (): Job[] => due.filter((job) => job.firstCallOf(generation) === null);
  while (silent().length > 0 && performance.now() < deadline) await sleep(2);
  for (const { plan, calls } of silent()) {
    const last = calls.at(-1)?.step ?? "its admission";
    world.report(`${plan.key} on ${plan.thread} did not go on by itself after ${last}`);
  }
  for (const { plan } of parked.filter((job) => job.firstCallOf(generation) !== null)) {
    world.report(`${plan.key} on ${plan.thread} went on past an unknown outcome`);
  }
  const times = due
    .flatMap((job) => job.firstCallOf(generation)?.at ?? [])
    .map((at) => at - spawnedAt);
  return {
    due: due.length,
    continued: times.length,
    firstContinuedMillis: times.length === 0 ? null : Math.min(...times),
    allContinuedMillis: times.length === 0 ? null : Math.max(...times),
  };
}

/** The same key again: an acknowledged or otherwise admitted submission must give its own receipt. */
async function submitAgain(
  world: World,
  api: ThreadApi,
  job: Job,
): Promise<"replayed" | "reply-lost" | "fresh" | "lost"> {
  const { thread, key } = job.plan;
  const { receipt, replayed } = await api.submit(thread, key, requestOf(job));
  const known = job.receipt;
  job.receipt = receipt;
  const wasAdmitted = job.isAcknowledged || job.calls.length > 0;
  const isOther = known !== null && known.submissionId !== receipt.submissionId;
  if (isOther || (wasAdmitted && !replayed)) {
    world.report(`${key} on ${thread} was admitted and is gone: ${receipt.submissionId} is new`);
    return "lost";
  }
  if (!replayed) return "fresh";
  return known === null ? "reply-lost" : "replayed";
}

interface Settled {
  readonly listed: Set<string>;
  completed: number;
  neverStarted: number;
}

async function settleAll(world: World, api: ThreadApi, jobs: readonly Job[]): Promise<Settled> {
  const settled: Settled = { listed: new Set(), completed: 0, neverStarted: 0 };
  const open = new Set(jobs);
  const deadline = performance.now() + SETTLE_TIMEOUT_MILLIS;
  const waits = jobs.map(async (job) => {
    checkSettlement(world, job.plan, await awaitSettlement(api, job, deadline));
    open.delete(job);
  });
  const decisions = [...new Set(jobs.map((job) => job.plan.thread))].map(async (thread) => {
    const isOpen = (): boolean => [...open].some((job) => job.plan.thread === thread);
    while (isOpen() && performance.now() < deadline) {
      await decideOpen(world, api, thread, settled);
      await sleep(5);
    }
  });
  await Promise.all([...waits, ...decisions]);
  return settled;
}

async function awaitSettlement(
  api: ThreadApi,
  { plan, receipt }: Job,
  deadline: number,
): Promise<Settlement | null> {
  if (receipt === null) return null;
  let settlement: Settlement | null = null;
  while (settlement === null && performance.now() < deadline) {
    settlement = await api.settlement(plan.thread, receipt.submissionId);
  }
  return settlement;
}

function checkSettlement(world: World, { key }: JobPlan, settlement: Settlement | null): void {
  const output = JSON.stringify(settlement?.output ?? null);
  const expected = JSON.stringify({ job: key, charges: CHARGES_PER_JOB });
  if (settlement?.outcome === "completed" && output === expected) return;
  world.report(`${key} ended as ${settlement?.outcome ?? "nothing at all"} with ${output}`);
}

/** Decides what is open by what the stub saw, twice: the second time must be a replay. */
async function decideOpen(
  world: World,
  api: ThreadApi,
  thread: string,
  settled: Settled,
): Promise<void> {
  for (const { operationId } of await api.operations(thread)) {
    const callId = callIdOf(operationId);
    const seen = await world.stub.executions(callId);
    settled.listed.add(operationId);
    const decision =
      seen.length > 0
        ? ({ decision: "completed", result: { done: true } } as const)
        : ({ decision: "never-started" } as const);
    if (seen.length > 0) settled.completed += 1;
    else {
      settled.neverStarted += 1;
      world.allowances.set(callId, (world.allowances.get(callId) ?? 0) + 1);
    }
    const sent = { operationId, ...decision, reason: "the stub's count" };
    const statuses = [await api.decide(thread, sent), await api.decide(thread, sent)].flatMap(
      ({ results }) => results.map(({ status }) => status),
    );
    if (statuses.join() !== "applied,replayed") {
      world.report(`${operationId}: deciding it twice the same way gave ${statuses.join()}`);
    }
  }
}

/** An operation id derives from its submission's. */
function isCallOf(callId: string, { submissionId }: Receipt): boolean {
  return callId.startsWith(`${submissionId.replace(/^sub-/, "run-")}.`);
}

async function checkThreads(
  world: World,
  api: ThreadApi,
  jobs: readonly Job[],
  killedAtMillis: number,
  listed: ReadonlySet<string>,
): Promise<void> {
  for (const thread of new Set(jobs.map((job) => job.plan.thread))) {
    const log = world.logs.get(thread) ?? new ThreadLog(thread);
    world.logs.set(thread, log);
    const records = await api.records(thread, log.tail);
    log.extend(records, world.report);
    const interrupted = selectInterrupted(records, killedAtMillis);
    const unknown = new Set(selectUnknown(records));
    for (const { operationId, callId } of interrupted) {
      const job = jobs.find(({ receipt }) => receipt !== null && isCallOf(callId, receipt));
      const step = StepSchema.parse(`charge-${callId.at(-1)}`);
      if (job?.wasPast(step, world.server.generation) === true) {
        world.report(`${operationId} had returned, and its result was not recorded at once`);
      }
      if (listed.has(operationId) && unknown.delete(operationId)) continue;
      world.report(`${operationId} was interrupted and is not an unknown operation`);
    }
    for (const operationId of unknown) {
      world.report(`${operationId} is unknown, and nothing had interrupted it`);
    }
  }
}
