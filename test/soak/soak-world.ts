// What every part of the soak test shares: the server that comes and goes, the work that was accepted, what was counted, and how to ask until
// there is an answer.
import { setTimeout as sleep } from "node:timers/promises";
import type { Settlement } from "../../shared/wire/settlement.ts";
import type { Receipt } from "../../shared/wire/submission.ts";
import type { Server } from "../server/server.ts";
import type { Stub } from "../server/stub.ts";
import { ApiRefusal, ThreadApi } from "../server/thread-api.ts";
import type { ReportFault } from "../server/thread-log.ts";
import type { JobPlan } from "./soak-plan.ts";

/** A server that gives no answer for so long, its restarts included, is no longer there. */
const UNREACHABLE_MILLIS = 60_000;
const RETRY_MILLIS = 25;

/** One submission, as its submitter knows it. */
export class SoakJob {
  readonly plan: JobPlan;
  readonly thread: string;
  readonly isBusy: boolean;
  receipt: Receipt | null = null;
  settlement: Settlement | null = null;

  constructor(plan: JobPlan, { name, isBusy }: SoakThread) {
    this.plan = plan;
    this.thread = name;
    this.isBusy = isBusy;
  }
}

/** A thread under load, and its whole log as a watcher read it from the event stream. */
export interface SoakThread {
  readonly name: string;
  readonly open: Set<SoakJob>;
  /** Records as JSON; the index is the sequence less one. */
  readonly watched: string[];
  /** Its work joins, rejects and interrupts: what a run answers, and whether it is aborted, depends on the moment. */
  readonly isBusy: boolean;
  /** No more work is submitted to it. */
  isRetired: boolean;
}

export class SoakWorld {
  readonly server: Server;
  readonly stub: Stub;
  readonly report: ReportFault;
  readonly counts = new Map<string, number>();
  readonly jobs = new Map<string, SoakJob>();
  readonly threads = new Map<string, SoakThread>();
  /** New work is submitted. */
  isLoading = true;
  /** Ends the event streams. */
  readonly over = new AbortController();

  constructor(server: Server, stub: Stub, report: ReportFault) {
    this.server = server;
    this.stub = stub;
    this.report = report;
  }

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }

  counted(what: string): number {
    return this.counts.get(what) ?? 0;
  }

  threadOf(name: string, isBusy: boolean): SoakThread {
    const known = this.threads.get(name);
    if (known !== undefined) return known;
    const thread: SoakThread = { name, isBusy, open: new Set(), watched: [], isRetired: false };
    this.threads.set(name, thread);
    return thread;
  }

  jobOf(submissionId: string): SoakJob | null {
    return this.jobs.get(submissionId) ?? null;
  }

  /** Asks again for as long as connections are refused or break, as they do around a kill. What the server refuses is thrown. */
  async persistently<T>(ask: (api: ThreadApi) => Promise<T>): Promise<T> {
    const deadline = performance.now() + UNREACHABLE_MILLIS;
    for (;;) {
      try {
        return await ask(new ThreadApi(this.server.baseUrl));
      } catch (error) {
        if (error instanceof ApiRefusal) throw error;
        if (performance.now() > deadline) throw error;
        this.count("calls that got no answer, and were made again");
      }
      await sleep(RETRY_MILLIS);
    }
  }
}
