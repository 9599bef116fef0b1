// What a provider says of when to come back.
import { describe, expect, it } from "vitest";
import { readRetryAfter } from "../../../durable-objects/model/retry-after.ts";

const DATE = "Mon, 30 Nov 2026 12:00:00 GMT";
const DAY = 24 * 60 * 60 * 1_000;

describe("[RUN-15] Retry-After", () => {
  it.each<[headers: Record<string, string> | undefined, millis: number]>([
    [undefined, 0],
    [{}, 0],
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "1.5" }, 1_500],
    [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
    [{ "retry-after-ms": "soon", "retry-after": "7" }, 7_000],
    [{ "retry-after": "Mon, 30 Nov 2026 12:01:30 GMT", date: DATE }, 90_000],
    [{ "retry-after": "Mon, 30 Nov 2026 11:00:00 GMT", date: DATE }, 0],
    // Without the answer's own date nobody knows whose clock is meant.
    [{ "retry-after": "Mon, 30 Nov 2026 12:01:30 GMT" }, 0],
    [{ "retry-after": "soon", date: DATE }, 0],
    [{ "retry-after": "-7" }, 0],
    [{ "retry-after": "1e3" }, 0],
    [{ "retry-after": "" }, 0],
    [{ "retry-after": "9".repeat(400) }, 0],
    [{ "retry-after": "99999999999999999999" }, DAY],
    [{ "retry-after": "Fri, 30 Nov 9999 12:00:00 GMT", date: DATE }, DAY],
  ])("%j is %i ms", (headers, millis) => {
    expect(readRetryAfter(headers)).toBe(millis);
  });
});
