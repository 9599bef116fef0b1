// That the search for secrets around every test file finds what it is for (SEC-04): a leak is planted in each place where one could be, and
// each is found; what may be said is not.
import { tracing } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { expectNothingTold, takeTold } from "../support/told.ts";
import { PLANTED_SECRETS } from "../support/secrets.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { command, readAnswer, send, submit } from "./http-client.ts";

/** Traces come when they come. */
const PATIENCE = { timeout: 10_000, interval: 5 };
const CONTENT = JSON.stringify({ plan: [{ text: "ok" }] });

// What is counted below begins here.
beforeAll(expectNothingTold);

// A leak that stays would fail the file, as it would any other.
afterEach(async () => {
  await takeTold();
});

/** A span inside an object, as the product's are. */
async function trace(
  name: string,
  attributes: Readonly<Record<string, string>>,
  exception?: Error,
): Promise<void> {
  await new ThreadDriver("secrets-traced").inObject(() => {
    tracing.enterSpan(name, (span) => {
      for (const [key, value] of Object.entries(attributes)) span.setAttribute(key, value);
      if (exception !== undefined) span.recordException(exception);
    });
  });
}

/** What was found in traces, once it came. */
async function tracedLeaks(count: number): Promise<string[]> {
  const leaks: string[] = [];
  await vi.waitUntil(async () => {
    leaks.push(...(await takeTold()).leaks);
    return leaks.length >= count;
  }, PATIENCE);
  return leaks;
}

describe("a secret", () => {
  it.each(PLANTED_SECRETS)(
    "[SEC-04] is found in a line of the log, whatever is around it: %s",
    async (secret) => {
      console.info(JSON.stringify({ level: "info", event: "leaked", detail: `at ${secret}!` }));
      console.warn("two parts", { of: [secret] });
      console.error(new Error(`it said ${secret}`));
      const { lines, leaks } = await takeTold();
      expect(lines).toBe(3);
      const found = leaks.filter((leak) => leak.startsWith("log ("));
      expect(found.map((leak) => leak.slice(0, leak.indexOf(":")))).toEqual([
        "log (info)",
        "log (warn)",
        "log (error)",
      ]);
      for (const leak of found) expect(leak).toContain(secret);
    },
  );

  it.each(PLANTED_SECRETS)(
    "[SEC-04] is found in an answer, its text or its headers: %s",
    async (secret) => {
      await readAnswer(new Response(`{"detail":"the key is ${secret}"}`));
      await readAnswer(new Response(null, { headers: { "x-debug": secret } }));
      const { answers, leaks } = await takeTold();
      expect(answers).toBe(2);
      expect(leaks).toHaveLength(2);
      for (const leak of leaks) expect(leak).toContain(secret);
    },
  );

  it.each(PLANTED_SECRETS)(
    "[SEC-04] is found in a trace: name, attribute or exception: %s",
    async (secret) => {
      await trace(secret, { "gen_ai.prompt": `say ${secret}` }, new Error(`it said ${secret}`));
      const leaks = await tracedLeaks(3);
      const kinds = leaks.map((leak) => leak.slice(0, leak.indexOf(":")));
      expect(kinds.toSorted()).toEqual([
        "trace (attributes)",
        "trace (exception)",
        "trace (spanOpen)",
      ]);
      for (const leak of leaks) expect(leak).toContain(secret);
    },
  );
});

describe("content", () => {
  it("[SEC-04, TRC-01] is found in a line of the log, however often it was made JSON", async () => {
    let text = CONTENT;
    for (let depth = 0; depth < 4; depth += 1) {
      console.info(text);
      text = JSON.stringify({ input: text });
    }
    const { leaks } = await takeTold();
    expect(leaks.filter((leak) => leak.startsWith("log (info): "))).toHaveLength(4);
  });

  it("[SEC-04, TRC-01] is found in an attribute of a trace", async () => {
    const messages = JSON.stringify([{ role: "user", content: CONTENT }]);
    await trace("chat", { "gen_ai.input.messages": messages });
    const leaks = await tracedLeaks(1);
    expect(leaks).toHaveLength(1);
    expect(leaks[0]).toMatch(/^trace \(attributes\): .*gen_ai\.input\.messages/);
  });

  it("may be in an answer", async () => {
    await readAnswer(new Response(CONTENT));
    await expectNothingTold();
  });
});

describe("the search", () => {
  it("[SEC-04] fails a file that leaked", async () => {
    console.info(PLANTED_SECRETS[0]);
    await expect(expectNothingTold()).rejects.toThrow();
    await readAnswer(new Response(PLANTED_SECRETS[1]));
    await expect(expectNothingTold()).rejects.toThrow();
    await trace(PLANTED_SECRETS[2], {});
    const failure = await vi.waitUntil(
      async () => expectNothingTold().catch((error: unknown) => error),
      PATIENCE,
    );
    expect(failure).toBeInstanceOf(Error);
    await expectNothingTold();
  });

  it("[SEC-04] sees the log, the answers and the traces of what the Worker does, and the right credential nowhere", async () => {
    const thread = new ThreadDriver("secrets");
    const answer = await submit(thread.threadId, "k", command([{ text: "ok" }]), {
      prefer: "wait=20",
    });
    expect(answer.status).toBe(202);
    expect(
      (await send("/v1/threads/x", { headers: { authorization: "Bearer wrong" } })).status,
    ).toBe(401);
    const { lines, answers, traced, leaks } = await takeTold();
    // The refusal and the settlement.
    expect({ lines, answers, leaks }).toEqual({ lines: 2, answers: 2, leaks: [] });
    // Requests, objects, storage: the right credential went along in a header, and is not counted as told.
    expect(traced).toBeGreaterThan(50);
  });
});
