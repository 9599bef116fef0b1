// The server that is killed: the workerd binary on the built bundle, in a process group of its own, on one storage folder for all starts.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { z } from "zod";

/** The development key of .dev.vars.example: it works on a loopback host only. */
export const API_KEY = "holdfast-dev";
const API_KEYS = JSON.stringify([
  {
    id: "dev",
    sha256: "efa09fd8a1c9d99607ea6934a09fd2bc964648a53f0fc3909d95d353830f5ee5",
    tenant: "dev",
    principal: "developer",
    permissions: ["admin"],
  },
]);

const START_TIMEOUT_MILLIS = 20_000;
const root = join(import.meta.dirname, "../..");
/** The package exports the path of its platform's binary. */
const workerd = z
  .object({ default: z.string() })
  .parse(createRequire(import.meta.url)("workerd")).default;

/** Builds a deployment, by its wrangler.jsonc, into the folder. Throws with wrangler's output when it does not build. */
export function buildBundle(folder: string, config: string): void {
  const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [wrangler, "deploy", "--dry-run", "--config", config, "--outdir", folder],
    { cwd: root, encoding: "utf8", env: { ...process.env, WRANGLER_SEND_METRICS: "false" } },
  );
  if (status !== 0) throw new Error(`the bundle was not built:\n${stdout}\n${stderr}`);
}

/** Cap'n Proto text takes the escapes of JSON strings. */
const text = (value: string): string => JSON.stringify(value);

function renderConfig(bundle: string, stubUrl: string, storage: string): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = ${text(bundle)}, esModule = embed ${text(bundle)})],
      compatibilityDate = "2026-11-01",
      bindings = [
        (name = "THREADS", durableObjectNamespace = "ThreadObject"),
        (name = "HOLDFAST_API_KEYS", text = ${text(API_KEYS)}),
        (name = "STUB_URL", text = ${text(stubUrl)}),
      ],
      durableObjectNamespaces = [
        (className = "ThreadObject", uniqueKey = "holdfast-test-threads", enableSql = true),
      ],
      durableObjectStorage = (localDisk = "storage"),
      globalOutbound = "loopback",
    )),
    (name = "storage", disk = (path = ${text(storage)}, writable = true)),
    (name = "loopback", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`;
}

const ListenSchema = z.object({ event: z.literal("listen"), port: z.int() });

export class Server {
  readonly #folder: string;
  readonly #bundle: string;
  readonly #stubPort: number;
  /** Where workerd keeps the objects' files. */
  readonly storage: string;
  #child: ChildProcess | null = null;
  /** Counts the starts; the stub learns it from the URL that each start calls. */
  generation = 0;
  baseUrl = "";

  /** `bundle` is the built file's name in the folder. */
  constructor(folder: string, bundle: string, stubPort: number) {
    this.#folder = folder;
    this.#bundle = bundle;
    this.#stubPort = stubPort;
    this.storage = join(folder, "storage");
    mkdirSync(this.storage, { recursive: true });
  }

  get logFile(): string {
    return join(this.#folder, "server.log");
  }

  /** Null while it is not up. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Error lines of its log, by event: a kill is no reason for one. */
  countErrors(): Map<string, number> {
    const counts = new Map<string, number>();
    if (!existsSync(this.logFile)) return counts;
    for (const [, event = ""] of readFileSync(this.logFile, "utf8").matchAll(
      /"level":"error","event":"([^"]*)"/g,
    )) {
      counts.set(event, (counts.get(event) ?? 0) + 1);
    }
    return counts;
  }

  /** Returns when it listens, with the moment of the spawn. Sends no request. */
  async start(): Promise<{ spawnedAt: number }> {
    this.generation += 1;
    const config = join(this.#folder, "config.capnp");
    const stubUrl = `http://127.0.0.1:${this.#stubPort}/g${this.generation}`;
    writeFileSync(config, renderConfig(this.#bundle, stubUrl, this.storage));
    const spawnedAt = performance.now();
    const child = spawn(workerd, ["serve", "--control-fd=3", config], {
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    this.#child = child;
    for (const output of [child.stdout, child.stderr]) {
      output?.on("data", (chunk: Buffer) => appendFileSync(this.logFile, chunk));
    }
    this.baseUrl = `http://127.0.0.1:${await this.#listening(child)}`;
    return { spawnedAt };
  }

  /** Kills the whole process group, and returns when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    process.kill(-child.pid, "SIGKILL");
    await gone;
    this.#child = null;
  }

  /** For the orchestrator's own end, whatever the reason. */
  killNow(): void {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null) return;
    process.kill(-child.pid, "SIGKILL");
    this.#child = null;
  }

  async #listening(child: ChildProcess): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const fail = (why: string): void =>
      reject(new Error(`workerd did not start (${why}); its log: ${this.logFile}`));
    const timer = setTimeout(() => fail("timeout"), START_TIMEOUT_MILLIS);
    const onExit = (code: number | null): void => fail(`exit code ${code}`);
    child.once("exit", onExit);
    readLines(child.stdio[3], (line) => {
      const event = ListenSchema.safeParse(JSON.parse(line));
      if (event.success) resolve(event.data.port);
    });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      child.off("exit", onExit);
    }
  }
}

function readLines(stream: unknown, onLine: (line: string) => void): void {
  if (!isReadable(stream)) throw new Error("the control channel cannot be read");
  let rest = "";
  stream.on("data", (chunk: Buffer) => {
    const lines = `${rest}${chunk.toString("utf8")}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") onLine(line);
  });
}

function isReadable(stream: unknown): stream is Readable {
  return typeof stream === "object" && stream !== null && "read" in stream;
}
