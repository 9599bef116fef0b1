// Canonical JSON, bytes, durations, delays.
import * as fc from "fast-check";
import { encodeUsage, NO_USAGE, USAGE_FIELDS, UsageSchema } from "../../../shared/wire/usage.ts";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { planBackoff } from "../../../shared/backoff.ts";
import { utf8Length, utf8Prefix, utf8Suffix } from "../../../shared/bytes.ts";
import {
  canonicalJson,
  findJsonFault,
  isJsonValue,
  JSON_BOUNDS,
  type JsonValue,
} from "../../../shared/canonical-json.ts";
import {
  durationMillis,
  DurationSchema,
  parseDurationMillis,
} from "../../../shared/define/duration.ts";
import { ALARM_BACKOFF } from "../../../shared/limits.ts";
import { digestJson } from "../../../durable-objects/platform/digest.ts";
import { planRetry } from "../../../durable-objects/scheduler/due.ts";

const json = fc.jsonValue({ maxDepth: 4 }).map((value): JsonValue => z.json().parse(value));

/** The same value with the keys of every object in the opposite order. */
function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, entry]) => [key, reversed(entry)]),
  );
}

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

describe("canonical JSON", () => {
  it("sorts keys by UTF-16 code units and writes no spaces", () => {
    expect(canonicalJson({ b: 1, a: [true, null], "€": 2, B: "x", "😀": 3, "\uFF5E": 4 })).toBe(
      '{"B":"x","a":[true,null],"b":1,"€":2,"😀":3,"\uFF5E":4}',
    );
    expect(canonicalJson({ "10": 1, "9": 2 })).toBe('{"10":1,"9":2}');
  });

  it("says the same of any order of keys, and reads back as the value", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
        expect(digestJson(reversed(value))).toBe(digestJson(value));
        const back: unknown = JSON.parse(canonicalJson(value));
        expect(back).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("leaves undefined properties out", () => {
    const value: { a?: JsonValue; b: number } = { b: 1 };
    expect(findJsonFault({ ...value, a: undefined })).toBeNull();
    expect(digestJson(value)).toBe(digestJson({ b: 1 }));
  });

  it.each<[string, unknown, string]>([
    ["undefined", undefined, "not-json"],
    ["undefined in a list", [undefined], "not-json"],
    ["a hole", Array(1), "not-json"],
    ["a bigint", { a: 1n }, "not-json"],
    ["a function", () => 1, "not-json"],
    ["a symbol", Symbol("s"), "not-json"],
    ["a date", new Date(0), "not-json"],
    ["a map", new Map(), "not-json"],
    ["NaN", [Number.NaN], "not-finite"],
    ["infinity", { a: Number.POSITIVE_INFINITY }, "not-finite"],
    ["a long list", Array(JSON_BOUNDS.maxEntries + 1).fill(1), "too-many-entries"],
  ])("refuses %s", (_name, value, fault) => {
    expect(findJsonFault(value)).toBe(fault);
    expect(isJsonValue(value)).toBe(false);
  });

  it("refuses a cycle without walking it for ever", () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    expect(findJsonFault(cyclic)).toBe("too-deep");
  });

  it("accepts at its bounds, and not past them", () => {
    expect(findJsonFault(nested(JSON_BOUNDS.maxDepth))).toBeNull();
    expect(findJsonFault(nested(JSON_BOUNDS.maxDepth + 1))).toBe("too-deep");
    expect(findJsonFault(Array(JSON_BOUNDS.maxEntries).fill(1))).toBeNull();
    const full = Array(JSON_BOUNDS.maxEntries).fill(1);
    const lists = Array(15).fill(full);
    expect(findJsonFault([...lists])).toBeNull();
    expect(findJsonFault([...lists, full])).toBe("too-many-nodes");
  });

  it("accepts an object without a prototype", () => {
    const bare: unknown = Object.assign(Object.create(null), { a: 1 });
    expect(isJsonValue(bare)).toBe(true);
  });
});

const anyText = fc.string({ unit: "binary", maxLength: 60 }).filter((text) => text.isWellFormed());

describe("sizes in bytes", () => {
  it("are those of UTF-8, lone surrogates included", () => {
    const lone = fc.array(fc.nat({ max: 0xffff }), { maxLength: 30 });
    fc.assert(
      fc.property(
        fc.oneof(
          anyText,
          lone.map((units) => String.fromCharCode(...units)),
        ),
        (text) => {
          expect(utf8Length(text)).toBe(Buffer.byteLength(text, "utf8"));
          expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
        },
      ),
    );
  });

  it("cut to the longest whole prefix and suffix", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: -2, max: 90 }), (text, max) => {
        const points = Array.from(text);
        const fits = (part: string) => Buffer.byteLength(part) <= Math.max(0, max);
        let prefix = "";
        for (const point of points) {
          if (!fits(prefix + point)) break;
          prefix += point;
        }
        let suffix = "";
        for (const point of points.toReversed()) {
          if (!fits(point + suffix)) break;
          suffix = point + suffix;
        }
        expect(utf8Prefix(text, max)).toBe(prefix);
        expect(utf8Suffix(text, max)).toBe(suffix);
      }),
    );
  });
});

describe("durations", () => {
  it.each([
    ["1 millisecond", 1],
    ["30 seconds", 30_000],
    ["1 second", 1_000],
    ["1.5 minutes", 90_000],
    ["0.001 seconds", 1],
    ["2 hours", 7_200_000],
    ["3 days", 259_200_000],
    ["365 days", 31_536_000_000],
  ])("[CTX-01] %s is %i ms", (text, millis) => {
    expect(parseDurationMillis(text)).toBe(millis);
    expect(durationMillis(DurationSchema.parse(text))).toBe(millis);
  });

  it.each([
    "",
    "5",
    "5m",
    "5  minutes",
    " 5 minutes",
    "5 minutes\n",
    "-1 seconds",
    "+1 seconds",
    "1e3 seconds",
    "0 seconds",
    "0.1 milliseconds",
    "366 days",
    "365.001 days",
    "1 fortnight",
    "1 constructor",
    "1 Second",
  ])("[CTX-01] %j is none", (text) => {
    expect(parseDurationMillis(text)).toBeNull();
    expect(DurationSchema.safeParse(text).success).toBe(false);
  });
});

describe("backoff", () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  it("[ALM-03] doubles to its cap and draws from the upper half", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1, max: 2_000 }), random, (attempt, draw) => {
        const ceiling = Math.min(5_000, 100 * 2 ** (Math.max(1, attempt) - 1));
        const delay = planBackoff({ baseMillis: 100, capMillis: 5_000 }, attempt, draw);
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(ceiling / 2);
        expect(delay).toBeLessThanOrEqual(ceiling);
      }),
    );
  });

  it("is at least one millisecond", () => {
    expect(planBackoff({ baseMillis: 0, capMillis: 0 }, 1, 0)).toBe(1);
  });

  it("[ALM-03] a failed wave comes back within five seconds", () => {
    expect(planRetry(1, 1_000, 0)).toEqual({ reason: "pass-failed", dueAt: 1_050 });
    const late = planRetry(99, 1_000, 0.999).dueAt ?? 0;
    expect(late - 1_000).toBeLessThanOrEqual(ALARM_BACKOFF.capMillis);
  });
});

describe("what the ledger keeps of usage", () => {
  it("[PERF-07] is every count, in an order that is only ever appended to", () => {
    expect(USAGE_FIELDS.toSorted()).toEqual(Object.keys(UsageSchema.shape).toSorted());
    expect(encodeUsage({ ...NO_USAGE, inputTokens: 7, toolCalls: 2 })).toBe(
      "[7,0,0,0,0,2,0,0,0,0]",
    );
  });
});
