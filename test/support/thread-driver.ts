// The tester of one thread, as this project's own tests use it: scripted plans as input, the log decoded past the object's own code. Every
// driver has a thread of its own, as the files of a run share one storage.
import {
  abortAllDurableObjects,
  env,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { vi } from "vitest";
import { z } from "zod";
import type { JsonValue } from "../../shared/canonical-json.ts";
import type { Dump } from "../../shared/testing/dump.store.ts";
import { ThreadTester } from "../../shared/testing/thread-tester.ts";
import type { Settlement } from "../../shared/wire/settlement.ts";
import type {
  ListSubmissionsRequestSchema,
  OnBusy,
  RepairResult,
  SubmissionList,
  SubmitRequest,
  SubmitResult,
} from "../../shared/wire/submission.ts";
import type { Verification } from "../../shared/wire/verification.ts";
import { unwrap, type RpcResult } from "../../shared/wire/rpc.ts";
import type { DeleteRequestSchema, ThreadView, Tombstone } from "../../shared/wire/thread.ts";
import type { ThreadUsage } from "../../shared/wire/usage.ts";
import { digestText } from "../../durable-objects/platform/digest.ts";
import { decodeBatch } from "../../durable-objects/thread/journal/record-codec.ts";
import type { PlannedTurn } from "./scripted-model.ts";
import { world } from "./world.ts";

export type {
  BatchRow,
  Dump,
  SubmissionRow,
  ThreadColumns,
} from "../../shared/testing/dump.store.ts";
export { TESTER, type MadeDecision } from "../../shared/testing/thread-tester.ts";

const namespace = z.custom<DurableObjectNamespace>().parse(env.THREADS);
const platform = {
  runInDurableObject,
  runDurableObjectAlarm,
  evictDurableObject,
  abortAllDurableObjects,
};
let threads = 0;

interface SubmitChoices {
  readonly agent?: string;
  readonly key?: string;
  readonly principal?: string;
  readonly note?: string;
  readonly onBusy?: OnBusy;
  readonly metadata?: JsonValue;
}

export class ThreadDriver extends ThreadTester {
  /** @param placedIn the name of an object that holds other threads too */
  constructor(label = "thread", placedIn?: string) {
    threads += 1;
    super({
      namespace,
      platform,
      world,
      sha256: digestText,
      threadId: `${label}-${threads}`,
      ...(placedIn === undefined ? {} : { placedIn }),
    });
  }

  async submit(plan: readonly PlannedTurn[], options: SubmitChoices = {}): Promise<SubmitResult> {
    const { agent = "plain", note, onBusy, metadata } = options;
    const request = {
      agent,
      input: { plan, note },
      ...(onBusy === undefined ? {} : { onBusy }),
      ...(metadata === undefined ? {} : { metadata }),
    };
    return this.submitRaw(request, options);
  }

  /** Submits a request as it is. */
  async submitRaw(
    request: Omit<SubmitRequest, "input"> & { input: unknown },
    options: { key?: string; principal?: string } = {},
  ): Promise<SubmitResult> {
    return this.submitRequest({ ...request, input: toJson(request.input) }, options);
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

  /** The thread at a glance. */
  view(): Promise<ThreadView> {
    return this.ask("getThread", this.address);
  }

  list(page: z.input<typeof ListSubmissionsRequestSchema> = {}): Promise<SubmissionList> {
    return this.ask("listSubmissions", { ...this.address, page });
  }

  usage(): Promise<ThreadUsage> {
    return this.ask("usage", this.address);
  }

  /** The whole log, as it is checked page by page. */
  check(): Promise<Verification> {
    return this.ask("verify", { ...this.address });
  }

  delete(request: z.input<typeof DeleteRequestSchema> = {}): Promise<Tombstone> {
    return this.ask("deleteThread", { ...this.address, request });
  }

  async retryLane(target: string): Promise<string> {
    const request = { action: "retry-lane" as const, target, reason: "as tested" };
    return (await this.ask("repair", { ...this.address, request })).effect;
  }

  async clearFault(): Promise<string> {
    const request = { action: "clear-fault" as const, reason: "as tested" };
    return (await this.ask("repair", { ...this.address, request })).effect;
  }

  async scheduleLane(laneId: string, dueAt: number, cursor: number): Promise<boolean> {
    const stub = z
      .custom<{ scheduleLane(request: unknown): Promise<RpcResult<{ scheduled: boolean }>> }>()
      .parse(this.object);
    return unwrap(await stub.scheduleLane({ threadId: this.threadId, laneId, dueAt, cursor }))
      .scheduled;
  }

  async retry(target: string): Promise<RepairResult["effect"]> {
    const request = { action: "retry" as const, target, reason: "as tested" };
    return (await this.ask("repair", { ...this.address, request })).effect;
  }

  /** Resolves when a handler or the model waits at the gate. */
  async arrival(gate: string): Promise<void> {
    await vi.waitUntil(() => world.hasArrivedAt(gate), { timeout: 10_000, interval: 2 });
  }

  /** The alarm as the platform delivers it again after a delivery that died. */
  async redeliverAlarm(): Promise<void> {
    const info = { isRetry: true, retryCount: 1, scheduledTime: world.now };
    await runInDurableObject(this.#object, (instance) => deliverAlarm(instance, info));
  }

  /** Lets the alarm join the running pass, as it does a moment after a submission, and the run through the gate that it waits at. */
  async joinByAlarm(gate: string): Promise<void> {
    const info = { isRetry: false, retryCount: 0, scheduledTime: world.now };
    await runInDurableObject(this.#object, (instance) => {
      const joined = deliverAlarm(instance, info);
      world.openGate(gate);
      return joined;
    });
  }

  /** Fires the alarm after a crash, and lets the run through the gate that it waits at again. */
  async resume(gate: string): Promise<void> {
    const fired = this.fireAlarm();
    await this.arrival(gate);
    await this.openGate(gate);
    await fired;
  }

  override async inObject<T>(run: (storage: DurableObjectStorage) => T | Promise<T>): Promise<T> {
    return runInDurableObject(this.#object, (_instance, state) => run(state.storage));
  }

  get #object(): DurableObjectStub {
    return namespace.getByName(this.name);
  }

  /** With the records as the rows have them: a log that the object refuses to read can be looked at too. */
  override dump(): Promise<Dump> {
    return this.readDumpBy(async (batches) =>
      batches.flatMap((batch) => decodeBatch(batch.first, batch.last, batch.records)),
    );
  }
}

function toJson(value: unknown): JsonValue {
  const copy: JsonValue = JSON.parse(JSON.stringify(value));
  return copy;
}

async function deliverAlarm(instance: object, info: AlarmInvocationInfo): Promise<void> {
  if ("alarm" in instance && typeof instance.alarm === "function") await instance.alarm(info);
}
