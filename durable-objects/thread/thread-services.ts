// Composition root of a thread object: builds stores and services once per instance, and knows whether the object's tables are there.
import type { Environment } from "../../shared/define/environment.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import type { Failpoints } from "../../shared/failpoints.ts";
import { FAULTED_RECHECK_MILLIS } from "../../shared/limits.ts";
import type { Ports } from "../../shared/ports.ts";
import { migrations } from "../../migrations/thread/bundle.ts";
import { Database } from "../platform/database.ts";
import { errorName, logEvent } from "../platform/log.ts";
import { createSchema, openSchema, type SchemaStatus } from "../platform/migrate.ts";
import { AlarmPass, type PassCause } from "../scheduler/alarm-pass.ts";
import { AlarmSlot } from "../scheduler/alarm-slot.ts";
import { wrapEvent, type ObjectEvent } from "../platform/wrap-event.ts";
import {
  authorizeOperation,
  threadNotFound,
  type OperationRequest,
} from "./authorize-operation.ts";
import { SharedReads } from "./progress/shared-reads.ts";
import { setUp, type Setup } from "./make-core.ts";
import { PlacedThreads } from "./placement/placed-threads.ts";
import { refuseMisplaced } from "../platform/placement.ts";
import { ThreadsStore } from "./placement/threads.store.ts";
import { NativeLanesStore } from "../scheduler/native-lanes.store.ts";
import { must } from "../../shared/assert.ts";
import type { Caller } from "../../shared/wire/access.ts";
import type { ThreadCore } from "./thread-core.ts";
import type { ThreadOptions } from "./thread-options.ts";

export class ThreadServices {
  readonly #database: Database;
  readonly #ports: Ports;
  readonly #failpoints: Failpoints;
  readonly #slot: AlarmSlot;
  readonly #setUp: () => Setup | null;
  /** Null where the deployment's options could not be made: nothing runs, and the object looks again with every call and alarm. */
  #setup: Setup | null = null;
  readonly #abortObject: (reason: string) => Promise<void>;
  #schema: SchemaStatus;
  readonly #objectName: string | undefined;
  /** Null until the options are made. */
  #threads: PlacedThreads | null = null;
  readonly #sharedReads = new WeakMap<ThreadCore, SharedReads>();
  #pass: AlarmPass | null = null;

  /** Local and bounded: repairs the alarm from the due queue alone, reads no history, and never throws, neither for what storage holds nor for
   * what the deployment's own functions do: a constructor that throws uses up the alarm's redeliveries, and owed work would be forgotten. */
  constructor(
    ctx: DurableObjectState,
    env: Environment,
    optionsOf: (env: Environment) => ThreadOptions,
    ports: Ports,
  ) {
    this.#database = new Database(ctx.storage);
    this.#ports = ports;
    this.#failpoints = ports.failpoints(ctx);
    this.#slot = new AlarmSlot(ctx.storage);
    // What was committed before is flushed first: an abort drops whatever is not on the disk yet.
    this.#abortObject = async (reason) => {
      await ctx.storage.sync().catch(() => undefined);
      ctx.abort(reason);
    };
    const parts = {
      database: this.#database,
      slot: this.#slot,
      failpoints: this.#failpoints,
      ports,
      env,
    };
    this.#objectName = ctx.id.name;
    this.#setUp = () => setUpOrLog(() => setUp(parts, optionsOf(env)));
    this.#schema = { kind: "empty" };
    this.#wake();
  }

  /** The thread of that id. Throws `ThreadNotFound` for an object that was never written, or that does not hold it. */
  open(threadId: string): ThreadCore {
    this.#refuseFaulted();
    const core = this.#threads?.find(threadId) ?? null;
    if (core === null) throw threadNotFound();
    return core;
  }

  /** Runs an invocation inside the host's hook, where it has one. */
  wrap<T>(event: ObjectEvent, invocation: () => Promise<T>): Promise<T> {
    return wrapEvent(this.#setup?.onEvent ?? null, event, invocation);
  }

  hasThread(threadId: string): boolean {
    return (this.#threads?.find(threadId) ?? null) !== null;
  }

  /** What all watchers of the thread read through. */
  sharedReads(core: ThreadCore): SharedReads {
    const known = this.#sharedReads.get(core);
    if (known !== undefined) return known;
    const made = new SharedReads(core);
    this.#sharedReads.set(core, made);
    return made;
  }

  /** Asks the host, where it has a say. Throws `ThreadNotFound` for what it does not allow; nothing was read or written until then. */
  async authorize(request: Omit<OperationRequest, "createdBy">): Promise<void> {
    // Options that are not made say nothing of whom they would let in.
    const { authorizeOperation: authorize } = this.#refuseFaulted();
    const { threadId } = request;
    if (authorize === null) return;
    let createdBy: string | null;
    do {
      createdBy = this.#creator(threadId);
      await authorizeOperation(authorize, { ...request, createdBy });
      // Somebody else may have created the thread while the host thought: that is another question.
    } while (createdBy === null && this.#creator(threadId) !== null);
  }

  /** Null while there is no such thread here. */
  #creator(threadId: string): string | null {
    if (this.#threads?.first === null) this.#wake();
    return this.#threads?.find(threadId)?.row.read()?.createdBy ?? null;
  }

  /** The thread of that id for an admission, and what begins it if it is new: its row, and in an object that was never written the tables. */
  openForAdmission(
    threadId: string,
    { tenant, principal }: Caller,
  ): { core: ThreadCore; beginThread: (() => void) | null } {
    // An admission that broke off after its commit left the tables behind, and this instance without them in memory.
    if (this.#threads?.first === null) this.#wake();
    const { placement } = this.#refuseFaulted();
    refuseMisplaced(tenant, threadId, this.#objectName, placement);
    const threads = must(this.#threads, "options that are made have threads");
    const known = threads.find(threadId);
    if (known !== null) return { core: known, beginThread: null };
    const isFirst = threads.first === null;
    // Without a placement an object that holds another thread is not this one's.
    if (!isFirst && placement.placement === undefined) throw threadNotFound();
    const core = threads.draft(threadId);
    return {
      core,
      beginThread: () => {
        const now = this.#ports.clock.now();
        if (isFirst) createSchema(this.#database, migrations, now);
        core.row.create(threadId, principal, now);
        this.#failpoints.hit("migrate:inside");
      },
    };
  }

  /** Call after the transaction that began the thread committed. */
  adopt(core: ThreadCore): void {
    if (this.#threads?.find(core.threadId) === core) return;
    this.#schema = { kind: "ready" };
    this.#threads?.adopt(core);
    this.#failpoints.hit("migrate:after");
  }

  /** Runs what is due, or joins the pass that runs. Never rejects. */
  async drain(cause: PassCause): Promise<void> {
    if (this.#setup === null) this.#wake();
    if (this.#isFaulted()) return this.#rearmFaulted();
    const threads = this.#threads;
    if (this.#setup === null || threads === null || threads.first === null) return;
    this.#pass ??= this.#makePass(this.#setup, threads);
    await this.#pass.drain(cause);
  }

  #makePass({ dueQueue, lanes, tracer, limits }: Setup, threads: PlacedThreads): AlarmPass {
    return new AlarmPass({
      database: this.#database,
      dueQueue,
      clock: this.#ports.clock,
      random: () => this.#ports.ids.random(),
      failpoints: this.#failpoints,
      limits: limits.event,
      natives: threads.nativeLanes(),
      lanes,
      tracer,
      abortObject: this.#abortObject,
    });
  }

  /** Takes up what storage holds. */
  #wake(): void {
    this.#setup ??= this.#setUp();
    this.#schema = openSchema(this.#database, migrations, this.#ports.clock.now());
    if (this.#isFaulted()) return this.#rearmFaulted();
    if (this.#setup === null) return;
    this.#threads ??= this.#placeThreads(this.#setup);
    if (this.#schema.kind === "empty") return;
    this.#threads.wake();
    if (this.#threads.first !== null) this.#setup.dueQueue.rearmOwed();
  }

  #placeThreads({ makeCore }: Setup): PlacedThreads {
    return new PlacedThreads({
      store: new ThreadsStore(this.#database),
      lanes: new NativeLanesStore(this.#database),
      clock: this.#ports.clock,
      makeCore,
    });
  }

  /** There may be owed work here that this deployment must not or cannot touch. */
  #isFaulted(): boolean {
    return (
      this.#schema.kind === "refused" || (this.#setup === null && this.#schema.kind !== "empty")
    );
  }

  /** Throws `Unavailable` with the reason, for every call of a faulted object. */
  #refuseFaulted(): Setup {
    if (this.#schema.kind === "refused") {
      throw new HoldfastError(
        "Unavailable",
        `This code must not touch the thread's storage: ${this.#schema.why}. Deploy code that knows it.`,
        { fields: { reason: "schema", retryAfterSeconds: FAULTED_RETRY_AFTER_SECONDS } },
      );
    }
    if (this.#setup === null) this.#wake();
    if (this.#setup !== null) return this.#setup;
    throw new HoldfastError(
      "Unavailable",
      "The deployment's options could not be made; its log says why. Nothing is lost: a deployment that can goes on.",
      { fields: { reason: "configuration", retryAfterSeconds: FAULTED_RETRY_AFTER_SECONDS } },
    );
  }

  /** Another deployment may do what this one cannot (THR-13). */
  #rearmFaulted(): void {
    if (this.#schema.kind === "refused") {
      logEvent("error", "schema-refused", { why: this.#schema.why });
    }
    this.#slot.arm(this.#ports.clock.now() + FAULTED_RECHECK_MILLIS);
  }
}

const FAULTED_RETRY_AFTER_SECONDS = 60;

/** What went wrong is the deployment's: its own errors name the field, others are said by their class alone. */
function setUpOrLog(make: () => Setup): Setup | null {
  try {
    return make();
  } catch (error) {
    const why = error instanceof HoldfastError ? error.message : errorName(error);
    logEvent("error", "options-failed", { why });
    return null;
  }
}
