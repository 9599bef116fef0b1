// Sees every call at the stub and decides when it is answered: load with its planned delays, the target as the plan says, and everything
// at once while a restarted server goes on.
import { setTimeout as sleep } from "node:timers/promises";
import type { Job, JobCall } from "./job.ts";
import type { Stub } from "../server/stub.ts";
import type { Arrival } from "../server/stub-wire.ts";
import { STEPS, StepSchema, type Step } from "./job-steps.ts";

interface Target {
  readonly job: Job;
  readonly step: Step;
  readonly moment: "arrival" | "reply";
  readonly reached: () => void;
}

export class CallBoard {
  readonly #stub: Stub;
  readonly #jobs = new Map<string, Job>();
  /** Calls of jobs that this board never entered: there must be none. */
  readonly strangers: Arrival[] = [];
  /** The start of the server whose calls are answered. */
  #generation = 0;
  #delays = false;
  #target: Target | null = null;

  constructor(stub: Stub) {
    this.#stub = stub;
    stub.onArrival = (arrival) => this.#arrived(arrival);
  }

  enter(jobs: readonly Job[]): void {
    for (const job of jobs) this.#jobs.set(job.plan.key, job);
  }

  /** Before a kill: delays as planned. */
  load(generation: number): void {
    this.#generation = generation;
    this.#delays = true;
  }

  /** From the kill on: nothing of the old server is answered any more, everything of the next one is at once. */
  recover(nextGeneration: number): void {
    this.#generation = nextGeneration;
    this.#delays = false;
    this.#target = null;
  }

  /** Resolves at the planned moment of that call. */
  aim(job: Job, step: Step, moment: Target["moment"]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#target = { job, step, moment, reached: resolve };
    return promise;
  }

  #arrived(arrival: Arrival): void {
    const job = this.#jobs.get(arrival.job);
    if (job === undefined) {
      this.strangers.push(arrival);
      return;
    }
    const { generation } = arrival;
    const step = StepSchema.parse(arrival.step);
    const call = { step, generation, at: performance.now(), isReplied: false };
    job.calls.push(call);
    const target = this.#target;
    if (target === null || target.job !== job || target.step !== step) {
      const delay = this.#delays ? (job.plan.delaysMillis[STEPS.indexOf(step)] ?? 0) : 0;
      void this.#answer(arrival, call, delay);
      return;
    }
    if (target.moment === "reply") this.#reply(arrival, call);
    target.reached();
  }

  async #answer(arrival: Arrival, call: JobCall, delayMillis: number): Promise<void> {
    if (delayMillis > 0) await sleep(delayMillis);
    this.#reply(arrival, call);
  }

  #reply(arrival: Arrival, call: JobCall): void {
    if (arrival.generation !== this.#generation) return;
    call.isReplied = true;
    this.#stub.reply(arrival);
  }
}
