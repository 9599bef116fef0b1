// Runs a built Worker in bare workerd, a process that can be killed and looked at: what is measured is the runtime, not a dev server.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "./client.ts";

const workerd = createRequire(import.meta.url).resolve("workerd/bin/workerd");

export interface WorkerdOptions {
  /** Names the configuration, and the storage below `folder`. */
  readonly name: string;
  readonly script: string;
  readonly folder: string;
  readonly port: number;
  readonly binding: string;
  readonly className: string;
  readonly variables?: Readonly<Record<string, string>>;
}

/** The path of the configuration. Objects stay in memory until the process ends. */
export function writeWorkerdConfig(options: WorkerdOptions): string {
  const { name, script, folder, port, binding, className, variables = {} } = options;
  const storage = join(folder, name);
  mkdirSync(storage, { recursive: true });
  // The script is embedded by a path relative to the configuration, so that one lies beside it.
  const config = join(dirname(script), `${name}.capnp`);
  const text = (value: string): string => JSON.stringify(value);
  const bindings = Object.entries(variables).map(
    ([variable, value]) => `    (name = ${text(variable)}, text = ${text(value)}),`,
  );
  writeFileSync(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "objects", disk = (path = ${text(storage)}, writable = true)),
    (name = "internet", network = (allow = ["private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed ${text(basename(script))})],
  compatibilityDate = "2026-11-01",
  durableObjectNamespaces = [
    (className = ${text(className)}, uniqueKey = "bench-objects", enableSql = true, preventEviction = true),
  ],
  durableObjectStorage = (localDisk = "objects"),
  bindings = [
    (name = ${text(binding)}, durableObjectNamespace = ${text(className)}),
${bindings.join("\n")}
  ],
);
`,
  );
  return config;
}

/** Its log is shown when it ends by itself: a SIGKILL leaves no exit code. */
export function startWorkerd(config: string, options: readonly string[] = []): ChildProcess {
  const stdio = ["ignore" as const, "ignore" as const, "pipe" as const];
  const child = spawn(workerd, ["serve", config, ...options], { stdio });
  let log = "";
  child.stderr?.on("data", (chunk: Buffer) => (log += chunk.toString()));
  child.on("close", (code) => {
    if (code !== null) console.error(`workerd ended with ${code}:\n${log}`);
  });
  return child;
}

export async function killWorkerd(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
}

/** Any answer will do: the floor has no health route. */
export async function untilListening(client: Client): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    try {
      await client.send("GET", "/healthz");
      return;
    } catch {
      // Not listening yet.
    }
    await sleep(20);
  }
  throw new Error("workerd did not start within 10 s");
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server);
  server.close();
  await once(server, "close");
  return port;
}

export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}
