// The faults of the soak test: SIGKILL after a planned time, restart on the same storage, again and again, with the server's memory and the
// storage's size at each.
import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { seeded } from "../server/seeded.ts";
import type { Server } from "../server/server.ts";
import { storedBytes } from "../server/stored-threads.ts";
import { planKillMillis } from "./soak-plan.ts";
import type { SoakWorld } from "./soak-world.ts";

/** After the port is open: what the kill left is being gone on with by then. */
const SETTLE_MILLIS = 2_000;

/** One life of the server. */
export interface Life {
  readonly startedAtSeconds: number;
  readonly rssAfterStartMiB: number;
  rssAtEndMiB: number;
  /** 0 for the last, whose end is the test's. */
  storageBytesAtEnd: number;
  /** Turns of settled runs by its end, since the beginning. */
  turnsAtEnd: number;
}

/** Kills until the time is over, and once more then. The server is up when it returns. */
export async function killAgainAndAgain(
  world: SoakWorld,
  lives: Life[],
  seed: number,
  untilMillis: number,
): Promise<void> {
  const random = seeded(seed ^ 0x5eed);
  const { server } = world;
  for (;;) {
    const life = await beginLife(server, lives);
    const left = untilMillis - performance.now();
    const planned = Math.max(0, planKillMillis(random) - SETTLE_MILLIS);
    await sleep(Math.max(0, Math.min(planned, left)));
    life.rssAtEndMiB = rssMiB(server);
    life.turnsAtEnd = world.counted("turns");
    await server.kill();
    world.count("kills");
    life.storageBytesAtEnd = await storedBytes(server.storage);
    await server.start();
    if (planned >= left) break;
  }
  const last = await beginLife(server, lives);
  last.rssAtEndMiB = rssMiB(server);
}

async function beginLife(server: Server, lives: Life[]): Promise<Life> {
  const startedAtSeconds = performance.now() / 1_000;
  await sleep(SETTLE_MILLIS);
  const life: Life = {
    startedAtSeconds,
    rssAfterStartMiB: rssMiB(server),
    rssAtEndMiB: 0,
    storageBytesAtEnd: 0,
    turnsAtEnd: 0,
  };
  lives.push(life);
  return life;
}

/** Resident memory of the server, 0 where the machine does not say. */
function rssMiB({ pid }: Server): number {
  if (pid === null) return 0;
  const { stdout } = spawnSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" });
  const kib = Number.parseInt(stdout, 10);
  return Number.isNaN(kib) ? 0 : kib / 1_024;
}
