// Drives one thread object of a test: submits, decides, fires its alarm by hand, crashes and reads it. The test runtime's own helpers are handed
// in, so that nothing here depends on it.
import { z } from "zod";
import { must } from "../assert.ts";
import { canonicalJson } from "../canonical-json.ts";
import type { Caller } from "../wire/access.ts";
import type { AnswerOf } from "../wire/answers.ts";
import type { Explanation } from "../wire/explain.ts";
import type { Decision, Operation } from "../wire/operations.ts";
import type { ThreadRecord } from "../wire/records.ts";
import type { ThreadOperation } from "../wire/requests.ts";
import { unwrap } from "../wire/rpc.ts";
import type { Settlement } from "../wire/settlement.ts";
import type {
  AbortResult,
  SubmissionView,
  SubmitRequest,
  SubmitResult,
} from "../wire/submission.ts";
import type { ThreadRpc, ThreadRpcRequest } from "../wire/thread-rpc.ts";
import { readDump, type BatchRow, type Dump, type TestedStorage } from "./dump.store.ts";
import type { Evidence, Violation } from "./evidence.ts";
import { checkHistory } from "./history-checker.ts";
import type { TestWorld } from "./test-world.ts";

/** What `cloudflare:test` offers, as far as it is used. */
interface TestPlatform {
  runInDurableObject(
    stub: object,
    run: (instance: object, state: TestedState) => unknown,
  ): Promise<unknown>;
  runDurableObjectAlarm(stub: object): Promise<boolean>;
  evictDurableObject(stub: object): Promise<void>;
  abortAllDurableObjects(): Promise<void>;
}

interface TestedState {
  readonly storage: TestedStorage & Syncable;
}

interface Syncable {
  sync(): Promise<void>;
}

export interface ThreadTesterOptions {
  /** The binding of the deployment's `ThreadObject`. */
  readonly namespace: { getByName(name: string): object };
  /** `{ runInDurableObject, runDurableObjectAlarm, evictDurableObject, abortAllDurableObjects }` of `cloudflare:test`. By name alone: their own
   * types unfold those of the stub without end. */
  readonly platform: Readonly<Record<keyof TestPlatform, unknown>>;
  /** The one that the deployment was made with. */
  readonly world: TestWorld;
  /** SHA-256 of a text in lower-case hex: of `node:crypto`, say. */
  readonly sha256: (text: string) => string;
  readonly threadId: string;
  readonly caller?: Caller;
  /** The name that the deployment's `placement` gives its object; its own id by default. */
  readonly placedIn?: string;
}

/** Who calls, unless a test says otherwise. */
export const TESTER: Caller = { tenant: "dev", principal: "tester", permissions: ["admin"] };

/** A decision whose reason does not matter. */
export type MadeDecision = Omit<Decision, "reason"> & Partial<Pick<Decision, "reason">>;

/** An object that crashes more often than that on its way to rest does not come to rest. */
const MAX_CRASHES = 20;

export class ThreadTester {
  readonly threadId: string;
  /** Of its object. */
  readonly name: string;
  protected readonly options: ThreadTesterOptions;
  readonly #platform: TestPlatform;
  #keys = 0;

  constructor(options: ThreadTesterOptions) {
    const { threadId, caller = TESTER, placedIn = threadId } = options;
    this.options = options;
    this.#platform = z.custom<TestPlatform>().parse(options.platform);
    this.threadId = threadId;
    this.name = canonicalJson([caller.tenant, placedIn]);
  }

  /** A fresh stub: one from before a crash stays broken. */
  get stub(): ThreadRpc {
    return z.custom<ThreadRpc>().parse(this.object);
  }

  /** Submits a request as it is. */
  submitRequest(
    request: SubmitRequest,
    options: { key?: string; principal?: string; timeoutMillis?: number } = {},
  ): Promise<SubmitResult> {
    const { caller = TESTER } = this.options;
    const { key = `key-${(this.#keys += 1)}`, principal = caller.principal } = options;
    const { timeoutMillis = 0 } = options;
    const asked = {
      idempotencyKey: key,
      request,
      caller: { ...caller, principal },
      timeoutMillis,
    };
    return this.ask("submit", { ...this.address, ...asked });
  }

  async settlement(submissionId: string): Promise<Settlement> {
    const wait = { submissionId, timeoutMillis: 10_000 };
    const settlement = await this.ask("awaitSettlementRecord", { ...this.address, ...wait });
    if (settlement !== null) return settlement;
    throw new Error(`not settled: ${JSON.stringify(await this.explain())}`);
  }

  submission(submissionId: string): Promise<SubmissionView> {
    return this.ask("getSubmission", { ...this.address, submissionId });
  }

  /** Waits until the log holds a record that fits. Woken by commits, never by time. */
  async recordThat(fits: (record: ThreadRecord) => boolean): Promise<ThreadRecord> {
    for (let after = 0; ;) {
      const records = await this.records();
      const found = records.find(fits);
      if (found !== undefined) return found;
      after = records.at(-1)?.sequence ?? 0;
      const wait = { after, timeoutMillis: 10_000 };
      const { tail } = await this.ask("awaitProgress", { ...this.address, ...wait });
      if (tail === after) throw new Error("no such record came");
    }
  }

  /** Waits until the submission waits for `reason`: its park commits after the record that caused it. */
  async waitingFor(submissionId: string, reason: string): Promise<SubmissionView> {
    for (;;) {
      const view = await this.submission(submissionId);
      if (view.wait?.reason === reason) return view;
      if (view.state === "settled") throw new Error(`settled: ${JSON.stringify(view.settlement)}`);
      await this.quiet();
    }
  }

  async operations(): Promise<Operation[]> {
    return (await this.ask("listOperations", this.address)).operations;
  }

  async decide(
    operationId: string,
    decision: Decision["decision"],
    more: Partial<Decision> = {},
  ): Promise<"applied" | "replayed" | undefined> {
    const [status] = await this.decideTogether({ operationId, decision, ...more });
    return status;
  }

  /** All of these in one request. */
  async decideTogether(...made: readonly MadeDecision[]): Promise<("applied" | "replayed")[]> {
    const decisions = made.map((each): Decision => ({ reason: "as tested", ...each }));
    const asked = { ...this.address, request: { decisions } };
    return (await this.ask("decideOperations", asked)).results.map(({ status }) => status);
  }

  abort(submissionId: string): Promise<AbortResult> {
    return this.ask("abort", { ...this.address, submissionId, request: {} });
  }

  explain(): Promise<Explanation> {
    return this.ask("explain", this.address);
  }

  async records(): Promise<ThreadRecord[]> {
    const records: ThreadRecord[] = [];
    for (let after = 0; ;) {
      const page = await this.ask("readPage", { ...this.address, page: { after } });
      records.push(...page.records);
      if (page.next >= page.tail) return records;
      after = page.next;
    }
  }

  /** Waits for the pass that runs, if one does. */
  async quiet(): Promise<void> {
    await this.inInstance((instance) =>
      "alarm" in instance && typeof instance.alarm === "function" ? instance.alarm() : undefined,
    );
  }

  /** Fires the alarm now, whatever its time; false when none was armed. */
  fireAlarm(): Promise<boolean> {
    return this.#platform.runDurableObjectAlarm(this.object);
  }

  /** When the alarm is armed for; null when it is not. */
  async alarmAt(): Promise<number | null> {
    return this.inObject((storage) => storage.getAlarm());
  }

  /** Moves the clock to each armed alarm and fires it, until none is due within `withinMillis` or `maxAlarms` fired; how many did. */
  async runAlarms(maxAlarms = 20, withinMillis = Number.MAX_SAFE_INTEGER): Promise<number> {
    const { world } = this.options;
    for (let fired = 0; fired < maxAlarms; fired += 1) {
      const at = await this.alarmAt();
      if (at === null || at > world.now + withinMillis) return fired;
      world.advanceTo(at);
      await this.fireAlarm();
    }
    return maxAlarms;
  }

  /** Lets everything happen that happens by itself: the running pass, and the alarms that come within a minute of its end. Objects that
   * crash meanwhile are woken again, as the platform does. */
  async toQuiescence(): Promise<void> {
    for (let crashes = 0; ; crashes += 1) {
      try {
        await this.quiet();
        await this.runAlarms(20, 60_000);
        return await this.quiet();
      } catch (error) {
        if (crashes >= MAX_CRASHES) throw error;
      }
    }
  }

  /** Storage stays, memory goes: between passes, in order. */
  evict(): Promise<void> {
    return this.#platform.evictDurableObject(this.object);
  }

  /** Every object dies where it stands; what was committed before is on the disk. */
  async crash(): Promise<void> {
    await this.inInstance((_instance, storage) => storage.sync());
    await this.#platform.abortAllDurableObjects();
    this.options.world.forgetGates();
  }

  /** Opens gates inside the object. */
  async openGate(...gates: string[]): Promise<void> {
    await this.inInstance(() => {
      for (const gate of gates) this.options.world.openGate(gate);
    });
  }

  dump(): Promise<Dump> {
    return this.readDumpBy(async () => this.records());
  }

  /** The broken promises, none if all is well: the history checker over all that the thread and the world hold. */
  async violations(evidence: Partial<Evidence> = {}): Promise<Violation[]> {
    await this.quiet();
    const { world, sha256 } = this.options;
    return checkHistory(await this.dump(), {
      receipts: [],
      executions: world.executions,
      acknowledgedTail: 0,
      isQuiet: true,
      sha256,
      ...evidence,
    });
  }

  protected get address() {
    return { threadId: this.threadId, caller: this.options.caller ?? TESTER };
  }

  protected get object(): object {
    return this.options.namespace.getByName(this.name);
  }

  protected async ask<Asked extends ThreadOperation>(
    operation: Asked,
    request: ThreadRpcRequest<Asked>,
  ): Promise<AnswerOf<Asked>> {
    return unwrap(await this.stub[operation](request));
  }

  protected async inObject<T>(run: (storage: TestedStorage) => T | Promise<T>): Promise<T> {
    return this.inInstance((_instance, storage) => run(storage));
  }

  protected async readDumpBy(
    recordsOf: (batches: readonly BatchRow[]) => Promise<readonly ThreadRecord[]>,
  ): Promise<Dump> {
    const dump = await this.inObject((storage) => readDump(storage));
    return { ...dump, records: dump.batches.length === 0 ? [] : await recordsOf(dump.batches) };
  }

  private async inInstance<T>(
    run: (instance: object, storage: TestedStorage & Syncable) => T | Promise<T>,
  ): Promise<T> {
    let answer: { readonly value: T } | null = null;
    const enter = async (instance: object, { storage }: TestedState): Promise<void> => {
      answer = { value: await run(instance, storage) };
    };
    await this.#platform.runInDurableObject(this.object, enter);
    return must<{ readonly value: T }>(answer, "the object was entered").value;
  }
}
