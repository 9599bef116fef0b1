// `npm run demo`: the real Worker, real work, a killed server, and one settlement. No account, no key, no network.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { opsAssistant } from "../worker/agents/ops-assistant.ts";
import type { travelPlanner } from "../worker/agents/travel-planner.ts";
import { freePort } from "./demo/free-port.ts";
import { startOpsService } from "./demo/ops-service.ts";
import { startServer, type DemoServer } from "./demo/server.ts";
import { follow, openThread, operationOf } from "./demo/thread.ts";
import { readTrace } from "./trace/read-trace.ts";
import { renderTrace } from "./trace/render-trace.ts";

/** Longer than the demo: the kill comes while the restart is under way. */
const RESTART_TAKES_MILLIS = 120_000;

const say = (text: string): void => console.log(`\n▸ ${text}`);

const started = performance.now();
const storage = mkdtempSync(join(tmpdir(), "holdfast-demo-"));
const ops = await startOpsService(RESTART_TAKES_MILLIS);
const port = await freePort();
const options = { port, storage, vars: { OPS_SERVICE_URL: ops.url } };
let server: DemoServer | null = null;

try {
  say("Starting the Worker locally …");
  server = await startServer(options);
  const base = `http://127.0.0.1:${port}`;

  say("An agent without tools: structured input, structured output.");
  const trip = openThread(base, "trip");
  const planned = await trip.submit<typeof travelPlanner>(
    "travel-planner",
    { destination: "Lisbon", days: 2 },
    { idempotencyKey: "trip-1" },
  );
  await follow(trip, 0, (record) => record.type === "SubmissionSettled");
  const plan = await trip.settlement(planned.receipt.submissionId);
  console.log(`       output: ${JSON.stringify(plan.output)}`);

  say("An agent with tools: it reads logs, then asks a person before it restarts a service.");
  const ops1 = openThread(base, "ops");
  const { receipt } = await ops1.submit<typeof opsAssistant>(
    "ops-assistant",
    { request: "billing is stuck, please look into it" },
    { idempotencyKey: "ops-1" },
  );
  let seen = await follow(ops1, 0, (record) => record.type === "ApprovalRequested");
  const approval = await operationOf(ops1, "approval");
  console.log(`       it wants ${approval.toolName} ${JSON.stringify(approval.arguments)}`);

  say("A person approves. The restart begins outside …");
  const { operationId, argumentsDigest } = approval;
  await ops1.decide([
    { operationId, argumentsDigest, decision: "approve", reason: "customers wait" },
  ]);
  seen = await follow(ops1, seen, (record) => record.type === "ToolsPrepared");
  await ops.busy;

  say(`… and the server is killed in the middle of it (SIGKILL to process group ${server.pid}).`);
  await server.kill();

  say(
    "Starting it again on the same storage. No request is sent for the run; its alarm takes it up.",
  );
  server = await startServer(options);
  seen = await follow(ops1, seen, (record) => record.type === "ToolUnknown");
  console.log(`       ${(await ops1.explain()).summary}`);

  say("The person looks outside: did the restart happen?");
  const unknown = await operationOf(ops1, "unknown");
  const happened = ops.restarts.get(operationId) ?? 0;
  console.log(
    `       the service was asked ${happened} time${happened === 1 ? "" : "s"} under this key`,
  );
  await ops1.decide([
    {
      operationId: unknown.operationId,
      decision: "completed",
      result: { restarted: true },
      reason: "the service's log shows the restart",
    },
  ]);
  await follow(ops1, seen, (record) => record.type === "SubmissionSettled");
  const settlement = await ops1.settlement(receipt.submissionId);
  console.log(`       output: ${JSON.stringify(settlement.output)}`);

  const settled = await ops1.page({ types: ["SubmissionSettled"], limit: 256 });
  const settlements = settled.records;
  const ran = ops.restarts.get(operationId) ?? 0;
  if (settlements.length !== 1 || ran !== 1 || settlement.outcome !== "completed") {
    throw new Error(`${settlements.length} settlements, ${ran} restarts, ${settlement.outcome}`);
  }
  say("The same run as its traces tell it: attempts, model calls, handlers, and what was lost.");
  console.log(renderTrace(await readTrace(base, "ops")).join("\n"));

  say(
    `Settled once, restarted once, over a killed server. (${((performance.now() - started) / 1000).toFixed(1)} s)`,
  );
  console.log(`
Try it by hand:
  npm start
  curl -s http://127.0.0.1:8787/v1/threads/mine/submissions \\
    -H 'Authorization: Bearer holdfast-dev' -H 'Idempotency-Key: first' \\
    -H 'Content-Type: application/json' -H 'Prefer: wait=20' \\
    -d '{"agent":"travel-planner","input":{"destination":"Porto"}}'
  curl -N http://127.0.0.1:8787/v1/threads/mine/events -H 'Authorization: Bearer holdfast-dev'
  curl -s http://127.0.0.1:8787/v1/threads/mine/explain -H 'Authorization: Bearer holdfast-dev'
  npm run trace -- mine
  http://127.0.0.1:8787/docs has every route.`);
} catch (error) {
  console.error(
    "\nThe demo did not end as it should:",
    error instanceof Error ? error.message : error,
  );
  process.exitCode = 1;
} finally {
  await server?.kill();
  ops.close();
  rmSync(storage, { recursive: true, force: true });
}
