// Admission: receipts, keys, limits, and what is written where.
import { afterEach, describe, expect, it } from "vitest";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { expectSound } from "../support/expect-sound.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { meter } from "../support/storage-meter.ts";
import { ThreadDriver } from "../support/thread-driver.ts";

afterEach(resetOptions);

/** The error that a refused call answers with. */
async function refusal(call: Promise<unknown>): Promise<HoldfastError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof HoldfastError) return error;
  throw new Error("the call was not refused");
}

describe("admission", () => {
  it("[THR-01] gives a receipt once the submission is committed, and the same one to a retry", async () => {
    const thread = new ThreadDriver();
    const first = await thread.submit([{ text: "ok" }], { key: "once" });
    const again = await thread.submit([{ text: "ok" }], { key: "once" });
    expect(first.replayed).toBe(false);
    expect(again).toEqual({ receipt: first.receipt, replayed: true });
    await thread.settlement(first.receipt.submissionId);
    const late = await thread.submit([{ text: "ok" }], { key: "once" });
    expect(late).toEqual({ receipt: first.receipt, replayed: true });
    await expectSound(thread, { receipts: [{ key: "once", receipt: first.receipt }] });
  });

  it("[THR-02] scopes the key to the principal", async () => {
    const thread = new ThreadDriver();
    const mine = await thread.submit([{ text: "mine" }], { key: "k" });
    const theirs = await thread.submit([{ text: "theirs" }], { key: "k", principal: "other" });
    expect(theirs.replayed).toBe(false);
    expect(theirs.receipt.submissionId).not.toBe(mine.receipt.submissionId);
    await thread.settlement(theirs.receipt.submissionId);
    await expectSound(thread);
  });

  it("[THR-03] refuses the same key with another command and changes nothing", async () => {
    const thread = new ThreadDriver();
    await thread.run([{ text: "ok" }], { key: "k" });
    await thread.quiet();
    const before = await thread.dump();
    const other = await refusal(thread.submit([{ text: "another" }], { key: "k" }));
    expect(other.code).toBe("IdempotencyConflict");
    const agent = await refusal(thread.submit([{ text: "ok" }], { key: "k", agent: "structured" }));
    expect(agent.code).toBe("IdempotencyConflict");
    expect(await thread.dump()).toEqual(before);
  });

  it("[THR-03] gives the receipt of an accepted key even when the command would be refused now", async () => {
    const thread = new ThreadDriver();
    const gate = `${thread.threadId}-hold`;
    const { receipt } = await thread.submit([{ text: "ok", gate }], { key: "k" });
    await thread.arrival(gate);
    testOptions.limits = { maxQueueDepth: 1, maxInputBytes: 1 };
    await thread.crash();
    const again = await thread.submit([{ text: "ok", gate }], { key: "k" });
    expect(again).toEqual({ receipt, replayed: true });
    await thread.settlementAfter(gate, receipt.submissionId);
  });

  it("[THR-04] refuses input that the schema refuses, with the paths, and writes nothing", async () => {
    const thread = new ThreadDriver();
    const error = await refusal(
      thread.submitRaw({ agent: "plain", input: { plan: "not a list" } }),
    );
    expect(error.code).toBe("InvalidInput");
    expect(error.errors[0]?.pointer).toBe("/input/plan");
    expect((await thread.dump()).batches).toEqual([]);
    expect(await thread.alarmAt()).toBe(null);
  });

  it("[THR-04] stores the decoded input in canonical form", async () => {
    const thread = new ThreadDriver();
    await thread.submitRaw({
      agent: "plain",
      input: { unknown: "dropped", plan: [{ text: "ok", calls: undefined }] },
    });
    const recorded = await thread.recordThat((record) => record.type === "InputRecorded");
    expect(recorded.payload).toEqual({ kind: "user", input: { plan: [{ text: "ok" }] } });
  });

  it("[THR-05] refuses an unknown agent and admits nothing", async () => {
    const thread = new ThreadDriver();
    const error = await refusal(thread.submit([{ text: "ok" }], { agent: "nobody" }));
    expect(error).toMatchObject({ code: "AgentNotFound", status: 404 });
    expect(error.detail).toContain("plain");
    expect((await thread.dump()).submissions).toEqual([]);
  });

  it("[THR-06] refuses past each limit before anything is written, and names limit, value and maximum", async () => {
    const thread = new ThreadDriver();
    testOptions.limits = { maxQueueDepth: 2, maxInputBytes: 500, maxDatabaseBytes: 10_000_000 };
    const gate = `${thread.threadId}-hold`;
    const first = await thread.submit([{ text: "ok", gate }]);
    await thread.submit([{ text: "ok" }]);
    const before = (await thread.dump()).submissions;
    const depth = await refusal(thread.submit([{ text: "ok" }]));
    expect(depth).toMatchObject({
      code: "AdmissionLimitExceeded",
      status: 429,
      retryable: true,
      fields: { limit: "maxQueueDepth", current: 2, maximum: 2, retryAfterSeconds: 1 },
    });
    const size = await refusal(thread.submit([{ text: "x".repeat(1_000) }]));
    expect(size).toMatchObject({ status: 413, fields: { limit: "maxInputBytes", maximum: 500 } });
    expect((await thread.dump()).submissions).toEqual(before);
    await thread.openGate(gate);
    await thread.settlement(first.receipt.submissionId);
    await thread.quiet();
    testOptions.limits = { maxDatabaseBytes: 1 };
    await thread.evict();
    const full = await refusal(thread.submit([{ text: "ok" }]));
    expect(full).toMatchObject({
      status: 507,
      retryable: false,
      fields: { limit: "maxDatabaseBytes", maximum: 1 },
    });
  });

  it("[THR-07] is one transaction of four rows, and waits on no model", async () => {
    const thread = new ThreadDriver();
    await thread.run([{ text: "ok" }]);
    await thread.quiet();
    const gate = `${thread.threadId}-hold`;
    const blocker = await thread.submit([{ text: "ok", gate }]);
    await thread.arrival(gate);
    const cost = await meter(thread, () => thread.submit([{ text: "queued" }]));
    expect(cost).toMatchObject({ rowsWritten: 4, alarmWrites: 1 });
    await thread.openGate(gate);
    await thread.settlement(blocker.receipt.submissionId);
  });

  it("[THR-10] refuses a definition digest that is not the deployment's", async () => {
    const thread = new ThreadDriver();
    await thread.run([{ text: "ok" }]);
    const start = await thread.recordThat((record) => record.type === "RunStarted");
    const digests = start.type === "RunStarted" ? start.payload.digests : undefined;
    const request = { agent: "plain", input: { plan: [{ text: "ok" }] } };
    const error = await refusal(
      thread.submitRaw({ ...request, expectDefinitions: { tools: "0".repeat(64) } }),
    );
    expect(error).toMatchObject({ code: "DefinitionMismatch", status: 409 });
    const accepted = await thread.submitRaw({ ...request, expectDefinitions: { ...digests } });
    expect(accepted.replayed).toBe(false);
    await thread.settlement(accepted.receipt.submissionId);
  });

  it("[THR-13] creates nothing by reading a thread that was never written", async () => {
    const thread = new ThreadDriver();
    for (const read of [
      thread.explain(),
      thread.operations(),
      thread.submission("sub-1-aaaaaaaaaaaaaaaa"),
    ]) {
      expect(await refusal(read)).toMatchObject({ code: "ThreadNotFound", status: 404 });
    }
    const tables = await thread.inObject((storage) =>
      storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master").toArray(),
    );
    expect(tables.filter(({ name }) => !name.startsWith("__"))).toEqual([]);
    expect(await thread.alarmAt()).toBe(null);
  });

  it("[THR-13] opens the log with ThreadCreated in the first committed batch, not at admission", async () => {
    const thread = new ThreadDriver();
    const gate = `${thread.threadId}-hold`;
    const { receipt } = await thread.submit([{ text: "ok", gate }]);
    await thread.settlementAfter(gate, receipt.submissionId);
    const { batches } = await thread.dump();
    expect(batches[0]).toMatchObject({ first: 1, last: 3 });
  });

  it("[THR-13] answers Unavailable for storage that is newer than the code, and looks again in an hour", async () => {
    const thread = new ThreadDriver();
    await thread.run([{ text: "ok" }]);
    await thread.quiet();
    await thread.inObject((storage) => {
      storage.sql.exec(
        "INSERT INTO schema_migrations (tag, digest, appliedAt) VALUES ('9999_future', 'x', 0)",
      );
    });
    await thread.evict();
    const before = await thread.dump();
    for (const call of [thread.explain(), thread.submit([{ text: "ok" }])]) {
      expect(await refusal(call)).toMatchObject({
        code: "Unavailable",
        status: 503,
        fields: { reason: "schema" },
      });
    }
    const at = await thread.alarmAt();
    expect(at).not.toBe(null);
    await thread.fireAlarm();
    expect(await thread.alarmAt()).not.toBe(null);
    expect((await thread.dump()).batches).toEqual(before.batches);
    await thread.inObject(async (storage) => {
      storage.sql.exec("DELETE FROM schema_migrations WHERE tag = '9999_future'");
      await storage.deleteAlarm();
    });
    await thread.evict();
    expect((await thread.run([{ text: "again" }])).output).toBe("again");
  });

  it("[THR-13] refuses a migration that was edited after it was applied", async () => {
    const thread = new ThreadDriver();
    await thread.run([{ text: "ok" }]);
    await thread.quiet();
    await thread.inObject((storage) => {
      storage.sql.exec("UPDATE schema_migrations SET digest = 'edited'");
    });
    await thread.evict();
    const error = await refusal(thread.explain());
    expect(error.code).toBe("Unavailable");
    expect(error.detail).toContain("edited");
  });
});
