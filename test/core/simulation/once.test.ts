// What the simulation's callers hold an answer against: a contradiction is found, and what may have happened is let pass.
import { describe, expect, it } from "vitest";
import { Once } from "../../simulation/once.ts";
import { planCommands } from "../../simulation/plan-commands.ts";

type Told = "applied" | "replayed" | "conflicted" | "refused" | "broken";

/** One call after the other, each with its value and what was told of it. */
function hear(...calls: readonly (readonly [value: string, told: Told])[]): () => Once {
  return () => {
    const once = new Once("key 1");
    for (const [value, told] of calls) {
      once.begin(value);
      if (told !== "broken") once[told](value);
    }
    return once;
  };
}

describe("what takes one value for good", () => {
  it.each<[string, () => Once]>([
    ["takes a second value", hear(["a", "applied"], ["b", "applied"])],
    ["takes the same value twice", hear(["a", "applied"], ["a", "applied"])],
    ["replays another value", hear(["a", "applied"], ["b", "replayed"])],
    ["replays what nobody asked for", hear(["a", "replayed"])],
    ["replays what was refused", hear(["a", "refused"], ["a", "replayed"])],
    ["has a conflict with itself", hear(["a", "applied"], ["a", "conflicted"])],
    ["has a conflict with nothing", hear(["a", "conflicted"])],
  ])("[THR-03] is found out when it %s", (_what, run) => {
    expect(run).toThrow("key 1");
  });

  it.each<[string, () => Once, string]>([
    ["replays a call that broke off", hear(["a", "broken"], ["a", "replayed"]), "a"],
    ["takes what broke off only now", hear(["a", "broken"], ["a", "applied"]), "a"],
    ["takes another after one that broke off", hear(["a", "broken"], ["b", "applied"]), "b"],
    [
      "has a conflict with what broke off, and replays it",
      hear(["a", "broken"], ["b", "conflicted"], ["a", "replayed"]),
      "a",
    ],
  ])("[THR-01] is let pass when it %s", (_what, run, taken) => {
    expect(run().taken).toBe(taken);
  });
});

describe("a seed", () => {
  it("[QUA-01] is one list of commands", () => {
    expect(planCommands(17)).toEqual(planCommands(17));
    expect(planCommands(17)).not.toEqual(planCommands(18));
  });
});
