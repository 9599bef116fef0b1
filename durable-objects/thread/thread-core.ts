// What the parts of a thread share: its stores, ports and limits, the run that is live in this instance, and the two ways to append.
import type { IdSource } from "../../shared/ids.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import type { Clock } from "../../shared/time.ts";
import type { RecordDraft } from "../../shared/wire/records.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import type { Environment } from "../model/resolve-model.ts";
import type { Database } from "../platform/database.ts";
import type { Failpoint, Failpoints } from "../platform/failpoints.ts";
import type { DueQueue } from "../scheduler/due-queue.ts";
import type { Appended, JournalStore } from "./journal/journal.store.ts";
import type { LedgerStore } from "./ledger/ledger.store.ts";
import type { ThreadRowStore } from "./ledger/thread-row.store.ts";
import type { ProgressWaiters } from "./progress/progress-waiters.ts";
import { foldRecord } from "./run/fold-run.ts";
import type { RunState } from "./run/run-state.ts";
import type { History } from "./run/history.ts";
import type { LiveRun } from "./run/live-run.ts";
import type { ThreadLimits } from "./thread-limits.ts";
import type { ToolAuthorization } from "./run/authorize-tools.ts";

/** Points that a commit passes: inside its transaction after the writes, and right after it. */
export type CommitPoint = {
  [Point in Failpoint]: Point extends `${infer Name}:inside`
    ? `${Name}:after` extends Failpoint
      ? Name
      : never
    : never;
}[Failpoint];

/** The run that a commit is about, as it is before it, and who may commit. */
interface CommitTarget {
  readonly queueSequence: number;
  /** Null for a control. */
  readonly epoch: number | null;
  readonly run: RunState;
  /** Throws, first thing in the transaction, for an attempt that does not own the thread any more. */
  readonly fence: () => void;
}

export interface ThreadCoreOptions {
  readonly threadId: string;
  readonly database: Database;
  readonly journal: JournalStore;
  readonly ledger: LedgerStore;
  readonly row: ThreadRowStore;
  readonly dueQueue: DueQueue;
  readonly history: History;
  readonly waiters: ProgressWaiters;
  readonly registry: AgentRegistry;
  readonly toolAuthorization: ToolAuthorization;
  readonly env: Environment;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly failpoints: Failpoints;
  readonly limits: ThreadLimits;
}

export class ThreadCore {
  readonly threadId: string;
  readonly database: Database;
  readonly journal: JournalStore;
  readonly ledger: LedgerStore;
  readonly row: ThreadRowStore;
  readonly dueQueue: DueQueue;
  readonly history: History;
  readonly waiters: ProgressWaiters;
  readonly registry: AgentRegistry;
  readonly toolAuthorization: ToolAuthorization;
  readonly env: Environment;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly failpoints: Failpoints;
  readonly limits: ThreadLimits;
  /** The run that an attempt of this instance works on, if any. */
  live: LiveRun | null = null;

  constructor(options: ThreadCoreOptions) {
    this.threadId = options.threadId;
    this.database = options.database;
    this.journal = options.journal;
    this.ledger = options.ledger;
    this.row = options.row;
    this.dueQueue = options.dueQueue;
    this.history = options.history;
    this.waiters = options.waiters;
    this.registry = options.registry;
    this.toolAuthorization = options.toolAuthorization;
    this.env = options.env;
    this.clock = options.clock;
    this.ids = options.ids;
    this.failpoints = options.failpoints;
    this.limits = options.limits;
  }

  /**
   * Appends records of an attempt, and whatever `alongside` changes, in one transaction that refuses any epoch but the thread's current
   * one. A superseded or ended attempt gets `OwnershipLost` and leaves no trace (REC-02).
   */
  commitAsAttempt(
    live: LiveRun,
    point: CommitPoint,
    drafts: readonly RecordDraft[],
    alongside: (appended: Appended) => void = () => undefined,
  ): void {
    const { queueSequence, epoch, state: run } = live;
    const fence = (): void => {
      if (!live.hasEnded && this.row.epoch() === epoch) return;
      throw new HoldfastError("OwnershipLost", "A newer attempt owns this thread.");
    };
    this.#commit({ queueSequence, epoch, run, fence }, point, drafts, alongside);
  }

  /** Appends records of a control: no epoch, and a live attempt at that run sees them at once. */
  commitAsControl(
    queueSequence: number,
    run: RunState,
    point: CommitPoint,
    drafts: readonly RecordDraft[],
    alongside: (appended: Appended) => void,
  ): void {
    const fence = (): void => undefined;
    this.#commit({ queueSequence, epoch: null, run, fence }, point, drafts, alongside);
  }

  /** Appends, and folds what was appended while it can still be rolled back: a record that cannot follow never gets into the log. */
  #commit(
    { queueSequence, epoch, run, fence }: CommitTarget,
    point: CommitPoint,
    drafts: readonly RecordDraft[],
    alongside: (appended: Appended) => void,
  ): void {
    const { state, appended } = this.database.transact(() => {
      fence();
      const added = this.journal.append(queueSequence, epoch, drafts, this.clock.now());
      const next = added.records.reduce(foldRecord, run);
      alongside(added);
      this.failpoints.hit(`${point}:inside`);
      return { state: next, appended: added };
    });
    if (this.live?.queueSequence === queueSequence) this.live.observe(state, appended);
    this.waiters.notify(state.settlement !== null);
    this.failpoints.hit(`${point}:after`);
  }
}
