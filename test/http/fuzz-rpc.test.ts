// Requests at random over every RPC method, of the service and of the thread objects themselves: whatever comes, the answer is data, and
// what is refused writes nothing. The seed is in the names of the tests: put it in SEED to send the same requests again.
import { env } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { ERROR_CODES, isErrorCode } from "../../shared/errors/codes.ts";
import { WireErrorSchema } from "../../shared/errors/holdfast-error.ts";
import { EventReader } from "../support/event-reader.ts";
import { mapTexts } from "../support/schema-values.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { TESTER } from "../support/thread-driver.ts";
import {
  malformedProps,
  NO_CALLER,
  OPERATIONS,
  rightObjectRpc,
  rightRpc,
  wrongObjectRpc,
  wrongRpc,
  type RpcRequest,
} from "./fuzz/rpc-requests.ts";
import { isWrite, runSlots, slotOf, Tally } from "./fuzz/run.ts";
import { FUZZ_LIMITS, Stage, type Scene } from "./fuzz/scenes.ts";
import { FUZZ, FUZZ_TIMEOUT_MILLIS } from "./fuzz/settings.ts";
import { makeStrange } from "./fuzz/strange-values.ts";

/** Of what a run sends, half goes over HTTP. */
const SERVICE_REQUESTS = Math.round(FUZZ.requests * 0.36);
const OBJECT_REQUESTS = Math.round(FUZZ.requests * 0.14);

const ResultSchema = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true), value: z.unknown() }),
  z.strictObject({ ok: z.literal(false), error: WireErrorSchema.strict() }),
]);
type Result = z.infer<typeof ResultSchema>;

const MethodSchema = z.custom<(...args: readonly unknown[]) => Promise<unknown>>();
const serviceOf = z
  .custom<(options: { props: unknown }) => object>()
  .parse(Reflect.get(exports, "HoldfastService"));
const objects = z.custom<DurableObjectNamespace>().parse(env.THREADS);

/** What the runtime logs as its own failure. */
const failures = vi.spyOn(console, "error");
beforeAll(() => {
  testOptions.limits = FUZZ_LIMITS;
});
afterAll(() => {
  resetOptions();
  failures.mockRestore();
});

/** One way to call: the service as some caller, or an object as the Worker does. */
interface Surface {
  readonly tenant: string;
  readonly call: (operation: string, request: unknown) => Promise<unknown>;
}

function surfaceOfService({ caller }: RpcRequest): Surface {
  const stub = serviceOf({ props: caller });
  const { tenant } = z.object({ tenant: z.string() }).catch({ tenant: "dev" }).parse(caller);
  return {
    tenant,
    // Awaited here: a call that cannot be made rejects more than once otherwise.
    call: async (operation, request) =>
      await MethodSchema.parse(Reflect.get(stub, operation))(request),
  };
}

function surfaceOfObject({ caller }: RpcRequest, { thread }: Scene): Surface {
  const stub = objects.getByName(thread.name);
  const as = makeStrange(caller).value;
  return {
    tenant: "dev",
    call: async (operation, request) =>
      await MethodSchema.parse(Reflect.get(stub, operation))({
        ...z.looseObject({}).parse(request),
        caller: as,
      }),
  };
}

/** What a request says of its thread and of its wait, as far as it is well-formed. */
const AskedSchema = z.looseObject({
  threadId: z.string().nullable().catch(null),
  timeoutMillis: z.number().catch(0),
  waitId: z.string().min(1).max(128).nullable().catch(null),
});

class RpcFuzz {
  readonly tally = new Tally();
  readonly stage = new Stage();
  readonly #surfaceOf: (request: RpcRequest, scene: Scene) => Surface;

  constructor(surfaceOf: (request: RpcRequest, scene: Scene) => Surface) {
    this.#surfaceOf = surfaceOf;
  }

  async ask(operation: string, made: RpcRequest): Promise<void> {
    const scene = await this.stage.scene(made.scene);
    const surface = this.#surfaceOf(made, scene);
    const known = mapTexts(made.request, (text) => scene.tokens.get(text) ?? text);
    const { threadId = null } = AskedSchema.safeParse(known).data ?? {};
    const bounded = await this.#boundWait(surface, scene, known);
    const { value: request, isSendable } = makeStrange(bounded);
    const before = await this.stage.fingerprint(surface.tenant, threadId);
    const answer = surface.call(operation, request);
    if (!isSendable) {
      await expect(answer).rejects.toThrow();
      expect(await this.stage.fingerprint(surface.tenant, threadId)).toBe(before);
      return this.tally.add(operation, "not sent", false);
    }
    const result = ResultSchema.parse(await answer);
    try {
      await expectData(result);
      if (made.fault === NO_CALLER) expect(result.ok).toBe(false);
      if (made.fault === null && !result.ok) expect(result.error.code).not.toBe("MalformedRequest");
      this.tally.add(operation, result.ok ? "ok" : result.error.code, result.ok);
      if (result.ok && isWrite(operation)) {
        await this.stage.changed(scene, operation, surface.tenant, threadId, before);
      } else {
        expect(await this.stage.fingerprint(surface.tenant, threadId)).toBe(before);
        if (result.ok) this.tally.readsWithoutWrite += 1;
        else this.tally.refusedWithoutWrite += 1;
      }
    } catch (cause) {
      throw new Error(`${operation}: ${JSON.stringify(result).slice(0, 600)}`, { cause });
    }
  }

  /** A wait takes its real time: a long one is cancelled before it begins, by its id, or made short where it has none. */
  async #boundWait(surface: Surface, scene: Scene, request: unknown): Promise<unknown> {
    const asked = AskedSchema.safeParse(request).data;
    if (asked === undefined || asked.timeoutMillis <= SHORT_MILLIS) return request;
    const { threadId, waitId } = asked;
    if (threadId === scene.thread.threadId && waitId !== null) {
      await surface.call("cancelWait", { threadId, waitId });
      return request;
    }
    const isWait = Number.isInteger(asked.timeoutMillis) && asked.timeoutMillis <= 60_000;
    return isWait ? { ...z.looseObject({}).parse(request), timeoutMillis: SHORT_MILLIS } : request;
  }
}

const SHORT_MILLIS = 3;

/** Expects an answer, or a refusal of the caller's making; the first of a stream of events is read. */
async function expectData(result: Result): Promise<void> {
  if (!result.ok) {
    const { code, detail } = result.error;
    if (!isErrorCode(code)) throw new Error(`${code} is not in the table`);
    expect(ERROR_CODES[code].status).toBeLessThan(500);
    expect(detail).not.toMatch(/\bat \w+.*:\d+:\d+|node_modules|\.ts:\d+|ZodError|TypeError/);
  } else if (result.value instanceof ReadableStream) {
    const events = new EventReader(result.value);
    expect(await events.next()).not.toBeNull();
    await events.cancel();
  }
}

describe("requests at random over RPC", () => {
  it(
    `[QUA-01, UX-05, API-04] are answered by the service with data, and write nothing when refused (seed ${FUZZ.seed})`,
    { timeout: FUZZ_TIMEOUT_MILLIS },
    async ({ task }) => {
      const fuzz = new RpcFuzz(surfaceOfService);
      const about = { scene: "rest", request: undefined } as const;
      const slots = OPERATIONS.flatMap((operation) => [
        slotOf(rightRpc(operation), (request) => fuzz.ask(operation, request)),
        slotOf(wrongRpc(operation), (request) => fuzz.ask(operation, request)),
      ]);
      // It takes no request: only who calls can be wrong.
      const agents = [
        fc.constant({ ...about, fault: null, caller: TESTER }),
        malformedProps.map((caller) => ({ ...about, fault: NO_CALLER, caller })),
      ].map((requests) => slotOf<RpcRequest>(requests, (request) => fuzz.ask("agents", request)));
      try {
        await runSlots([...slots, ...agents], SERVICE_REQUESTS, FUZZ.seed);
        await fuzz.stage.close();
      } finally {
        task.meta.fuzz = fuzz.tally.report("RPC of the service", fuzz.stage.checked);
      }
      fuzz.tally.expectBoth([...OPERATIONS, "agents"]);
      expect(failures).not.toHaveBeenCalled();
    },
  );

  it(
    `[QUA-01, UX-05, API-04] are answered by thread objects with data, and refused for a caller who is none (seed ${FUZZ.seed})`,
    { timeout: FUZZ_TIMEOUT_MILLIS },
    async ({ task }) => {
      const fuzz = new RpcFuzz(surfaceOfObject);
      const slots = OPERATIONS.flatMap((operation) => [
        slotOf(rightObjectRpc(operation), (request) => fuzz.ask(operation, request)),
        slotOf(wrongObjectRpc(operation), (request) => fuzz.ask(operation, request)),
      ]);
      try {
        await runSlots(slots, OBJECT_REQUESTS, FUZZ.seed);
        await fuzz.stage.close();
      } finally {
        task.meta.fuzz = fuzz.tally.report("RPC of thread objects", fuzz.stage.checked);
      }
      fuzz.tally.expectBoth(OPERATIONS);
      expect(failures).not.toHaveBeenCalled();
    },
  );
});
