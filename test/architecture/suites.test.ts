// Rules for the tests themselves (QUA-05).
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const suites = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".test.ts") && !path.endsWith("suites.test.ts"))
  .map((path) => ({ path, text: readFileSync(join("test", path), "utf8") }));

/** What a suite must not hold, and why. */
const FORBIDDEN: readonly (readonly [why: string, pattern: RegExp])[] = [
  ["a test that is left out", /\b(?:it|test|describe)\.(?:skip|todo|fails|runIf|skipIf)\b/],
  ["a test that is singled out", /\b(?:it|test|describe)\.only\b/],
  ["waiting for time to pass", /\bsleep\(|setTimeout\(\s*(?:resolve|r)\b|timers\/promises/],
  ["a retried test", /\bretry:\s*\d/],
];

function findOffences(text: string): string[] {
  return FORBIDDEN.filter(([, pattern]) => pattern.test(text)).map(([why]) => why);
}

describe("suites", () => {
  it("[QUA-05] leave no test out, single none out, retry none, and never wait for time to pass", () => {
    expect(suites.length).toBeGreaterThan(20);
    const offences = suites.flatMap(({ path, text }) =>
      findOffences(text).map((why) => `${path}: ${why}`),
    );
    expect(offences).toEqual([]);
  });

  it("[QUA-05] assert something each", () => {
    const silent = suites.filter(({ text }) => !/\bexpect\w*\(/.test(text)).map(({ path }) => path);
    expect(silent).toEqual([]);
  });

  it("are found out when they do", () => {
    expect(findOffences('it.skip("x", () => {})')).toEqual(["a test that is left out"]);
    expect(findOffences("await sleep(10)")).toEqual(["waiting for time to pass"]);
  });
});
