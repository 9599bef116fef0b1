// A fresh Worker project that installs the packed tarball, as a user's would, built and served by the tools that are here already.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";

const ROOT = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const environment = {
  ...process.env,
  PATH: `${join(ROOT, "node_modules/.bin")}:${process.env["PATH"]}`,
  WRANGLER_SEND_METRICS: "false",
};

const PackedSchema = z.array(
  z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) }),
);

export interface Consumer {
  readonly folder: string;
  /** What the tarball holds. */
  readonly packed: readonly string[];
  /** Runs a tool there; resolves with what it printed, rejects with all of it when it failed. */
  tool(command: string, ...args: string[]): Promise<string>;
  remove(): void;
}

export async function installConsumer(): Promise<Consumer> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-consumer-"));
  const packed = await pack(folder);
  cpSync(join(ROOT, "template"), folder, { recursive: true });
  cpSync(join(ROOT, "test/package/fixture"), folder, { recursive: true });
  const { zod } = z
    .object({ devDependencies: z.object({ zod: z.string() }) })
    .parse(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))).devDependencies;
  const tool = async (command: string, ...args: string[]): Promise<string> => {
    try {
      const { stdout, stderr } = await run(command, args, { cwd: folder, env: environment });
      return stdout + stderr;
    } catch (error) {
      const said = z.object({ stdout: z.string(), stderr: z.string() }).safeParse(error);
      throw new Error(
        `${command} ${args.join(" ")} failed:\n${said.success ? said.data.stdout + said.data.stderr : String(error)}`,
        { cause: error },
      );
    }
  };
  await tool(
    "npm",
    "install",
    // The tools that the template names are here already.
    "--omit=dev",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
    "--loglevel=error",
    `./${packed.filename}`,
    `zod@${zod}`,
  );
  // The types of the platform are the same package for everybody.
  mkdirSync(join(folder, "node_modules/@cloudflare"), { recursive: true });
  symlinkSync(
    join(ROOT, "node_modules/@cloudflare/workers-types"),
    join(folder, "node_modules/@cloudflare/workers-types"),
  );
  return {
    folder,
    packed: packed.files.map(({ path }) => path),
    tool,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function pack(into: string): Promise<z.infer<typeof PackedSchema>[number]> {
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", into], {
    cwd: ROOT,
    env: environment,
    maxBuffer: 16 * 1024 * 1024,
  });
  const [packed] = PackedSchema.parse(JSON.parse(stdout.slice(stdout.indexOf("["))));
  if (packed === undefined) throw new Error("npm packed nothing");
  return packed;
}
