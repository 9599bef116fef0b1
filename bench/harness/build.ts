// Builds the measured Workers as they would be deployed, into a temporary folder.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, URL } from "node:url";
import { gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Path of the built script. Throws with wrangler's own words when the build fails. */
export async function buildWorker(name: string, into: string): Promise<string> {
  const outdir = join(into, name);
  await wrangler(["--config", `bench/workers/${name}.wrangler.jsonc`, "--outdir", outdir]);
  rmSync(join(root, "bench/workers/.wrangler"), { recursive: true, force: true });
  return join(outdir, `${name}.js`);
}

/** The product's own deployment, minified and compressed: its size in bytes. */
export async function measureBundle(into: string): Promise<number> {
  const outdir = join(into, "product");
  await wrangler(["--minify", "--outdir", outdir]);
  return gzipSync(readFileSync(join(outdir, "deployment.js"))).byteLength;
}

async function wrangler(args: readonly string[]): Promise<void> {
  const child = spawn("wrangler", ["deploy", "--dry-run", ...args], {
    cwd: root,
    env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  if (child.exitCode !== 0) throw new Error(`wrangler deploy --dry-run failed:\n${output}`);
}
