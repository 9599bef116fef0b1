// What a failing seed is reduced by.
import { describe, expect, it } from "vitest";
import { shrink } from "../../simulation/shrink.ts";

describe("a failing list", () => {
  it("[QUA-01] is reduced to what it fails by, in its order", async () => {
    const fails = (part: readonly number[]): Promise<boolean> =>
      Promise.resolve(part.includes(3) && part.includes(7));
    expect(await shrink([7, 1, 2, 3, 4, 7, 9], fails)).toEqual([7, 3]);
  });

  it("stays whole where everything is needed", async () => {
    const fails = (part: readonly string[]): Promise<boolean> => Promise.resolve(part.length === 2);
    expect(await shrink(["a", "b"], fails)).toEqual(["a", "b"]);
  });
});
