// From a deployment's options to what makes the parts of a thread. It runs when an object wakes: local, bounded, and it may throw what the
// deployment's own functions throw.
import { z } from "zod";
import { readVariable, type Environment, type Services } from "../../shared/define/environment.ts";
import type { Failpoints } from "../../shared/failpoints.ts";
import type { Ports } from "../../shared/ports.ts";
import { AgentRegistry } from "../agents/registry.ts";
import type { Database } from "../platform/database.ts";
import type { AlarmSlot } from "../scheduler/alarm-slot.ts";
import { DueQueue } from "../scheduler/due-queue.ts";
import { asRuntimeLane } from "../scheduler/lane.ts";
import { Lanes } from "../scheduler/lanes.ts";
import { LanesStore } from "../scheduler/lanes.store.ts";
import { DueQueueStore } from "../scheduler/due-queue.store.ts";
import type { AuthorizeOperation } from "./authorize-operation.ts";
import { JournalStore } from "./journal/journal.store.ts";
import { FaultStore } from "./recovery/fault.store.ts";
import { recoveryLanes } from "./recovery/recovery-lane.ts";
import { DeletionStore } from "./deletion/deletion.store.ts";
import { AnnotationsStore } from "./ledger/annotations.store.ts";
import { JoinsStore } from "./ledger/joins.store.ts";
import { LedgerStore } from "./ledger/ledger.store.ts";
import { ThreadRowStore } from "./ledger/thread-row.store.ts";
import { ChangeSignal } from "./progress/change-signal.ts";
import { ProgressWaiters } from "./progress/progress-waiters.ts";
import { allowAllTools } from "./run/authorize-tools.ts";
import { History } from "./run/history.ts";
import { Tracer } from "../tracing/tracer.ts";
import type { OnEvent } from "../platform/wrap-event.ts";
import { observeFailure } from "./observe-failures.ts";
import { makeRecordLog, type RecordLog } from "./record-log.ts";
import { ThreadCore } from "./thread-core.ts";
import type { PlacementOptions } from "../platform/placement.ts";
import { DEFAULT_THREAD_LIMITS, type ThreadLimits } from "./thread-limits.ts";
import type { ThreadOptions } from "./thread-options.ts";

/** A deployment that types its services also makes them. */
const NO_SERVICES = z.custom<Services>().parse({});

/** What is the object's own, whatever the deployment sets. */
export interface ObjectParts {
  readonly database: Database;
  readonly slot: AlarmSlot;
  readonly failpoints: Failpoints;
  readonly ports: Ports;
  readonly env: Environment;
}

/** A deployment's options at work in one object. */
export interface Setup {
  /** @param threadNumber the thread's inside the object: tables and stores hold any number of threads */
  readonly makeCore: (threadId: string, threadNumber: number) => ThreadCore;
  readonly lanes: Lanes;
  readonly dueQueue: DueQueue;
  readonly tracer: Tracer;
  readonly limits: ThreadLimits;
  readonly placement: PlacementOptions;
  readonly authorizeOperation: AuthorizeOperation | null;
  readonly onEvent: OnEvent | null;
}

export function setUp(parts: ObjectParts, options: ThreadOptions): Setup {
  const { database, slot, failpoints, ports, env } = parts;
  const registry = new AgentRegistry(options.agents, options, env);
  const services = options.services?.(env) ?? NO_SERVICES;
  const toolAuthorization = options.toolAuthorization ?? allowAllTools;
  const limits = { ...DEFAULT_THREAD_LIMITS, ...options.limits };
  const deploymentId = deploymentIdOf(env);
  const isReadable = readVariable(env, "HOLDFAST_LOG") === "readable";
  const dueQueue = new DueQueue(new DueQueueStore(database), slot);
  const lanes = new Lanes({
    database,
    store: new LanesStore(database),
    dueQueue,
    clock: ports.clock,
    random: () => ports.ids.random(),
    failpoints,
    lanes: [...(options.lanes ?? []).map(asRuntimeLane), ...recoveryLanes(options)],
    forMutation: options.hostLanesForMutation ?? null,
    context: { env, services },
  });
  const tracer = new Tracer();
  const makeCore = (threadId: string, threadNumber: number): ThreadCore => {
    const journal = new JournalStore(database, threadNumber, deploymentId);
    return new ThreadCore({
      threadId,
      threadNumber,
      database,
      journal,
      ledger: new LedgerStore(database, threadNumber),
      joins: new JoinsStore(database, threadNumber),
      annotations: new AnnotationsStore(database, threadNumber),
      deletion: new DeletionStore(database, threadNumber),
      faults: new FaultStore(database, threadNumber),
      row: new ThreadRowStore(database, threadNumber),
      dueQueue,
      lanes,
      history: new History(journal),
      waiters: new ProgressWaiters(),
      changes: new ChangeSignal(),
      registry,
      services,
      toolAuthorization,
      env,
      recordLog: observed(makeRecordLog(threadId, isReadable), threadId, options),
      tracer,
      clock: ports.clock,
      ids: ports.ids,
      failpoints,
      limits,
    });
  };
  const { authorizeOperation = null, onEvent = null } = options;
  return {
    makeCore,
    lanes,
    dueQueue,
    tracer,
    limits,
    placement: options,
    authorizeOperation,
    onEvent,
  };
}

/** Beside the log of records, what the host wants to hear of them. */
function observed(log: RecordLog, threadId: string, { onToolFailure }: ThreadOptions): RecordLog {
  if (onToolFailure === undefined) return log;
  return (stored) => {
    log(stored);
    observeFailure(onToolFailure, threadId, stored);
  };
}

/** The deployed version, so that records say which code wrote them. */
function deploymentIdOf(env: Environment): string {
  const metadata: unknown = Reflect.get(env, "CF_VERSION_METADATA");
  const id: unknown =
    typeof metadata === "object" && metadata !== null ? Reflect.get(metadata, "id") : undefined;
  return typeof id === "string" && id !== "" ? id : "local";
}
