// Composition root of a thread object: builds stores and services once per instance, and knows whether the object's tables are there.
import { z } from "zod";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { FAULTED_RECHECK_MILLIS } from "../../shared/limits.ts";
import { migrations } from "../../migrations/thread/bundle.ts";
import { AgentRegistry } from "../agents/registry.ts";
import type { Environment, Services } from "../../shared/define/environment.ts";
import { Database } from "../platform/database.ts";
import type { Failpoints } from "../../shared/failpoints.ts";
import { logEvent } from "../platform/log.ts";
import { createSchema, openSchema, type SchemaStatus } from "../platform/migrate.ts";
import type { Ports } from "../../shared/ports.ts";
import { AlarmPass, type PassCause } from "../scheduler/alarm-pass.ts";
import { AlarmSlot } from "../scheduler/alarm-slot.ts";
import { DueQueue } from "../scheduler/due-queue.ts";
import { DueQueueStore } from "../scheduler/due-queue.store.ts";
import { JournalStore } from "./journal/journal.store.ts";
import { LedgerStore } from "./ledger/ledger.store.ts";
import { ThreadRowStore } from "./ledger/thread-row.store.ts";
import {
  authorizeOperation,
  threadNotFound,
  type AuthorizeOperation,
  type OperationRequest,
} from "./authorize-operation.ts";
import { ChangeSignal } from "./progress/change-signal.ts";
import { ProgressWaiters } from "./progress/progress-waiters.ts";
import { allowAllTools } from "./run/authorize-tools.ts";
import { History } from "./run/history.ts";
import { runHeads } from "./run/run-heads.ts";
import { ThreadCore } from "./thread-core.ts";
import { DEFAULT_THREAD_LIMITS } from "./thread-limits.ts";
import type { ThreadOptions } from "./thread-options.ts";

/** One thread per object is the placement; its number inside the object. Tables and stores hold any number of threads. */
const THREAD_NUMBER = 1;

/** A deployment that types its services also makes them. */
const NO_SERVICES = z.custom<Services>().parse({});

export class ThreadServices {
  readonly #database: Database;
  readonly #ports: Ports;
  readonly #failpoints: Failpoints;
  readonly #slot: AlarmSlot;
  readonly #makeCore: (threadId: string) => ThreadCore;
  readonly #abortObject: (reason: string) => Promise<void>;
  readonly #authorize: AuthorizeOperation | null;
  #schema: SchemaStatus;
  #core: ThreadCore | null = null;
  #pass: AlarmPass | null = null;

  /** Local and bounded: repairs the alarm from the due queue alone, reads no history, and never throws for what storage holds. */
  constructor(ctx: DurableObjectState, env: Environment, options: ThreadOptions, ports: Ports) {
    this.#database = new Database(ctx.storage);
    this.#ports = ports;
    this.#failpoints = ports.failpoints(ctx);
    this.#slot = new AlarmSlot(ctx.storage);
    // What was committed before is flushed first: an abort drops whatever is not on the disk yet.
    this.#abortObject = async (reason) => {
      await ctx.storage.sync().catch(() => undefined);
      ctx.abort(reason);
    };
    const registry = new AgentRegistry(options.agents, options.models ?? {}, env);
    const services = options.services?.(env) ?? NO_SERVICES;
    const deploymentId = deploymentIdOf(env);
    this.#authorize = options.authorizeOperation ?? null;
    this.#makeCore = (threadId) => {
      const database = this.#database;
      const journal = new JournalStore(database, THREAD_NUMBER, deploymentId);
      return new ThreadCore({
        threadId,
        database,
        journal,
        ledger: new LedgerStore(database, THREAD_NUMBER),
        row: new ThreadRowStore(database, THREAD_NUMBER),
        dueQueue: new DueQueue(new DueQueueStore(database), this.#slot),
        history: new History(journal),
        waiters: new ProgressWaiters(),
        changes: new ChangeSignal(),
        registry,
        services,
        toolAuthorization: options.toolAuthorization ?? allowAllTools,
        env,
        clock: ports.clock,
        ids: ports.ids,
        failpoints: this.#failpoints,
        limits: { ...DEFAULT_THREAD_LIMITS, ...options.limits },
      });
    };
    this.#schema = { kind: "empty" };
    this.#wake();
  }

  /** The thread of that id. Throws `ThreadNotFound` for an object that was never written, or that holds another thread. */
  open(threadId: string): ThreadCore {
    this.#refuseFaulted();
    const core = this.#core;
    if (core === null || core.threadId !== threadId) {
      throw threadNotFound();
    }
    return core;
  }

  /** Asks the host, where it has a say. Throws `ThreadNotFound` for what it does not allow; nothing was read or written until then. */
  async authorize(request: Omit<OperationRequest, "createdBy">): Promise<void> {
    if (this.#authorize === null) return;
    let createdBy: string | null;
    do {
      createdBy = this.#creator();
      await authorizeOperation(this.#authorize, { ...request, createdBy });
      // Somebody else may have created the thread while the host thought: that is another question.
    } while (createdBy === null && this.#creator() !== null);
  }

  /** Null while there is no thread here. */
  #creator(): string | null {
    if (this.#core === null) this.#wake();
    return this.#core?.row.read()?.createdBy ?? null;
  }

  /** The thread of that id for an admission, and what creates its tables if it is new. */
  openForAdmission(
    threadId: string,
    principal: string,
  ): { core: ThreadCore; createTables: (() => void) | null } {
    // An admission that broke off after its commit left the tables behind, and this instance without them in memory.
    if (this.#core === null) this.#wake();
    this.#refuseFaulted();
    if (this.#core !== null) return { core: this.open(threadId), createTables: null };
    const core = this.#makeCore(threadId);
    return {
      core,
      createTables: () => {
        const now = this.#ports.clock.now();
        createSchema(this.#database, migrations, now);
        core.row.create(threadId, principal, now);
        this.#failpoints.hit("migrate:inside");
      },
    };
  }

  /** Call after the transaction that created the tables committed. */
  adopt(core: ThreadCore): void {
    if (this.#core !== null) return;
    this.#schema = { kind: "ready" };
    this.#core = core;
    this.#failpoints.hit("migrate:after");
  }

  /** Runs what is due, or joins the pass that runs. Never rejects. */
  async drain(cause: PassCause): Promise<void> {
    if (this.#schema.kind === "refused") return this.#rearmFaulted();
    if (this.#core === null) return;
    this.#pass ??= this.#makePass(this.#core);
    await this.#pass.drain(cause);
  }

  #makePass(core: ThreadCore): AlarmPass {
    return new AlarmPass({
      database: this.#database,
      dueQueue: core.dueQueue,
      clock: this.#ports.clock,
      random: () => this.#ports.ids.random(),
      failpoints: this.#failpoints,
      limits: core.limits.event,
      runNative: (budget, entry) => runHeads(core, budget, entry),
      abortObject: this.#abortObject,
    });
  }

  /** Takes up what storage holds. */
  #wake(): void {
    this.#schema = openSchema(this.#database, migrations, this.#ports.clock.now());
    if (this.#schema.kind === "refused") return this.#rearmFaulted();
    if (this.#schema.kind === "empty") return;
    const row = new ThreadRowStore(this.#database, THREAD_NUMBER).read();
    if (row === null) return;
    this.#core = this.#makeCore(row.threadId);
    this.#core.dueQueue.rearmOwed();
  }

  #refuseFaulted(): void {
    if (this.#schema.kind !== "refused") return;
    throw new HoldfastError(
      "Unavailable",
      `This code must not touch the thread's storage: ${this.#schema.why}. Deploy code that knows it.`,
      { fields: { reason: "schema", retryAfterSeconds: 60 } },
    );
  }

  /** A newer deployment may read what this one must not (THR-13). */
  #rearmFaulted(): void {
    if (this.#schema.kind === "refused") {
      logEvent("error", "schema-refused", { why: this.#schema.why });
    }
    this.#slot.arm(this.#ports.clock.now() + FAULTED_RECHECK_MILLIS);
  }
}

/** The deployed version, so that records say which code wrote them. */
function deploymentIdOf(env: Environment): string {
  const metadata: unknown = Reflect.get(env, "CF_VERSION_METADATA");
  const id: unknown =
    typeof metadata === "object" && metadata !== null ? Reflect.get(metadata, "id") : undefined;
  return typeof id === "string" && id !== "" ? id : "local";
}
