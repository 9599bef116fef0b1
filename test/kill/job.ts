// One submission of the kill test, as the orchestrator knows it: what was acknowledged, and which calls of it reached the stub.
import type { Receipt } from "../../shared/wire/submission.ts";
import { FATES, STEPS, type Fate, type Step } from "./job-steps.ts";
import type { JobPlan } from "./kill-plan.ts";

export interface JobCall {
  readonly step: Step;
  readonly generation: number;
  readonly at: number;
  isReplied: boolean;
}

export class Job {
  readonly plan: JobPlan;
  readonly calls: JobCall[] = [];
  receipt: Receipt | null = null;
  /** The receipt of the first submit came back before the kill. */
  isAcknowledged = false;

  constructor(plan: JobPlan) {
    this.plan = plan;
  }

  /** What must happen without any request once that start of the server is up. A call that reached the stub proves the admission as much
   * as a receipt does. */
  fateAt(generation: number): Fate {
    const last = this.calls.findLast((call) => call.generation < generation);
    if (last === undefined) return this.isAcknowledged ? "due" : "either";
    return FATES[last.step][last.isReplied ? "replied" : "held"];
  }

  /** Before that start of the server a later step had begun: this step's result was committed before it. */
  wasPast(step: Step, generation: number): boolean {
    return this.calls.some(
      (call) => call.generation < generation && STEPS.indexOf(call.step) > STEPS.indexOf(step),
    );
  }

  firstCallOf(generation: number): JobCall | null {
    return this.calls.find((call) => call.generation === generation) ?? null;
  }
}
