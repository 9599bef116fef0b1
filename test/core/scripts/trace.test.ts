// A trace as a developer reads it.
import { describe, expect, it } from "vitest";
import { renderTrace } from "../../../scripts/trace/render-trace.ts";
import type { Span } from "../../../scripts/trace/read-trace.ts";

function span(
  id: string,
  parentId: string | null,
  name: string,
  startMillis: number,
  durationMillis: number | null,
  attributes: Span["attributes"] = {},
): Span {
  return { id, parentId, name, startMillis, durationMillis, attributes };
}

describe("[TRC-01] a trace in the terminal", () => {
  it("is a tree, in the order of time, with what is worth a word", () => {
    const lines = renderTrace([
      span("a", "event", "invoke_agent ops", 1_000, 250, {
        "holdfast.attempt": 1,
        "holdfast.attempt.end": "waiting",
        "holdfast.wait.reason": "approval",
      }),
      span("b", "a", "chat model", 1_010, 200, { "holdfast.turn": 1 }),
      span("c", "a", "execute_tool look", 1_220, 20, { "error.type": "failure" }),
      span("d", "later", "invoke_agent ops", 9_000, null),
    ]);
    expect(lines).toEqual([
      "     +0 ms    250 ms  invoke_agent ops                attempt 1, waiting, for approval",
      "    +10 ms    200 ms    chat model                    turn 1",
      "   +220 ms     20 ms    execute_tool look             error failure",
      "  +8000 ms      lost  invoke_agent ops",
    ]);
  });

  it("is nothing where nothing was traced", () => {
    expect(renderTrace([])).toEqual([]);
  });
});
