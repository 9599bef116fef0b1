// Migrations that are refused, and work that is raced against a signal.
import { describe, expect, it } from "vitest";
import { raceSignal } from "../../../durable-objects/platform/deadline.ts";
import { findRefusal, type Migration } from "../../../durable-objects/platform/migration-plan.ts";
import { systemPorts } from "../../../durable-objects/platform/system-ports.ts";
import { queueSequenceOf, submissionIdOf } from "../../../shared/ids.ts";

function migration(tag: string, digest = `digest of ${tag}`): Migration {
  return { tag, digest, statements: ["SELECT 1"] };
}

describe("[THR-13] stored migrations", () => {
  const bundled = [migration("0000_a"), migration("0001_b")];

  it.each<[string, Migration[]]>([
    ["none", []],
    ["some", [migration("0000_a")]],
    ["all", bundled],
  ])("are accepted when they are %s of this code's", (_name, applied) => {
    expect(findRefusal(applied, bundled)).toBeNull();
  });

  it.each<[string, Migration[], RegExp]>([
    ["more than this code has", [...bundled, migration("0002_c")], /newer.*0002_c/],
    ["of another name", [migration("0000_z")], /0000_z where this code has 0000_a/],
    ["in another order", bundled.toReversed(), /0001_b where this code has 0000_a/],
    ["edited", [migration("0000_a", "other")], /0000_a was edited/],
    ["edited further on", [migration("0000_a"), migration("0001_b", "other")], /0001_b was edited/],
  ])("are refused when they are %s", (_name, applied, reason) => {
    expect(findRefusal(applied, bundled)).toMatch(reason);
  });
});

describe("racing work against a signal", () => {
  const { signal } = new AbortController();

  it("brings what the work returned or threw, synchronously too", async () => {
    expect(await raceSignal(() => 1, signal)).toEqual({ kind: "done", value: 1 });
    expect(await raceSignal(() => Promise.resolve(2), signal)).toEqual({ kind: "done", value: 2 });
    const error = new Error("no");
    const threw = { kind: "threw", error };
    expect(await raceSignal(() => Promise.reject(error), signal)).toEqual(threw);
    const failing = (): number => {
      throw error;
    };
    expect(await raceSignal(failing, signal)).toEqual(threw);
  });

  it("does not begin work that was aborted before", async () => {
    let began = false;
    const raced = await raceSignal(() => {
      began = true;
    }, AbortSignal.abort("why"));
    expect(raced).toEqual({ kind: "aborted", reason: "why" });
    expect(began).toBe(false);
  });

  it("leaves work behind as soon as the signal aborts, and hears its late rejection", async () => {
    const controller = new AbortController();
    const late = Promise.withResolvers<number>();
    const raced = raceSignal(() => late.promise, controller.signal);
    controller.abort("why");
    expect(await raced).toEqual({ kind: "aborted", reason: "why" });
    // An unhandled rejection would fail this run.
    late.reject(new Error("late"));
    await Promise.allSettled([late.promise]);
  });

  it("takes a thenable for a promise, and survives one that throws", async () => {
    const hostile: PromiseLike<number> = {
      // oxlint-disable-next-line unicorn/no-thenable -- a handler may return one
      then() {
        throw new Error("hostile");
      },
    };
    expect(await raceSignal(() => hostile, signal)).toMatchObject({ kind: "threw" });
  });
});

describe("the system's ports", () => {
  it("draw tokens that ids accept, never the same", () => {
    const tokens = Array.from({ length: 200 }, () => systemPorts.ids.token());
    expect(new Set(tokens).size).toBe(200);
    for (const token of tokens) expect(queueSequenceOf(submissionIdOf(1, token))).toBe(1);
  });
});
