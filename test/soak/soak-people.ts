// Those who look at the soak test's threads: people who decide what waits for them, by what the stub counted or by the job's plan, and readers.
import { setTimeout as sleep } from "node:timers/promises";
import type { Decision, Operation } from "../../shared/wire/operations.ts";
import { pick, type Random } from "../server/seeded.ts";
import { ApiRefusal } from "../server/thread-api.ts";
import { callIdOf } from "../server/thread-log.ts";
import type { SoakThread, SoakWorld } from "./soak-world.ts";

const LOOK_MILLIS = 100;
const READ_MILLIS = 50;

/** Decides whatever is open, until the end. */
export async function decideAll(world: SoakWorld): Promise<void> {
  while (!world.over.signal.aborted) {
    for (const thread of openThreads(world)) {
      const operations = await world.persistently((api) => api.operations(thread.name));
      for (const operation of operations) await decide(world, thread, operation);
    }
    await sleep(LOOK_MILLIS);
  }
}

function openThreads(world: SoakWorld): SoakThread[] {
  return [...world.threads.values()].filter(({ open }) =>
    [...open].some(({ receipt }) => receipt !== null),
  );
}

async function decide(world: SoakWorld, thread: SoakThread, operation: Operation): Promise<void> {
  const { operationId, submissionId } = operation;
  const job = world.jobOf(submissionId);
  // Its receipt was lost with the server: the submitter gets it when the same key is sent again.
  if (job === null) return;
  const decision = await decisionOn(world, operation);
  try {
    // Twice, as by two people who see the same question: the second must change nothing.
    const statuses: string[] = [];
    for (const _person of ["one", "another"]) {
      const { results } = await world.persistently((api) => api.decide(thread.name, decision));
      statuses.push(...results.map(({ status }) => status));
    }
    if (statuses[1] !== "replayed") {
      world.report(`${operationId}: deciding it twice the same way gave ${statuses.join()}`);
    }
    world.count(`decided ${decision.decision}`);
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    // An abort may have closed the question meanwhile.
    const isStoppable = job.plan.kind === "abort" || job.isBusy;
    if (isStoppable && error.status < 500) world.count("questions closed by an abort");
    else world.report(`${operationId} could not be decided: ${error.message}`);
  }
}

async function decisionOn(
  { stub, jobs }: SoakWorld,
  { operationId, submissionId, kind }: Operation,
): Promise<Decision> {
  const plan = jobs.get(submissionId)?.plan;
  if (kind === "approval" && plan !== undefined) {
    const { decision } = plan;
    const reason = "as planned";
    return decision === "edit"
      ? { operationId, decision, reason, arguments: { job: plan.key, index: 9 } }
      : { operationId, decision, reason };
  }
  const reason = "the stub's count";
  const hasRun = (await stub.executions(callIdOf(operationId))).length > 0;
  return hasRun
    ? { operationId, decision: "completed", result: { done: true }, reason }
    : { operationId, decision: "never-started", reason };
}

/** Reads this and that, until the end: no reading may fail, and no page may have a hole. */
export async function readAll(world: SoakWorld, random: Random): Promise<void> {
  while (!world.over.signal.aborted) {
    await sleep(READ_MILLIS);
    const [first, ...others] = openThreads(world);
    if (first === undefined) continue;
    const { name, watched } = pick([first, ...others], random);
    const what = pick(["", "/explain", "/usage", "/submissions", "records"] as const, random);
    world.count("reads");
    if (what !== "records") {
      await world.persistently((api) => api.read(name, what));
      continue;
    }
    const after = Math.floor(random() * (watched.length + 1));
    const records = await world.persistently((api) => api.records(name, after));
    for (const [index, { sequence }] of records.entries()) {
      if (sequence === after + index + 1) continue;
      world.report(`${name}: a page after ${after} has ${sequence} at its place ${index}`);
      break;
    }
  }
}
