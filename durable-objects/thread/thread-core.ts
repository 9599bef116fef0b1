// What the parts of a thread share: its stores, ports and limits, the run that is live in this instance, and the two ways to append.
import type { IdSource } from "../../shared/ids.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import type { Clock } from "../../shared/time.ts";
import type { RecordDraft } from "../../shared/wire/records.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import type { Environment, Services } from "../../shared/define/environment.ts";
import type { Database } from "../platform/database.ts";
import type { Failpoint, Failpoints } from "../../shared/failpoints.ts";
import { nativeLaneOf, type DueReason } from "../scheduler/due.ts";
import type { Mutation } from "../scheduler/lane.ts";
import type { Lanes } from "../scheduler/lanes.ts";
import type { DueQueue } from "../scheduler/due-queue.ts";
import type { Appended, JournalStore, StoredRecord } from "./journal/journal.store.ts";
import type { FaultStore } from "./recovery/fault.store.ts";
import type { Fault } from "../../shared/wire/fault.ts";
import type { DeletionStore } from "./deletion/deletion.store.ts";
import type { Tombstone } from "../../shared/wire/thread.ts";
import type { AnnotationsStore } from "./ledger/annotations.store.ts";
import type { JoinsStore } from "./ledger/joins.store.ts";
import type { LedgerStore } from "./ledger/ledger.store.ts";
import type { ThreadRowStore } from "./ledger/thread-row.store.ts";
import type { ChangeSignal } from "./progress/change-signal.ts";
import type { ProgressWaiters } from "./progress/progress-waiters.ts";
import { withBudgetWarnings } from "./run/budget-drafts.ts";
import { foldRecord } from "./run/fold-run.ts";
import type { RunState } from "./run/run-state.ts";
import type { History } from "./run/history.ts";
import type { LiveRun } from "./run/live-run.ts";
import type { Tracer } from "../tracing/tracer.ts";
import type { RecordLog } from "./record-log.ts";
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

/** Appends the records of one control; returns the run's state after them. */
export type AppendControl = (
  queueSequence: number,
  run: RunState,
  drafts: readonly RecordDraft[],
) => { readonly state: RunState; readonly appended: Appended };

export interface ThreadCoreOptions {
  readonly threadId: string;
  /** The thread's number inside its object. */
  readonly threadNumber: number;
  readonly database: Database;
  readonly journal: JournalStore;
  readonly ledger: LedgerStore;
  readonly joins: JoinsStore;
  readonly annotations: AnnotationsStore;
  readonly deletion: DeletionStore;
  readonly faults: FaultStore;
  readonly row: ThreadRowStore;
  readonly dueQueue: DueQueue;
  readonly lanes: Lanes;
  readonly history: History;
  readonly waiters: ProgressWaiters;
  readonly changes: ChangeSignal;
  readonly registry: AgentRegistry;
  readonly services: Services;
  readonly toolAuthorization: ToolAuthorization;
  readonly env: Environment;
  readonly recordLog: RecordLog;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly failpoints: Failpoints;
  readonly limits: ThreadLimits;
}

export class ThreadCore {
  readonly threadId: string;
  /** Under which the due queue keeps what the thread owes. */
  readonly nativeLane: string;
  readonly database: Database;
  readonly journal: JournalStore;
  readonly ledger: LedgerStore;
  readonly joins: JoinsStore;
  readonly annotations: AnnotationsStore;
  readonly deletion: DeletionStore;
  readonly faults: FaultStore;
  readonly row: ThreadRowStore;
  readonly dueQueue: DueQueue;
  readonly lanes: Lanes;
  readonly history: History;
  readonly waiters: ProgressWaiters;
  readonly changes: ChangeSignal;
  readonly registry: AgentRegistry;
  readonly services: Services;
  readonly toolAuthorization: ToolAuthorization;
  readonly env: Environment;
  readonly recordLog: RecordLog;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly failpoints: Failpoints;
  readonly limits: ThreadLimits;
  /** The run that an attempt of this instance works on, if any. */
  live: LiveRun | null = null;
  /** Why nothing of the thread can be taken up; null while it can. */
  fault: Fault | null = null;
  /** Of a thread that was deleted. */
  tombstone: Tombstone | null = null;

  constructor(options: ThreadCoreOptions) {
    this.threadId = options.threadId;
    this.nativeLane = nativeLaneOf(options.threadNumber);
    this.database = options.database;
    this.journal = options.journal;
    this.ledger = options.ledger;
    this.joins = options.joins;
    this.annotations = options.annotations;
    this.deletion = options.deletion;
    this.faults = options.faults;
    this.row = options.row;
    this.dueQueue = options.dueQueue;
    this.lanes = options.lanes;
    this.history = options.history;
    this.waiters = options.waiters;
    this.changes = options.changes;
    this.registry = options.registry;
    this.services = options.services;
    this.toolAuthorization = options.toolAuthorization;
    this.env = options.env;
    this.recordLog = options.recordLog;
    this.tracer = options.tracer;
    this.clock = options.clock;
    this.ids = options.ids;
    this.failpoints = options.failpoints;
    this.limits = options.limits;
  }

  /**
   * Appends records of an attempt, and whatever `alongside` changes, given the state after them, in one transaction that refuses any epoch but the thread's current
   * one. A superseded or ended attempt gets `OwnershipLost` and leaves no trace (REC-02). Warnings that the records call for join them.
   */
  commitAsAttempt(
    live: LiveRun,
    point: CommitPoint,
    drafts: readonly RecordDraft[],
    alongside: (state: RunState) => void = () => undefined,
  ): void {
    const { queueSequence, epoch } = live;
    const all = withBudgetWarnings(live.state, live.policy, drafts, this.clock.now());
    const { state, appended } = this.database.transact(() => {
      if (live.hasEnded || this.row.epoch() !== epoch) {
        throw new HoldfastError("OwnershipLost", "A newer attempt owns this thread.");
      }
      const added = this.#append(queueSequence, epoch, live.state, all);
      alongside(added.state);
      this.failpoints.hit(`${point}:inside`);
      return added;
    });
    if (this.live === live) live.observe(state, appended);
    this.committed(appended.records);
    this.failpoints.hit(`${point}:after`);
  }

  /**
   * Carries controls out in one transaction: what `carryOut` appends and changes commits together, or, when it throws, not at all. No
   * epoch; a live attempt at one of their runs sees the records at once.
   */
  commitAsControl(point: CommitPoint, carryOut: (append: AppendControl) => void): void {
    const added = this.database.transact(() => {
      const all: { run: number; state: RunState; appended: Appended }[] = [];
      carryOut((queueSequence, run, drafts) => {
        const each = this.#append(queueSequence, null, run, drafts);
        all.push({ run: queueSequence, ...each });
        return each;
      });
      if (all.length > 0) this.failpoints.hit(`${point}:inside`);
      return all;
    });
    if (added.length === 0) return;
    for (const { run, state, appended } of added) {
      if (this.live?.queueSequence === run) this.live.observe(state, appended);
    }
    this.committed(added.flatMap(({ appended }) => appended.records));
    this.failpoints.hit(`${point}:after`);
  }

  /** What an instance keeps in memory of a thread that is there: whether it was deleted, or cannot be read. */
  takeUp(): void {
    const row = this.row.read();
    if (row === null) return;
    if (row.deleted !== null) this.tombstone = this.row.tombstone();
    if (row.fault !== null) this.fault = this.row.fault();
  }

  /** Tells the host's lanes of a mutation. Call inside its transaction (LANE-07). */
  mutated(kind: Mutation["kind"], submissionId: string, attempt?: number): void {
    const { threadId } = this;
    this.lanes.mutated({
      kind,
      threadId,
      submissionId,
      ...(attempt === undefined ? {} : { attempt }),
    });
  }

  /** Makes the thread's own lane due now. Call inside the transaction that produced the work. */
  enrolNative(reason: DueReason): void {
    this.dueQueue.enrol(this.nativeLane, { reason, dueAt: this.clock.now() });
  }

  /** Tells who waits, who watches and who reads the log. Call after every commit that readers can see. */
  committed(
    records: readonly StoredRecord[],
    hasSettled = records.some(({ record }) => record.type === "SubmissionSettled"),
  ): void {
    this.waiters.notify(hasSettled);
    this.changes.committed();
    for (const record of records) this.recordLog(record);
  }

  /** Folds what it appends while it can still be rolled back: a record that cannot follow never gets into the log. */
  #append(
    queueSequence: number,
    epoch: number | null,
    run: RunState,
    drafts: readonly RecordDraft[],
  ): { state: RunState; appended: Appended } {
    const appended = this.journal.append(queueSequence, epoch, drafts, this.clock.now());
    return { state: appended.records.reduce(foldRecord, run), appended };
  }
}
