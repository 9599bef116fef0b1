// SIGKILL in the middle of a model call, then the same storage under a new process: how long until the run goes on by itself. The model
// reports each call to a server here, so that no request has to be sent. Bare workerd: what is measured is the runtime, not a dev server.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, submissionIdOf } from "../harness/client.ts";
import { spreadOf, type Timing } from "../harness/figures.ts";
import { benchApiKeys } from "../workers/bench-key.ts";
import { writeTask } from "../workers/scripted-model.ts";

const REPEATS = 7;
const workerd = createRequire(import.meta.url).resolve("workerd/bin/workerd");

export async function measureRestart(script: string, folder: string): Promise<Timing> {
  const samples: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    samples.push(await restartOnce(script, join(folder, `restart-${repeat}`)));
  }
  return {
    key: "PERF-11",
    measure:
      "[PERF-11] start of the process after SIGKILL to the model's next call, no request sent",
    unit: "ms",
    floor: null,
    leanFloor: null,
    ours: spreadOf(samples),
    line: { kind: "at-most", bound: 500 },
    stretch: null,
  };
}

async function restartOnce(script: string, folder: string): Promise<number> {
  const model = await ModelStub.listen();
  const port = await freePort();
  const config = writeConfig(script, folder, port, model.url);
  let child = startWorkerd(config);
  const client = new Client(`http://127.0.0.1:${port}`);
  try {
    await untilHealthy(client);
    const called = model.nextCall();
    const task = writeTask({ steps: 0, deltas: 1 });
    const answer = await client.submit({ thread: "restart", agent: "reporting", task });
    await called;
    await kill(child);
    const calledAgain = model.nextCall();
    const started = performance.now();
    child = startWorkerd(config);
    await calledAgain;
    const millis = performance.now() - started;
    model.release();
    const path = `/v1/threads/restart/submissions/${submissionIdOf(answer)}/settlement`;
    const settled = await client.send("GET", path, { prefer: "wait=20" });
    if (settled.status !== 200) throw new Error("the run did not settle after the restart");
    return millis;
  } finally {
    client.close();
    await kill(child);
    model.close();
  }
}

/** Holds every call until it is released, and says when one arrives. */
class ModelStub {
  readonly #server: Server;
  readonly #held: (() => void)[] = [];
  #released = false;
  #onCall: () => void = () => undefined;

  static async listen(): Promise<ModelStub> {
    const stub = new ModelStub();
    stub.#server.listen(0, "127.0.0.1");
    await once(stub.#server, "listening");
    return stub;
  }

  private constructor() {
    this.#server = createServer((_request, response) => {
      this.#onCall();
      const answer = (): void => void response.end();
      if (this.#released) answer();
      else this.#held.push(answer);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}/`;
  }

  nextCall(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onCall = resolve;
    return promise;
  }

  release(): void {
    this.#released = true;
    for (const answer of this.#held) answer();
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Its log is shown when it ends by itself: a SIGKILL leaves no exit code. */
function startWorkerd(config: string): ChildProcess {
  const child = spawn(workerd, ["serve", config], { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  child.on("close", (code) => {
    if (code !== null) console.error(`workerd ended with ${code}:\n${log}`);
  });
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
}

async function untilHealthy(client: Client): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    try {
      if ((await client.send("GET", "/healthz")).status === 200) return;
    } catch {
      // Not listening yet.
    }
    await sleep(20);
  }
  throw new Error("workerd did not start within 10 s");
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server);
  server.close();
  await once(server, "close");
  return port;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

function writeConfig(script: string, folder: string, port: number, modelUrl: string): string {
  const storage = join(folder, "objects");
  mkdirSync(storage, { recursive: true });
  // Embedded by a path relative to the configuration, so that one lies beside the script.
  const config = join(dirname(script), `${basename(folder)}.capnp`);
  const text = (value: string): string => JSON.stringify(value);
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
    (className = "ThreadObject", uniqueKey = "bench-threads", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "objects"),
  bindings = [
    (name = "THREADS", durableObjectNamespace = "ThreadObject"),
    (name = "HOLDFAST_API_KEYS", text = ${text(benchApiKeys())}),
    (name = "BENCH_REPORT_URL", text = ${text(modelUrl)}),
  ],
);
`,
  );
  return config;
}
