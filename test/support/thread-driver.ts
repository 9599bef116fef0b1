// Drives one thread object of the tests: submits, decides, fires its alarm by hand, crashes and reads it. Every driver has a thread of its
// own, as the files of a run share one storage.
import {
  abortAllDurableObjects,
  env,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { canonicalJson, type JsonValue } from "../../shared/canonical-json.ts";
import { unwrap } from "../../shared/wire/rpc.ts";
import type { Caller } from "../../shared/wire/access.ts";
import type { ExpectedDefinitions } from "../../shared/wire/agent.ts";
import type { Explanation } from "../../shared/wire/explain.ts";
import type { Decision, Operation } from "../../shared/wire/operations.ts";
import type { ThreadRecord } from "../../shared/wire/records.ts";
import type { Settlement } from "../../shared/wire/settlement.ts";
import type {
  AbortResult,
  ListSubmissionsRequestSchema,
  SubmissionList,
  SubmissionView,
  SubmitResult,
} from "../../shared/wire/submission.ts";
import type { ThreadView } from "../../shared/wire/thread.ts";
import type { ThreadUsage } from "../../shared/wire/usage.ts";
import { decodeBatch } from "../../durable-objects/thread/journal/record-codec.ts";
import type { ThreadNamespace } from "../../durable-objects/clients/thread-client.ts";
import { vi } from "vitest";
import { z } from "zod";
import type { PlannedTurn } from "./scripted-model.ts";
import { world } from "./world.ts";

// Both are the binding: as the runtime uses it, and as the test runtime drives it.
const namespace = z.custom<ThreadNamespace>().parse(env.THREADS);
const objects = z.custom<DurableObjectNamespace>().parse(env.THREADS);
let threads = 0;

/** Who calls, unless a test says otherwise: the principal of the tests' key. */
export const TESTER: Caller = { tenant: "dev", principal: "tester", permissions: ["admin"] };

function toJson(value: unknown): JsonValue {
  const copy: JsonValue = JSON.parse(JSON.stringify(value));
  return copy;
}

/** What the log and ledger of an object hold, read past its own code. */
export interface Dump {
  readonly records: readonly ThreadRecord[];
  readonly batches: readonly BatchRow[];
  readonly submissions: readonly SubmissionRow[];
  readonly thread: ThreadColumns | null;
  readonly due: { readonly dueAt: number | null; readonly reason: string } | null;
  readonly alarm: number | null;
}

export interface BatchRow {
  readonly first: number;
  readonly last: number;
  readonly run: number;
  readonly epoch: number | null;
  readonly digest: string;
  readonly records: string;
}

export interface SubmissionRow {
  readonly submissionId: string;
  readonly principal: string;
  readonly scopedKey: string;
  readonly outcome: string | null;
  readonly wait: string | null;
  readonly settledSequence: number | null;
  readonly firstSequence: number | null;
  readonly usage: string | null;
}

/** A decision whose reason does not matter. */
export type MadeDecision = Omit<Decision, "reason"> & Partial<Pick<Decision, "reason">>;

export interface ThreadColumns {
  readonly epoch: number;
  readonly charge: number;
  readonly claimedRun: number | null;
}

export class ThreadDriver {
  readonly threadId: string;
  readonly name: string;
  #keys = 0;

  constructor(label = "thread") {
    threads += 1;
    this.threadId = `${label}-${threads}`;
    this.name = canonicalJson(["dev", this.threadId]);
  }

  get #address() {
    return { threadId: this.threadId, caller: TESTER };
  }

  /** A fresh stub: one from before a crash stays broken. */
  get stub() {
    return namespace.getByName(this.name);
  }

  async submit(
    plan: readonly PlannedTurn[],
    options: { agent?: string; key?: string; principal?: string; note?: string } = {},
  ): Promise<SubmitResult> {
    const input = toJson({ plan, note: options.note });
    return this.submitRaw({ agent: options.agent ?? "plain", input }, options);
  }

  /** Submits a request as it is. */
  async submitRaw(
    request: { agent: string; input: unknown; expectDefinitions?: ExpectedDefinitions },
    options: { key?: string; principal?: string } = {},
  ): Promise<SubmitResult> {
    return unwrap(
      await this.stub.submit({
        ...this.#address,
        caller: { ...TESTER, principal: options.principal ?? "tester" },
        idempotencyKey: options.key ?? `key-${(this.#keys += 1)}`,
        request: { ...request, input: toJson(request.input) },
      }),
    );
  }

  /** Opens the gate that a run waits at, then waits for its settlement. */
  async settlementAfter(gate: string, submissionId: string): Promise<Settlement> {
    await this.arrival(gate);
    await this.openGate(gate);
    return this.settlement(submissionId);
  }

  /** Submits and waits until it is settled; the run starts at once, so no alarm is needed. */
  async run(
    plan: readonly PlannedTurn[],
    options: { agent?: string; key?: string; note?: string } = {},
  ): Promise<Settlement> {
    const { receipt } = await this.submit(plan, options);
    return this.settlement(receipt.submissionId);
  }

  async settlement(submissionId: string): Promise<Settlement> {
    const settlement = unwrap(
      await this.stub.awaitSettlementRecord({
        ...this.#address,
        submissionId,
        timeoutMillis: 10_000,
      }),
    );
    if (settlement === null) {
      throw new Error(`not settled: ${JSON.stringify(await this.explain())}`);
    }
    return settlement;
  }

  async submission(submissionId: string): Promise<SubmissionView> {
    return unwrap(await this.stub.getSubmission({ ...this.#address, submissionId }));
  }

  /** Waits until the log holds a record past `after` that fits. Woken by commits, never by time. */
  async recordThat(fits: (record: ThreadRecord) => boolean): Promise<ThreadRecord> {
    for (let after = 0; ;) {
      const records = await this.records();
      const found = records.find(fits);
      if (found !== undefined) return found;
      after = records.at(-1)?.sequence ?? 0;
      const { tail } = unwrap(
        await this.stub.awaitProgress({ ...this.#address, after, timeoutMillis: 10_000 }),
      );
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

  /** Waits for the pass that runs, if one does. */
  async quiet(): Promise<void> {
    await runInDurableObject(this.#object, (instance) =>
      "alarm" in instance && typeof instance.alarm === "function" ? instance.alarm() : undefined,
    );
  }

  async operations(): Promise<Operation[]> {
    return unwrap(await this.stub.listOperations(this.#address)).operations;
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
    const { results } = unwrap(
      await this.stub.decideOperations({ ...this.#address, request: { decisions } }),
    );
    return results.map(({ status }) => status);
  }

  /** The thread at a glance. */
  async view(): Promise<ThreadView> {
    return unwrap(await this.stub.getThread(this.#address));
  }

  async list(page: z.input<typeof ListSubmissionsRequestSchema> = {}): Promise<SubmissionList> {
    return unwrap(await this.stub.listSubmissions({ ...this.#address, page }));
  }

  async usage(): Promise<ThreadUsage> {
    return unwrap(await this.stub.usage(this.#address));
  }

  async abort(submissionId: string): Promise<AbortResult> {
    return unwrap(await this.stub.abort({ ...this.#address, submissionId, request: {} }));
  }

  async retry(target: string): Promise<"resumed" | "not-parked"> {
    const request = { action: "retry" as const, target, reason: "as tested" };
    return unwrap(await this.stub.repair({ ...this.#address, request })).effect;
  }

  async explain(): Promise<Explanation> {
    return unwrap(await this.stub.explain(this.#address));
  }

  async records(): Promise<ThreadRecord[]> {
    const records: ThreadRecord[] = [];
    for (let after = 0; ;) {
      const page = unwrap(await this.stub.readPage({ ...this.#address, page: { after } }));
      records.push(...page.records);
      if (page.next >= page.tail) return records;
      after = page.next;
    }
  }

  /** Fires the alarm now, whatever its time; false when none was armed. */
  async fireAlarm(): Promise<boolean> {
    return runDurableObjectAlarm(this.#object);
  }

  /** Moves the clock to each armed alarm and fires it, until none is due within `withinMillis` or `maxAlarms` fired. */
  async runAlarms(maxAlarms = 20, withinMillis = Number.MAX_SAFE_INTEGER): Promise<number> {
    for (let fired = 0; fired < maxAlarms; fired += 1) {
      const at = await runInDurableObject(this.#object, (_instance, state) =>
        state.storage.getAlarm(),
      );
      if (at === null || at > world.now + withinMillis) return fired;
      world.advanceTo(at);
      await this.fireAlarm();
    }
    return maxAlarms;
  }

  /** Moves the clock to the armed alarm, fires it, and returns its time; null when none is armed. */
  async alarmAt(): Promise<number | null> {
    return runInDurableObject(this.#object, (_instance, state) => state.storage.getAlarm());
  }

  /** Storage stays, memory goes: between passes, in order. */
  async evict(): Promise<void> {
    await evictDurableObject(this.#object);
  }

  /** Resolves when a handler or the model waits at the gate. */
  async arrival(gate: string): Promise<void> {
    await vi.waitUntil(() => world.hasArrivedAt(gate), { timeout: 10_000, interval: 2 });
  }

  /** Opens a gate inside the object. */
  async openGate(...gates: string[]): Promise<void> {
    await runInDurableObject(this.#object, () => {
      for (const gate of gates) world.openGate(gate);
    });
  }

  /** The alarm as the platform delivers it again after a delivery that died. */
  async redeliverAlarm(): Promise<void> {
    await runInDurableObject(this.#object, (instance) =>
      "alarm" in instance && typeof instance.alarm === "function"
        ? instance.alarm({ isRetry: true, retryCount: 1, scheduledTime: world.now })
        : undefined,
    );
  }

  /** Fires the alarm after a crash, and lets the run through the gate that it waits at again. */
  async resume(gate: string): Promise<void> {
    const fired = this.fireAlarm();
    await this.arrival(gate);
    await this.openGate(gate);
    await fired;
  }

  /** Every object dies where it stands; what was committed before is on the disk. */
  async crash(): Promise<void> {
    await this.inObject((storage) => storage.sync());
    await abortAllDurableObjects();
    world.forgetGates();
  }

  async inObject<T>(run: (storage: DurableObjectStorage) => T | Promise<T>): Promise<T> {
    return runInDurableObject(this.#object, (_instance, state) => run(state.storage));
  }

  async dump(): Promise<Dump> {
    return this.inObject(async (storage) => {
      const has = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'batches'").toArray();
      if (has.length === 0) {
        const alarm = await storage.getAlarm();
        return { records: [], batches: [], submissions: [], thread: null, due: null, alarm };
      }
      const batches = storage.sql
        .exec<{
          first: number;
          last: number;
          run: number;
          epoch: number | null;
          digest: string;
          records: string;
        }>(
          "SELECT position % 4294967296 AS first, last, run, epoch, digest, records FROM batches ORDER BY position",
        )
        .toArray();
      return {
        batches,
        records: batches.flatMap((batch) => decodeBatch(batch.first, batch.last, batch.records)),
        submissions: storage.sql
          .exec<{
            submissionId: string;
            principal: string;
            scopedKey: string;
            outcome: string | null;
            wait: string | null;
            settledSequence: number | null;
            firstSequence: number | null;
            usage: string | null;
          }>(
            "SELECT submissionId, principal, scopedKey, outcome, wait, settledSequence, firstSequence, usage FROM submissions ORDER BY position",
          )
          .toArray(),
        thread:
          storage.sql
            .exec<{ epoch: number; charge: number; claimedRun: number | null }>(
              "SELECT epoch, charge, claimedRun FROM threads",
            )
            .toArray()[0] ?? null,
        due:
          storage.sql
            .exec<{ dueAt: number | null; reason: string }>("SELECT dueAt, reason FROM due_queue")
            .toArray()[0] ?? null,
        alarm: await storage.getAlarm(),
      };
    });
  }

  get #object() {
    return objects.getByName(this.name);
  }
}
