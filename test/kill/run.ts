// `npm run test:kill -- --kills N [--seed S]`: a real server under load is killed N times at planned moments and restarted on the same
// storage; then nothing may be lost, doubled, repeated or stuck. A failure prints the seed that plans the same kills again.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { CallBoard } from "./call-board.ts";
import { checkEverything } from "./final-check.ts";
import { planKills } from "./kill-plan.ts";
import { runKill, type KillResult, type World } from "./one-kill.ts";
import { printReport } from "./report.ts";
import { buildBundle, Server } from "./server.ts";
import { Stub } from "./stub.ts";

const MAX_SHOWN_FAULTS = 20;

const { values } = parseArgs({
  options: { kills: { type: "string", default: "100" }, seed: { type: "string" } },
});
const kills = z.coerce.number().int().min(1).max(100_000).parse(values.kills);
const seed = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** 32 - 1)
  .parse(values.seed ?? Math.floor(Math.random() * 2 ** 32));

/** Error lines of the server, by event: a kill is no reason for one. */
function countServerErrors(logFile: string): Map<string, number> {
  const counts = new Map<string, number>();
  if (!existsSync(logFile)) return counts;
  for (const [, event = ""] of readFileSync(logFile, "utf8").matchAll(
    /"level":"error","event":"([^"]*)"/g,
  )) {
    counts.set(event, (counts.get(event) ?? 0) + 1);
  }
  return counts;
}

const startedAt = performance.now();
const folder = mkdtempSync(join(tmpdir(), "holdfast-kill-"));
console.log(`kill test: ${kills} kills, seed ${seed}`);
buildBundle(folder);

const stub = new Stub();
const server = new Server(folder, await stub.port());
process.on("exit", () => {
  server.killNow();
  stub.stop();
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

const faults: string[] = [];
const world: World = {
  server,
  stub,
  board: new CallBoard(stub),
  logs: new Map(),
  allowances: new Map(),
  jobs: [],
  report: (fault) => {
    faults.push(fault);
    if (faults.length <= MAX_SHOWN_FAULTS) console.error(`FAULT: ${fault}`);
  },
};

const results: KillResult[] = [];
try {
  await server.start();
  for (const plan of planKills(seed, kills)) {
    results.push(await runKill(world, plan));
    if (plan.index % 25 === 0) console.log(`${plan.index} kills`);
  }
  const totals = await checkEverything(world);
  const errors = countServerErrors(server.logFile);
  for (const [event, count] of errors) world.report(`the server logged ${event} ${count} times`);
  printReport(results, totals, errors);
} catch (error) {
  console.error(error);
  world.report(`the kill test itself broke off after ${results.length} kills`);
}
await server.kill();
console.log(`${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
if (faults.length > 0) {
  console.error(
    `${faults.length} faults. The same kills again: npm run test:kill -- --kills ${kills} --seed ${seed}`,
  );
  console.error(`The server's storage and log are kept in ${folder}`);
  process.exit(1);
}
rmSync(folder, { recursive: true });
console.log(`${kills} kills, no fault`);
process.exit(0);
