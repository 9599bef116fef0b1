// The entry that authors of agents test with, used as docs/testing.md shows it.
import {
  abortAllDurableObjects,
  env,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { must } from "../../shared/assert.ts";
import { FAILPOINTS, ThreadTester, type CrashMode } from "../../shared/testing/index.ts";
import { world } from "../support/world.ts";

const namespace = z.custom<DurableObjectNamespace>().parse(env.THREADS);
const platform = {
  abortAllDurableObjects,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
};
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

function open(threadId: string): ThreadTester {
  return new ThreadTester({ namespace, platform, world, sha256, threadId });
}

const refund = { plan: [{ calls: [{ tool: "guarded" }] }, { text: "refunded" }] };

describe("[UX-07] holdfast/testing", () => {
  it.each(["throw", "abort", "sync-abort"] as const)(
    "crashes an object at a named point, lets it come to rest, and finds no broken promise (%s)",
    async (mode: CrashMode) => {
      const thread = open(`tested-${mode}`);
      const asked = { agent: "plain", input: refund };
      const { receipt } = await thread.submitRequest(asked, { key: "one" });
      await thread.waitingFor(receipt.submissionId, "approval");
      const [approval] = await thread.operations();
      const { operationId } = must(approval, "an approval waits");

      world.armCrashes({ point: "tool:after-handler", mode });
      // The object may die before it answers; the decision is repeated then, as it is known by what it decides.
      await thread.decide(operationId, "approve").catch(() => undefined);
      await thread.toQuiescence();
      expect(world.disarm()).toBe(0);
      await thread.decide(operationId, "approve").catch(() => undefined);
      await thread.toQuiescence();

      const { wait, settlement } = await thread.submission(receipt.submissionId);
      expect(settlement?.outcome ?? wait?.reason).toMatch(/^(?:completed|unknown-outcome)$/);
      expect(world.executions.get(operationId)).toBe(1);
      const receipts = [{ key: "one", receipt }];
      expect(await thread.violations({ receipts })).toEqual([]);
    },
  );

  it("moves the clock from alarm to alarm, and stops where nothing comes by itself", async () => {
    const thread = open("tested-clock");
    const plan = [{ text: "second try", fail: { how: "http", status: 503, times: 1 } }];
    const { receipt } = await thread.submitRequest({ agent: "plain", input: { plan } });
    await thread.waitingFor(receipt.submissionId, "retry-backoff");
    const before = world.now;
    await thread.toQuiescence();
    expect(world.now).toBeGreaterThan(before);
    expect(await thread.settlement(receipt.submissionId)).toMatchObject({ output: "second try" });
    expect(await thread.alarmAt()).toBeNull();
  });

  it("tells a broken promise where there is one", async () => {
    const thread = open("tested-broken");
    const { receipt } = await thread.submitRequest({
      agent: "plain",
      input: { plan: [{ calls: [{ tool: "act" }] }, { text: "ok" }] },
    });
    await thread.settlement(receipt.submissionId);
    const operationId = receipt.submissionId.replace("sub-", "run-") + ".t1.c0";
    const executions = new Map([[operationId, 2]]);
    expect(await thread.violations({ executions })).toEqual([
      { rule: 6, found: `${operationId} ran 2 times, allowed 1` },
    ]);
  });

  it("names every crash point", () => {
    expect(FAILPOINTS).toContain("settle:inside");
    expect(new Set(FAILPOINTS).size).toBe(FAILPOINTS.length);
  });
});
