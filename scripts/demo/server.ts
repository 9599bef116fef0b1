// The real Worker under `wrangler dev`, in a process group of its own, so that killing it kills all of it at once.
import { spawn, type ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";

export interface DemoServer {
  readonly pid: number;
  /** SIGKILL to the whole group: nothing is told, nothing can tidy up. */
  kill(): Promise<void>;
}

const START_TIMEOUT_MILLIS = 60_000;

export async function startServer(options: {
  readonly port: number;
  readonly storage: string;
  readonly vars: Readonly<Record<string, string>>;
}): Promise<DemoServer> {
  const vars = Object.entries(options.vars).flatMap(([name, value]) => [
    "--var",
    `${name}:${value}`,
  ]);
  const server = spawn(
    "wrangler",
    ["dev", "--port", `${options.port}`, "--persist-to", options.storage, ...vars],
    {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" },
    },
  );
  const output: string[] = [];
  server.stdout.on("data", (chunk: Buffer) => output.push(chunk.toString()));
  server.stderr.on("data", (chunk: Buffer) => output.push(chunk.toString()));
  const exited = new Promise<void>((resolve) => server.on("exit", () => resolve()));
  try {
    await answering(server, options.port);
  } catch (error) {
    killGroup(server);
    throw new Error(`the server did not start:\n${output.join("").slice(-2_000)}`, {
      cause: error,
    });
  }
  return {
    pid: server.pid ?? 0,
    kill: async () => {
      killGroup(server);
      await exited;
    },
  };
}

function killGroup(server: ChildProcess): void {
  if (server.pid === undefined || server.exitCode !== null) return;
  try {
    process.kill(-server.pid, "SIGKILL");
  } catch (error) {
    // The group is gone already: that is what was wanted.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

async function answering(server: ChildProcess, port: number): Promise<void> {
  const until = Date.now() + START_TIMEOUT_MILLIS;
  while (server.exitCode === null && Date.now() < until) {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
      if (answer.ok) return;
    } catch {
      // Not listening yet: asked again until the timeout.
    }
    await delay(100);
  }
  throw new Error(server.exitCode === null ? "timed out" : `exited with ${server.exitCode}`);
}
