// HoldfastService as another Worker's binding calls it: every operation answers with data, as the object itself does; events stream; what
// has a field too many is refused; and requests are counted where the deployment has a limiter.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { must } from "../../shared/assert.ts";
import { AgentListSchema } from "../../shared/wire/agent-view.ts";
import { unwrap } from "../../shared/wire/rpc.ts";
import { EventReader, recordsOf } from "../support/event-reader.ts";
import { expectSound } from "../support/expect-sound.ts";
import { TESTER, ThreadDriver } from "../support/thread-driver.ts";
import { directService } from "./direct-service.ts";
import { expectEmptyFile, send } from "./http-client.ts";
import { NO_SUBMISSION } from "./routes.ts";
import {
  callService,
  RefusalSchema,
  rightCall,
  SERVICE_OPERATIONS,
  serviceFor,
} from "./service-client.ts";

const service = serviceFor(TESTER);
const guarded = [{ calls: [{ tool: "guarded" }] }, { text: "done" }];

/** A thread with a settled submission, and one that waits for a person. */
async function scene() {
  const driver = new ThreadDriver("service");
  const settled = await driver.submit([{ text: "ok" }]);
  await driver.settlement(settled.receipt.submissionId);
  const waiting = await driver.submit(guarded);
  await driver.waitingFor(waiting.receipt.submissionId, "approval");
  await driver.quiet();
  const [operation] = await driver.operations();
  return {
    driver,
    threadId: driver.threadId,
    settledId: settled.receipt.submissionId,
    waitingId: waiting.receipt.submissionId,
    operationId: must(operation, "an operation waits").operationId,
  };
}

describe("[API-04] the service", () => {
  it("reads what the object itself answers", async () => {
    const { driver, threadId, settledId, waitingId } = await scene();
    const records = await driver.records();
    const settlement = await driver.settlement(settledId);
    expect(unwrap(await service.getThread({ threadId }))).toEqual(await driver.view());
    expect(unwrap(await service.explain({ threadId }))).toEqual(await driver.explain());
    expect(unwrap(await service.usage({ threadId }))).toEqual(await driver.usage());
    expect(unwrap(await service.verify({ threadId })).fault).toBeNull();
    expect(unwrap(await service.listSubmissions({ threadId }))).toEqual(await driver.list());
    expect(unwrap(await service.listOperations({ threadId })).operations).toEqual(
      await driver.operations(),
    );
    expect(unwrap(await service.readPage({ threadId, page: { after: 2, limit: 3 } }))).toEqual({
      records: records.slice(2, 5),
      next: 5,
      tail: records.length,
    });
    for (const submissionId of [settledId, waitingId]) {
      expect(unwrap(await service.getSubmission({ threadId, submissionId }))).toEqual(
        await driver.submission(submissionId),
      );
    }
    const { output, ...metadata } = settlement;
    const of = { threadId, submissionId: settledId };
    expect(output).toBe("ok");
    expect(unwrap(await service.awaitSettlementRecord(of))).toEqual(settlement);
    expect(unwrap(await service.awaitSettlement(of))).toEqual(metadata);
    const owed = { threadId, submissionId: waitingId };
    expect(unwrap(await service.awaitSettlementRecord(owed))).toBeNull();
    expect(unwrap(await service.awaitSettlement(owed))).toBeNull();
    expect(unwrap(await service.awaitProgress({ threadId, after: 0 }))).toEqual({
      tail: records.length,
    });
  });

  it("accepts work once, waits for it, and says what came of it", async () => {
    const driver = new ThreadDriver("service");
    const { threadId } = driver;
    const request = { agent: "plain", input: { plan: [{ text: "ok" }] } };
    const first = unwrap(
      await service.submit({ threadId, idempotencyKey: "k", request, timeoutMillis: 10_000 }),
    );
    const { submissionId } = first.receipt;
    expect(first).toMatchObject({ replayed: false, submission: { state: "settled" } });
    expect(first.submission).toEqual(await driver.submission(submissionId));
    const again = unwrap(await service.submit({ threadId, idempotencyKey: "k", request }));
    expect(again).toEqual({ receipt: first.receipt, replayed: true });
    await expectSound(driver);
  });

  it("decides, aborts and repairs in the name of the binding's caller", async () => {
    const { driver, threadId, settledId, waitingId, operationId } = await scene();
    const ann = serviceFor({ ...TESTER, principal: "ann" });
    const decisions = [{ operationId, decision: "deny", reason: "not today" } as const];
    expect(unwrap(await ann.decideOperations({ threadId, request: { decisions } }))).toEqual({
      results: [{ operationId, status: "applied" }],
    });
    await driver.settlement(waitingId);
    const decided = (await driver.records()).find(({ type }) => type === "OperationDecided");
    expect(decided).toMatchObject({ payload: { operationId, author: "ann" } });
    expect(unwrap(await ann.abort({ threadId, submissionId: settledId }))).toMatchObject({
      effect: "already-settled",
      settlement: { output: "ok" },
    });
    const retry = { action: "retry", target: settledId, reason: "again" } as const;
    expect(unwrap(await ann.repair({ threadId, request: retry }))).toEqual({
      effect: "not-parked",
    });
    await expectSound(driver);
  });

  it("ends a wait that its caller no longer wants", async () => {
    const { driver, threadId, waitingId } = await scene();
    const waited = service.awaitSettlement({
      threadId,
      submissionId: waitingId,
      timeoutMillis: 60_000,
      waitId: "mine",
    });
    // By the next answer of the object the wait has its place.
    await driver.view();
    expect(unwrap(await service.cancelWait({ threadId, waitId: "mine" }))).toEqual({
      cancelled: true,
    });
    expect(unwrap(await waited)).toBeNull();
    expect(unwrap(await service.cancelWait({ threadId, waitId: "mine" }))).toEqual({
      cancelled: false,
    });
  });

  it("lists the agents that HTTP lists", async () => {
    const overHttp = AgentListSchema.parse((await send("/v1/agents")).json);
    expect(unwrap(await service.agents())).toEqual(overHttp);
  });
});

describe("[API-04, OBS-03] events over RPC", () => {
  it("come while the run goes on, and end with its settlement", async () => {
    const driver = new ThreadDriver("service-events");
    const { threadId } = driver;
    const gate = `${threadId}-model`;
    const { receipt } = await driver.submit([{ text: "ok", gate }]);
    const { submissionId } = receipt;
    const reader = new EventReader(unwrap(await service.events({ threadId, submissionId })));
    const before = await reader.until(
      (event) => event.event === "record" && event.data.type === "RunStarted",
    );
    await driver.arrival(gate);
    await driver.openGate(gate);
    const after = await reader.rest();
    expect(after.at(-1)).toMatchObject({ event: "settled", data: { submissionId } });
    expect(recordsOf([...before, ...after])).toEqual(
      (await driver.records()).filter((record) => "submissionId" in record),
    );
  });

  it("begin after a cursor, and tell of one past the end", async () => {
    const { driver, threadId, settledId } = await scene();
    const all = await driver.records();
    const rest = new EventReader(
      unwrap(await service.events({ threadId, submissionId: settledId, after: 3 })),
    );
    expect(recordsOf(await rest.rest())).toEqual(
      all.filter(
        (record) =>
          record.sequence > 3 && "submissionId" in record && record.submissionId === settledId,
      ),
    );
    const gap = new EventReader(unwrap(await service.events({ threadId, after: 1_000 })));
    expect((await gap.rest()).map(({ event }) => event)).toEqual(["gap"]);
  });

  it("may be left in the middle", async () => {
    const { driver, threadId } = await scene();
    const reader = new EventReader(unwrap(await service.events({ threadId })));
    expect(await reader.next()).toMatchObject({ event: "state" });
    await reader.cancel();
    expect(await driver.view()).toMatchObject({ state: "waiting" });
  });

  it.each([
    ["of no thread", {}, "ThreadNotFound"],
    ["from before the beginning", { after: -1 }, "MalformedRequest"],
    ["from half a record", { after: 0.5 }, "MalformedRequest"],
    ["with a field too many", { lastEventId: 1 }, "MalformedRequest"],
  ])("%s are refused with data, before the first", async (_what, more, code) => {
    const driver = new ThreadDriver("service-events");
    const result = await callService(service, "events", { threadId: driver.threadId, ...more });
    expect(RefusalSchema.parse(result).error.code).toBe(code);
    await expectEmptyFile(driver);
  });

  it("of no submission are refused with data, before the first", async () => {
    const { threadId } = await scene();
    expect(await service.events({ threadId, submissionId: NO_SUBMISSION })).toMatchObject({
      ok: false,
      error: { code: "SubmissionNotFound" },
    });
  });
});

/** The objects of a request, each with its path. */
function objectsOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, each]) => objectsOf(each, [...path, key]));
  return Array.isArray(value) ? inner : [path, ...inner];
}

/** The same request, with one more field in the object at the path. */
function withField(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (Array.isArray(value)) {
    return value.map((each: unknown, index) =>
      String(index) === key ? withField(each, rest) : each,
    );
  }
  const fields = z.looseObject({}).parse(value);
  if (key === undefined) return { ...fields, unheard: 1 };
  return { ...fields, [key]: withField(fields[key], rest) };
}

describe("[API-04, UX-05] a request over RPC", () => {
  it.each(SERVICE_OPERATIONS)(
    "with a field too many is refused wherever that is: %s",
    async (operation) => {
      const driver = new ThreadDriver("service-fields");
      const request = rightCall(operation, {
        threadId: driver.threadId,
        submissionId: NO_SUBMISSION,
      });
      // What an agent takes is its own schema's matter.
      const paths = objectsOf(request).filter((path) => !path.includes("input"));
      expect(paths).toContainEqual([]);
      for (const path of paths) {
        const bent = z.looseObject({}).parse(withField(request, path));
        const { error } = RefusalSchema.parse(await callService(service, operation, bent));
        expect(error).toMatchObject({
          code: "MalformedRequest",
          detail: `The request of ${operation} is malformed.`,
          errors: [
            {
              pointer: path.map((key) => `/${key}`).join(""),
              message: expect.stringContaining("unheard"),
            },
          ],
        });
      }
      await expectEmptyFile(driver);
    },
  );

  it.each([
    ["nothing", undefined],
    ["null", null],
    ["a text", "x"],
    ["a list", []],
    ["a date", new Date(0)],
    ["a map", new Map([["threadId", "t"]])],
    ["a function", () => "t"],
    ["a big number", 1n],
    ["bytes", new Uint8Array(4)],
  ])("that is %s is refused by every method", async (_what, request) => {
    for (const operation of SERVICE_OPERATIONS) {
      const result = await callService(
        service,
        operation,
        z.custom<Record<string, unknown>>().parse(request),
      );
      expect([operation, RefusalSchema.parse(result).error.code]).toEqual([
        operation,
        "MalformedRequest",
      ]);
    }
  });

  it.each([60_001, -1, 0.5, Number.NaN, Infinity])(
    "that wants to wait for %s ms is refused",
    async (timeoutMillis) => {
      const named = { threadId: "service-wait", submissionId: NO_SUBMISSION };
      for (const operation of SERVICE_OPERATIONS) {
        const result = await callService(service, operation, {
          ...rightCall(operation, named),
          timeoutMillis,
        });
        expect(RefusalSchema.parse(result).error.code).toBe("MalformedRequest");
      }
    },
  );
});

describe("[API-04] a deployment of the service", () => {
  it("[SEC-04] counts the requests of each caller where it has a limiter", async () => {
    const counts = new Map<string, number>();
    const limiter = {
      async limit({ key }: { key: string }): Promise<{ success: boolean }> {
        const count = (counts.get(key) ?? 0) + 1;
        counts.set(key, count);
        return { success: count <= 3 };
      },
    };
    const variables = { RATE_LIMITER: limiter };
    const as = (principal: string) => directService({ variables, props: { ...TESTER, principal } });
    const driver = new ThreadDriver("service-limit");
    const { threadId } = driver;
    const ann = as("service-ann");
    const answers = [
      await ann.agents(),
      await ann.getThread({ threadId }),
      await ann.events({ threadId }),
    ];
    expect(answers.map((answer) => (answer.ok ? "ok" : answer.error.code))).toEqual([
      "ok",
      "ThreadNotFound",
      "ThreadNotFound",
    ]);
    // It lets three through, of whatever kind.
    const named = { threadId, submissionId: NO_SUBMISSION };
    const later = [
      ann.agents(),
      ...SERVICE_OPERATIONS.map((operation) =>
        callService(ann, operation, rightCall(operation, named)),
      ),
    ];
    for (const answer of later) {
      expect(RefusalSchema.parse(await answer).error).toMatchObject({
        code: "RateLimited",
        fields: { retryAfterSeconds: 10 },
      });
    }
    await expectEmptyFile(driver);
    expect(await as("service-bob").agents()).toMatchObject({ ok: true });
    expect(Object.fromEntries(counts)).toEqual({
      '["dev","service-ann"]': 3 + 1 + SERVICE_OPERATIONS.length,
      '["dev","service-bob"]': 1,
    });
    // Who is nobody is not counted as anybody.
    const nobody = directService({ variables, props: {} });
    expect(RefusalSchema.parse(await nobody.agents()).error.code).toBe("Unauthenticated");
    expect(counts.size).toBe(2);
  });

  it("[UX-04] that is not configured says so, by the variable's name and without its value", async () => {
    const broken = directService({ variables: { HOLDFAST_API_KEYS: "not json" } });
    const { error } = RefusalSchema.parse(await broken.agents());
    expect(error.code).toBe("Unavailable");
    expect(error.detail).toContain("HOLDFAST_API_KEYS");
    expect(error.detail).not.toContain("not json");
  });
});
