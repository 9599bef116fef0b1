// What the figures were taken on: a timing means nothing without it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, loadavg, platform, release, totalmem } from "node:os";
import { z } from "zod";

export interface Machine {
  readonly cpus: number;
  readonly model: string;
  readonly memoryGib: number;
  /** Of the last minute before the run: above zero, something else used the machine. */
  readonly load: number;
  readonly system: string;
  readonly node: string;
  readonly workerd: string;
  readonly miniflare: string;
  readonly ai: string;
}

export function describeMachine(): Machine {
  return {
    cpus: cpus().length,
    model: cpus()[0]?.model ?? "unknown",
    memoryGib: Math.round(totalmem() / 2 ** 30),
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    system: `${platform()} ${release()}`,
    node: process.version,
    workerd: versionOf("workerd"),
    miniflare: versionOf("miniflare"),
    ai: versionOf("ai"),
  };
}

const require = createRequire(import.meta.url);

function versionOf(name: string): string {
  const file = require.resolve(`${name}/package.json`);
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(file, "utf8"))).version;
}
