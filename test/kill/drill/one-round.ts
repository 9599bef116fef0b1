// One SIGKILL of the drill: brings every thread to the call before the planned one, lets the planned calls begin so that the kill finds each at
// its offset, kills, restarts on the same storage, sees what was executed before anybody decided, then decides by the stub's count.
import { setTimeout as sleep } from "node:timers/promises";
import { waitExactly } from "../../server/moments.ts";
import type { Server } from "../../server/server.ts";
import type { Stub } from "../../server/stub.ts";
import { ThreadApi } from "../../server/thread-api.ts";
import { callIdOf, ThreadLog, type ReportFault } from "../../server/thread-log.ts";
import { DrillJob, type DrillBoard } from "./drill-board.ts";
import { DRILL_CALLS, HANDLER_MILLIS, type DrillJobPlan, type Place } from "./drill-plan.ts";

const STAGE_TIMEOUT_MILLIS = 20_000;
const REST_TIMEOUT_MILLIS = 30_000;
/** Between the last thread's being ready and the first release. */
const LEAD_MILLIS = 50;

export interface DrillWorld {
  readonly server: Server;
  readonly stub: Stub;
  readonly board: DrillBoard;
  readonly report: ReportFault;
}

/** One killed call. */
export interface KilledCall {
  readonly place: Place;
  /** From its arrival at the stub to the server's end; null when the kill came before it arrived. */
  readonly offsetMillis: number | null;
  /** Executions by the stub's count after the restart, before any decision, and at the end. */
  readonly executed: number;
  readonly executedInTheEnd: number;
  readonly isUnknown: boolean;
  readonly isSettled: boolean;
}

export interface DrillRound {
  readonly calls: readonly KilledCall[];
  /** Planned calls that had been answered when the kill came: none of them is counted as killed. */
  readonly answered: number;
  /** Unknown outcomes in all: the calls of the turn behind a killed one have their intents in the same commit. */
  readonly unknown: number;
  readonly externalCalls: number;
  readonly executedTwice: number;
}

export async function runRound(
  world: DrillWorld,
  plans: readonly DrillJobPlan[],
): Promise<DrillRound> {
  const jobs = plans.map((plan) => new DrillJob(plan));
  const killedAt = await killAtOffsets(world, jobs);
  await world.server.start();
  const api = new ThreadApi(world.server.baseUrl);
  await Promise.all(jobs.map((job) => toRest(world, api, job)));
  // Before anybody decided: what the server did by itself, with the kill in the middle.
  const untouched = await countAll(world.stub);
  const unknown = new Set<string>();
  const settled = await Promise.all(jobs.map((job) => resolve(world, api, job, unknown)));
  const atTheEnd = await countAll(world.stub);
  const calls = jobs.flatMap((job, index): KilledCall[] => {
    if (job.isAnswered) return [];
    const callId = callIdAt(job, Number(job.target.split("-")[1]));
    return [
      {
        place: job.plan.place,
        offsetMillis: job.arrivedAt === null ? null : killedAt - job.arrivedAt,
        executed: untouched.get(callId) ?? 0,
        executedInTheEnd: atTheEnd.get(callId) ?? 0,
        isUnknown: unknown.has(callId),
        isSettled: settled[index] ?? false,
      },
    ];
  });
  for (const { place, isUnknown, executed } of calls) {
    // What had reached the outside and was never answered cannot be known to anybody but a person.
    if (executed > 0 && !isUnknown) world.report(`a killed ${place} call is no unknown outcome`);
    if (executed > 1)
      world.report(`a killed ${place} call ran ${executed} times before a decision`);
  }
  const own = jobs.flatMap((job) =>
    Array.from({ length: DRILL_CALLS }, (_, index) => callIdAt(job, index)),
  );
  const twice = own.filter((callId) => (atTheEnd.get(callId) ?? 0) > 1);
  for (const callId of twice) world.report(`${callId} was executed ${atTheEnd.get(callId)} times`);
  for (const callId of own.filter((each) => (atTheEnd.get(each) ?? 0) === 0)) {
    world.report(`${callId} was never executed, and its run went on`);
  }
  return {
    calls,
    answered: jobs.length - calls.length,
    unknown: unknown.size,
    externalCalls: own.length,
    executedTwice: twice.length,
  };
}

/** Returns the moment of the server's end. */
async function killAtOffsets(world: DrillWorld, jobs: readonly DrillJob[]): Promise<number> {
  const { server, board, report } = world;
  board.load(server.generation, jobs);
  const api = new ThreadApi(server.baseUrl);
  await Promise.all(
    jobs.map(async (job) => {
      const { key } = job.plan;
      const request = { agent: "driller", input: { job: key } };
      job.submissionId = (await api.submit(key, key, request)).receipt.submissionId;
    }),
  );
  const deadline = performance.now() + STAGE_TIMEOUT_MILLIS;
  const waiting = (): DrillJob[] => jobs.filter(({ staged }) => staged === null);
  while (waiting().length > 0 && performance.now() < deadline) await sleep(2);
  for (const { plan, stage } of waiting()) report(`${plan.key} never came to ${stage}`);

  const killAt = performance.now() + LEAD_MILLIS + HANDLER_MILLIS;
  const releases = jobs.map(async (job) => {
    await sleep(Math.max(0, killAt - job.plan.offsetMillis - performance.now()));
    board.release(job);
  });
  await waitExactly(killAt - performance.now());
  board.recover(server.generation + 1);
  await server.kill();
  const killedAt = performance.now();
  await Promise.all(releases);
  return killedAt;
}

/** Waits, without any request that could move it, until the run waits for a person or has settled. */
async function toRest(world: DrillWorld, api: ThreadApi, { plan, submissionId }: DrillJob) {
  const deadline = performance.now() + REST_TIMEOUT_MILLIS;
  for (;;) {
    const { state, wait } = await api.submission(plan.key, submissionId);
    if (state === "settled" || wait?.reason === "unknown-outcome") return;
    if (performance.now() > deadline) {
      world.report(`${plan.key} did not come to rest by itself: ${state} ${wait?.reason ?? ""}`);
      return;
    }
    await sleep(10);
  }
}

/** Decides what is unknown by what the stub counted, and sees to it that the run settles once, as it should. */
async function resolve(
  { stub, report }: DrillWorld,
  api: ThreadApi,
  { plan, submissionId }: DrillJob,
  unknown: Set<string>,
): Promise<boolean> {
  const { key } = plan;
  for (const { operationId } of await api.operations(key)) {
    const callId = callIdOf(operationId);
    unknown.add(callId);
    const hasRun = (await stub.executions(callId)).length > 0;
    await api.decide(key, {
      operationId,
      reason: "the stub's count",
      ...(hasRun
        ? { decision: "completed", result: { done: true } }
        : { decision: "never-started" }),
    });
  }
  const settlement = await api.settlement(key, submissionId);
  const expected = JSON.stringify({ job: key, charges: DRILL_CALLS });
  const output = JSON.stringify(settlement?.output ?? null);
  if (settlement?.outcome !== "completed" || output !== expected) {
    report(`${key} ended as ${settlement?.outcome ?? "nothing at all"} with ${output}`);
  }
  const log = new ThreadLog(key);
  log.extend(await api.records(key, 0), report);
  const settlements = log.settlements.get(submissionId)?.length ?? 0;
  if (settlements !== 1) report(`${key} has ${settlements} settlements`);
  return settlements === 1;
}

/** Executions by call. */
async function countAll(stub: Stub): Promise<Map<string, number>> {
  const executions = await stub.executions(null);
  return new Map(executions.map(({ operationId, count }) => [operationId, count]));
}

/** Written out here and not imported: the ids are part of what clients rely on. */
function callIdAt({ submissionId }: DrillJob, index: number): string {
  return `${submissionId.replace(/^sub-/, "run-")}.t1.c${index}`;
}
