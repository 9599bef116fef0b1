// `npm run test:soak -- --minutes 15 [--seed S]`: a real server under mixed load, killed every 20 to 60 seconds and restarted on the same storage;
// then the faults stop, and everything must have settled, or wait with a reason, with a sound history. A violation ends it with status 1.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { seeded } from "../server/seeded.ts";
import { buildBundle, Server } from "../server/server.ts";
import { Stub } from "../server/stub.ts";
import { checkFiles, drain, readLogs } from "./soak-check.ts";
import { killAgainAndAgain, type Life } from "./soak-kills.ts";
import { runLane } from "./soak-lane.ts";
import { decideAll, readAll } from "./soak-people.ts";
import { planDelayMillis } from "./soak-plan.ts";
import { printSoak } from "./soak-report.ts";
import { SoakWorld } from "./soak-world.ts";

const MAX_SHOWN_FAULTS = 20;
const LANES = 10;
/** The last of them. */
const BUSY_LANES = 2;

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "15" }, seed: { type: "string" } },
});
const minutes = z.coerce.number().positive().max(100_000).parse(values.minutes);
const seed = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** 32 - 1)
  .parse(values.seed ?? Math.floor(Math.random() * 2 ** 32));

const folder = mkdtempSync(join(tmpdir(), "holdfast-soak-"));
console.log(`soak test: ${minutes} minutes, seed ${seed}`);
buildBundle(folder, "test/soak/wrangler.jsonc");

const stub = new Stub();
const server = new Server(folder, "soak-deployment.js", await stub.port());
process.on("exit", () => {
  server.killNow();
  stub.stop();
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

const faults: string[] = [];
const world = new SoakWorld(server, stub, (fault) => {
  faults.push(fault);
  if (faults.length <= MAX_SHOWN_FAULTS) console.error(`FAULT: ${fault}`);
});

const delays = seeded(seed ^ 0xde1a);
stub.onArrival = (arrival) => {
  // An answer to a server that is dead by then goes nowhere.
  setTimeout(() => stub.reply(arrival), planDelayMillis(delays));
};

async function soak(): Promise<void> {
  await server.start();
  const until = performance.now() + minutes * 60_000;
  const lives: Life[] = [];
  // A part that fails ends the test; the others are left where they are.
  const people = Promise.all([decideAll(world), readAll(world, seeded(seed ^ 0x4ead))]);
  const lanes = Array.from({ length: LANES }, (_, number) =>
    runLane(
      world,
      { number, isLong: number % 2 === 0, isBusy: number >= LANES - BUSY_LANES },
      seed,
    ),
  );
  const load = Promise.all(lanes);
  const broken = Promise.all([people, load]);
  await Promise.race([killAgainAndAgain(world, lives, seed, until), rejected(broken)]);
  world.isLoading = false;
  console.log(`${world.counted("kills")} kills; the faults have stopped`);
  await Promise.race([drain(world), rejected(broken)]);
  const logs = await readLogs(world);
  world.over.abort();
  const watchers = await load;
  await Promise.all([people, ...watchers.flat()]);
  await server.kill();
  const ending = await checkFiles(world, logs);
  for (const [event, count] of server.countErrors()) {
    world.report(`the server logged ${event} ${count} times`);
  }
  printSoak(world, lives, { ...ending, unknown: world.counted("unknown outcomes") });
}

/** Settles only where the other rejects. */
function rejected(other: Promise<unknown>): Promise<never> {
  return new Promise((_resolve, reject) => {
    other.catch(reject);
  });
}

const startedAt = performance.now();
try {
  await soak();
} catch (error) {
  console.error(error);
  world.report("the soak test itself broke off");
}
await server.kill();
console.log(`${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
if (faults.length > 0) {
  console.error(
    `${faults.length} faults. The same load again: npm run test:soak -- --minutes ${minutes} --seed ${seed}`,
  );
  console.error(`The server's storage and log are kept in ${folder}`);
  process.exit(1);
}
rmSync(folder, { recursive: true });
console.log(`${minutes} minutes, no fault`);
process.exit(0);
