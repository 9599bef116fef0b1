// The MCP server of the tests as a process that is killed and started again on its port.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";

const SCRIPT = join(import.meta.dirname, "mcp-server.ts");

const SeenSchema = z.object({
  calls: z.array(
    z.object({
      tool: z.string(),
      key: z.string().optional(),
      authorization: z.string().optional(),
    }),
  ),
  /** Calls that were given up by their clients. */
  aborted: z.number(),
  /** Sessions that were ended by their clients. */
  ended: z.number(),
});

export class ServerProcess {
  #child: ChildProcess | null = null;
  #port = 0;

  /** Resolves once it listens: on any port at first, then on that one. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [SCRIPT, String(this.#port)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child = child;
    const lines = createInterface({ input: child.stdout });
    for await (const line of lines) {
      this.#port = Number(line);
      return;
    }
    throw new Error("the MCP server did not start");
  }

  /** Resolves once it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  url(path = "/mcp"): string {
    return `http://127.0.0.1:${this.#port}${path}`;
  }

  async seen(): Promise<z.infer<typeof SeenSchema>> {
    return SeenSchema.parse(await (await fetch(this.url("/seen"))).json());
  }
}
