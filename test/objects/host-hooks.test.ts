// What a host is told, and what it wraps: failed tool results, and each invocation of an object.
import { afterEach, describe, expect, it } from "vitest";
import type { ObjectEvent, ToolFailure } from "../../worker/holdfast.ts";
import { expectSound } from "../support/expect-sound.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";

afterEach(resetOptions);

describe("onToolFailure", () => {
  it("[TOOL-12] hears of each failed result once, without any content", async () => {
    const heard: ToolFailure[] = [];
    testOptions.onToolFailure = (failure) => void heard.push(failure);
    const thread = new ThreadDriver("hooks");
    await thread.run([
      {
        calls: [
          { tool: "act", input: { behave: "throw" } },
          { tool: "look" },
          { tool: "hasty_look", input: { behave: "honour-signal" } },
          { tool: "act", input: { behave: "nonsense" } },
        ],
      },
      { text: "ok" },
    ]);
    expect(new Set(heard.map(({ toolName, outcome }) => `${toolName} ${outcome}`))).toEqual(
      new Set(["act failure", "act invalid", "hasty_look timeout"]),
    );
    expect(heard).toHaveLength(3);
    expect(heard[0]).toMatchObject({ threadId: thread.threadId, turn: 1 });
    expect(JSON.stringify(heard)).not.toMatch(/said no|nonsense/);
    await expectSound(thread);
  });

  it("[TOOL-12] that fails changes nothing", async () => {
    testOptions.onToolFailure = () => Promise.reject(new Error("the observer is down"));
    const thread = new ThreadDriver("hooks");
    const plan = [{ calls: [{ tool: "act", input: { behave: "throw" } }] }, { text: "ok" }];
    expect(await thread.run(plan)).toMatchObject({ output: "ok" });
    await expectSound(thread);
  });
});

describe("onEvent", () => {
  it("[TOOL-12] is around each invocation of the object", async () => {
    const events: (ObjectEvent & { readonly at: string })[] = [];
    testOptions.onEvent = async (event, run) => {
      events.push({ ...event, at: "begin" });
      await run();
      events.push({ ...event, at: "end" });
    };
    const thread = new ThreadDriver("hooks");
    await thread.run([{ text: "ok" }]);
    await thread.quiet();
    await expect(thread.submission("sub-9-aaaaaaaaaaaaaaaa")).rejects.toMatchObject({
      code: "SubmissionNotFound",
    });
    const names = new Set(events.map(({ kind, name, at }) => `${kind} ${name} ${at}`));
    for (const name of ["rpc submit", "rpc awaitSettlementRecord", "alarm alarm"]) {
      expect(names).toContain(`${name} begin`);
      expect(names).toContain(`${name} end`);
    }
    // A refusal is an answer, and no failure of the invocation.
    expect(names).toContain("rpc getSubmission end");
    await expectSound(thread);
  });

  it.each([
    ["throws", () => Promise.reject(new Error("the hook is down"))],
    ["does not call on", () => undefined],
    [
      "fails afterwards",
      async (_event: ObjectEvent, run: () => Promise<void>) => {
        await run();
        throw new Error("the hook is down");
      },
    ],
  ])("[TOOL-12] that %s is in nobody's way", async (_what, hook) => {
    testOptions.onEvent = hook;
    const thread = new ThreadDriver("hooks");
    expect(await thread.run([{ text: "ok" }])).toMatchObject({ output: "ok" });
    expect((await thread.records()).filter(({ type }) => type === "InputRecorded")).toHaveLength(1);
    await expectSound(thread);
  });
});
