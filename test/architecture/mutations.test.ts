// The list of safeguards stays true of the sources between two runs of `npm run test:mutations`.
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MUTATIONS } from "../mutations/mutations.ts";

describe("the mutations", () => {
  it.each(MUTATIONS)("still find, once: $safeguard", ({ file, find, replace, suites }) => {
    expect(readFileSync(file, "utf8").split(find)).toHaveLength(2);
    expect(replace).not.toBe(find);
    for (const suite of suites) expect(existsSync(suite)).toBe(true);
  });
});
