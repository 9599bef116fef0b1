// The contract of the world's edge, for every adapter of it: the platform's own, and the one that tests drive.
import { describe, expect, it } from "vitest";
import { systemPorts } from "../../../durable-objects/platform/system-ports.ts";
import type { LosableObject, Ports } from "../../../shared/ports.ts";
import { FAILPOINTS } from "../../../shared/failpoints.ts";
import { submissionIdOf, queueSequenceOf } from "../../../shared/ids.ts";
import { TestWorld } from "../../../shared/testing/test-world.ts";

const ADAPTERS: readonly [string, () => Ports][] = [
  ["the platform", () => systemPorts],
  ["the tests' world", () => new TestWorld().ports],
];

const object: LosableObject = {
  abort: () => undefined,
  waitUntil: () => undefined,
  storage: { sync: () => Promise.resolve() },
};

describe.each(ADAPTERS)("[QUA-04] the ports of %s", (_name, makePorts) => {
  it("tell the time in whole epoch milliseconds, never backwards", () => {
    const { clock } = makePorts();
    const times = Array.from({ length: 50 }, () => clock.now());
    expect(times.every((time) => Number.isSafeInteger(time) && time > 0)).toBe(true);
    expect(times).toEqual(times.toSorted((left, right) => left - right));
  });

  it("make tokens of the one form that ids take, none of them twice", () => {
    const { ids } = makePorts();
    const tokens = Array.from({ length: 500 }, () => ids.token());
    expect(new Set(tokens).size).toBe(tokens.length);
    for (const token of tokens) expect(queueSequenceOf(submissionIdOf(7, token))).toBe(7);
  });

  it("draw numbers for jitter from 0 up to 1", () => {
    const { ids } = makePorts();
    for (let draw = 0; draw < 200; draw += 1) {
      const number = ids.random();
      expect(number).toBeGreaterThanOrEqual(0);
      expect(number).toBeLessThan(1);
    }
  });

  it("crash nowhere unless they were told to", () => {
    const failpoints = makePorts().failpoints(object);
    for (const point of FAILPOINTS) expect(() => failpoints.hit(point)).not.toThrow();
  });
});
