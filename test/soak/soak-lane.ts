// One lane of the soak test's load: submits job after job to its thread, waits for each to settle, and aborts those that are meant to be.
import { setTimeout as sleep } from "node:timers/promises";
import type { Settlement } from "../../shared/wire/settlement.ts";
import type { SubmitRequest } from "../../shared/wire/submission.ts";
import { seeded } from "../server/seeded.ts";
import { ApiRefusal } from "../server/thread-api.ts";
import { CHARGES, planJob } from "./soak-plan.ts";
import { followJob, watchThread } from "./soak-watchers.ts";
import { SoakJob, type SoakThread, type SoakWorld } from "./soak-world.ts";

/** Of one thread, settled or not yet: well below the queue's own limit. */
const MAX_OPEN = 3;
/** Jobs that a short thread gets before the lane opens another. */
const SHORT_THREAD_JOBS = 25;

export interface Lane {
  readonly number: number;
  /** It stays on one thread, whose log grows all the time. */
  readonly isLong: boolean;
  /** Its work does not only enqueue. */
  readonly isBusy: boolean;
}

/** Returns when all that it submitted has settled. */
export async function runLane(world: SoakWorld, { number, isLong, isBusy }: Lane, seed: number) {
  const random = seeded(seed + number);
  const settling: Promise<void>[] = [];
  const watching: Promise<void>[] = [];
  let thread: SoakThread | null = null;
  let watched: SoakThread | null = null;
  for (let index = 0; world.isLoading; index += 1) {
    if (thread === null || (!isLong && index % SHORT_THREAD_JOBS === 0)) {
      if (thread !== null) thread.isRetired = true;
      thread = world.threadOf(isLong ? `long-${number}` : `short-${number}-${index}`, isBusy);
    }
    const job = new SoakJob(planJob(`${number}-${index}`, random), thread);
    thread.open.add(job);
    if (!(await submit(world, job))) {
      thread.open.delete(job);
      continue;
    }
    if (thread !== watched) {
      // From its first receipt on: before it there is no thread to watch.
      watched = thread;
      watching.push(watchThread(world, thread, seeded(seed ^ index)));
    }
    settling.push(settle(world, thread, job));
    await sleep(job.plan.pauseMillis);
    while (world.isLoading && thread.open.size >= MAX_OPEN) await sleep(20);
  }
  await Promise.all(settling);
  return watching;
}

function requestOf({ plan, isBusy }: SoakJob): SubmitRequest {
  const request = { agent: "soaker", input: { job: plan.key } };
  return isBusy ? { ...request, onBusy: plan.onBusy } : request;
}

/** False where the thread was busy, and the work was to be rejected then. */
async function submit(world: SoakWorld, job: SoakJob): Promise<boolean> {
  const { thread, plan } = job;
  const sent = await world
    .persistently((api) => api.submit(thread, plan.key, requestOf(job)))
    .catch((error: unknown) => {
      const isBusy = error instanceof ApiRefusal && error.status === 409;
      if (isBusy && job.isBusy && plan.onBusy === "reject") return null;
      throw error;
    });
  if (sent === null) {
    world.count("submissions rejected by a busy thread");
    await sleep(plan.pauseMillis);
    return false;
  }
  const { receipt, replayed } = sent;
  if (job.isBusy) world.count(`submissions that ${plan.onBusy} where it is busy`);
  job.receipt = receipt;
  world.jobs.set(receipt.submissionId, job);
  world.count("submissions");
  if (replayed) world.count("receipts that were lost with the server, and replayed");
  return true;
}

async function settle(world: SoakWorld, thread: SoakThread, job: SoakJob): Promise<void> {
  const { receipt, plan } = job;
  if (receipt === null) return;
  const { submissionId } = receipt;
  const following = plan.isFollowed ? followJob(world, job, submissionId) : Promise.resolve();
  if (plan.kind === "abort") await abort(world, job, submissionId);
  while (job.settlement === null) {
    job.settlement = await world.persistently((api) => api.settlement(thread.name, submissionId));
    if (job.settlement === null && world.over.signal.aborted) return;
  }
  checkSettlement(world, job, job.settlement);
  world.count(`settled ${job.settlement.outcome}`);
  world.count("turns", job.settlement.usage.turns);
  await following;
  thread.open.delete(job);
  // Long after its end the key still answers with its receipt.
  const again = await world.persistently((api) =>
    api.submit(thread.name, plan.key, requestOf(job)),
  );
  if (again.replayed && again.receipt.submissionId === submissionId) return;
  world.report(`${plan.key} was ${submissionId}, and is ${again.receipt.submissionId}`);
}

async function abort(world: SoakWorld, job: SoakJob, submissionId: string): Promise<void> {
  await sleep(job.plan.abortAfterMillis);
  const { effect } = await world.persistently((api) => api.abort(job.thread, submissionId));
  world.count(`aborts ${effect}`);
}

function checkSettlement(
  { report }: SoakWorld,
  { plan, isBusy }: SoakJob,
  settlement: Settlement,
): void {
  const { key, kind, decision } = plan;
  const { outcome, output } = settlement;
  if (outcome === "aborted" && (kind === "abort" || isBusy)) return;
  if (outcome === "completed" && isBusy) return;
  const expected = JSON.stringify({
    job: key,
    charges: kind === "tools" || kind === "abort" ? CHARGES : 0,
    guarded: kind === "approval" && decision !== "deny" ? 1 : 0,
  });
  if (outcome === "completed" && output === expected) return;
  report(`${key} ended as ${outcome} with ${JSON.stringify(output ?? settlement.failure ?? null)}`);
}
