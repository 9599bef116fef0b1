// `npm run test:kill -- --kills N [--seed S]`: a real server under load is killed N times at planned moments and restarted on the same
// storage; then nothing may be lost, doubled, repeated or stuck. A failure prints the seed that plans the same kills again. With `--drill N`
// it kills N slow external calls instead (`drill/run-drill.ts`).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { buildBundle, Server } from "../server/server.ts";
import { Stub } from "../server/stub.ts";
import { CallBoard } from "./call-board.ts";
import { DrillBoard } from "./drill/drill-board.ts";
import { runDrill } from "./drill/run-drill.ts";
import { checkEverything } from "./final-check.ts";
import { planKills } from "./kill-plan.ts";
import { runKill, type KillResult, type World } from "./one-kill.ts";
import { printReport } from "./report.ts";

const MAX_SHOWN_FAULTS = 20;

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    seed: { type: "string" },
    drill: { type: "string" },
  },
  args: withDefault(process.argv.slice(2), "--drill", "200"),
});
const isDrill = values.drill !== undefined;
const kills = z.coerce
  .number()
  .int()
  .min(1)
  .max(100_000)
  .parse(values.drill ?? values.kills);
const seed = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** 32 - 1)
  .parse(values.seed ?? Math.floor(Math.random() * 2 ** 32));

/** An option that may stand alone, as an option with a value. */
function withDefault(args: readonly string[], option: string, value: string): string[] {
  return args.flatMap((arg, index) =>
    arg === option && !/^\d/.test(args[index + 1] ?? "") ? [arg, value] : [arg],
  );
}

const again = `npm run test:kill -- --${isDrill ? "drill" : "kills"} ${kills} --seed ${seed}`;
const startedAt = performance.now();
const folder = mkdtempSync(join(tmpdir(), "holdfast-kill-"));
console.log(`kill test${isDrill ? ", drill" : ""}: ${kills} kills, seed ${seed}`);
buildBundle(folder, "test/kill/wrangler.jsonc");

const stub = new Stub();
const server = new Server(folder, "kill-deployment.js", await stub.port());
process.on("exit", () => {
  server.killNow();
  stub.stop();
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

const faults: string[] = [];
const report = (fault: string): void => {
  faults.push(fault);
  if (faults.length <= MAX_SHOWN_FAULTS) console.error(`FAULT: ${fault}`);
};

async function runKills(): Promise<void> {
  const board = new CallBoard(stub);
  const world: World = {
    server,
    stub,
    board,
    logs: new Map(),
    allowances: new Map(),
    jobs: [],
    report,
  };
  const results: KillResult[] = [];
  for (const plan of planKills(seed, kills)) {
    results.push(await runKill(world, plan));
    if (plan.index % 25 === 0) console.log(`${plan.index} kills`);
  }
  printReport(results, await checkEverything(world), server.countErrors());
}

try {
  await server.start();
  if (isDrill) await runDrill({ server, stub, board: new DrillBoard(stub), report }, kills, seed);
  else await runKills();
  for (const [event, count] of server.countErrors()) {
    report(`the server logged ${event} ${count} times`);
  }
} catch (error) {
  console.error(error);
  report(`the kill test itself broke off after ${server.generation - 1} kills`);
}
await server.kill();
console.log(`${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
if (faults.length > 0) {
  console.error(`${faults.length} faults. The same kills again: ${again}`);
  console.error(`The server's storage and log are kept in ${folder}`);
  process.exit(1);
}
rmSync(folder, { recursive: true });
console.log(`${kills} kills, no fault`);
process.exit(0);
