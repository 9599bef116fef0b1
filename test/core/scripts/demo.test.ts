// The demo, as a newcomer runs it: the real Worker, killed in the middle of a tool call.
import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";

it("[UX-02] submits, kills, restarts, resolves the unknown outcome and settles once", () => {
  const demo = spawnSync(process.execPath, ["scripts/demo.ts"], { encoding: "utf8" });
  expect(demo.stderr).toBe("");
  expect(demo.status).toBe(0);
  const order = [
    "ApprovalRequested  restart_service",
    "the server is killed",
    "ToolUnknown        restart_service: attempt-lost",
    "asked 1 time under this key",
    "SubmissionSettled  completed",
    "invoke_agent ops-assistant      attempt 1, in 216, out 12, µ$ 0, waiting, for approval",
    "execute_tool read_logs",
    "after the loss of 2",
    "settled, completed",
    "Settled once, restarted once",
    "Try it by hand",
  ];
  let from = 0;
  for (const line of order) {
    const at = demo.stdout.indexOf(line, from);
    expect({ line, found: at >= 0 }).toEqual({ line, found: true });
    from = at;
  }
});
