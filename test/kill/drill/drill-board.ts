// Answers the calls of a drill: up to the call before the planned one at once, that one when the round says so, the planned one when its
// handler's time is over, and everything at once after the restart.
import { setTimeout as sleep } from "node:timers/promises";
import type { Stub } from "../../server/stub.ts";
import type { Arrival } from "../../server/stub-wire.ts";
import { HANDLER_MILLIS, INDEX_OF, type DrillJobPlan } from "./drill-plan.ts";

/** One job of a round, as the stub saw it. */
export class DrillJob {
  readonly plan: DrillJobPlan;
  /** The step whose answer lets the planned call begin, and that call's own. */
  readonly stage: string;
  readonly target: string;
  staged: Arrival | null = null;
  /** When the planned call reached the stub before the kill, and whether it was answered by then. */
  arrivedAt: number | null = null;
  isAnswered = false;
  submissionId = "";

  constructor(plan: DrillJobPlan) {
    this.plan = plan;
    const index = INDEX_OF[plan.place];
    this.stage = index === 0 ? "model-1" : `charge-${index - 1}`;
    this.target = `charge-${index}`;
  }
}

export class DrillBoard {
  readonly #stub: Stub;
  readonly #jobs = new Map<string, DrillJob>();
  #generation = 0;
  #isRecovering = false;

  constructor(stub: Stub) {
    this.#stub = stub;
    stub.onArrival = (arrival) => this.#arrived(arrival);
  }

  load(generation: number, jobs: readonly DrillJob[]): void {
    this.#generation = generation;
    this.#isRecovering = false;
    for (const job of jobs) this.#jobs.set(job.plan.key, job);
  }

  /** From the kill on: nothing of the old server is answered any more. */
  recover(nextGeneration: number): void {
    this.#generation = nextGeneration;
    this.#isRecovering = true;
  }

  /** Lets the planned call begin. */
  release({ staged }: DrillJob): void {
    if (staged !== null) this.#reply(staged);
  }

  #arrived(arrival: Arrival): void {
    const job = this.#jobs.get(arrival.job);
    if (job === undefined) throw new Error(`a call of the unknown job ${arrival.job}`);
    if (this.#isRecovering || arrival.generation !== this.#generation) this.#reply(arrival);
    else if (arrival.step === job.stage) job.staged = arrival;
    else if (arrival.step === job.target) void this.#handle(job, arrival);
    else this.#reply(arrival);
  }

  async #handle(job: DrillJob, arrival: Arrival): Promise<void> {
    job.arrivedAt = performance.now();
    await sleep(HANDLER_MILLIS, undefined, { ref: false });
    job.isAnswered = this.#reply(arrival);
  }

  #reply(arrival: Arrival): boolean {
    if (arrival.generation !== this.#generation) return false;
    this.#stub.reply(arrival);
    return true;
  }
}
