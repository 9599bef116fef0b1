// What is generated is up to date, and the linter bites.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ROOT } from "./source-files.ts";

/** The script is plain JavaScript, and so without types of its own. */
async function loadRenderer(): Promise<(folder: string) => string> {
  const script: unknown = await import(join(ROOT, "scripts/bundle-migrations.mjs"));
  const RenderSchema = z.custom<(folder: string) => unknown>(
    (value) => typeof value === "function",
  );
  const { renderBundle } = z.object({ renderBundle: RenderSchema }).parse(script);
  return (folder) => z.string().parse(renderBundle(folder));
}

describe("the migrations", () => {
  it("[THR-13] are bundled as their files say", async () => {
    const render = await loadRenderer();
    const folder = join(ROOT, "migrations/thread");
    expect(readFileSync(join(folder, "bundle.ts"), "utf8")).toBe(render(folder));
  });
});

const FailureSchema = z.object({ status: z.number(), stdout: z.string(), stderr: z.string() });

interface Linted {
  readonly status: number;
  readonly output: string;
}

function lint(text: string): Linted {
  const file = join(import.meta.dirname, `.planted-${process.pid}.ts`);
  writeFileSync(file, text);
  try {
    const oxlint = join(ROOT, "node_modules/.bin/oxlint");
    const output = execFileSync(oxlint, ["--type-aware", file], {
      cwd: ROOT,
      encoding: "utf8",
      stdio: "pipe",
      // The linter's entry point asks for a `node` on the path: the one that runs this test.
      env: { ...process.env, PATH: `${join(ROOT, "node_modules/.bin")}:${process.env["PATH"]}` },
    });
    return { status: 0, output };
  } catch (error) {
    const failure = FailureSchema.parse(error);
    return { status: failure.status, output: failure.stdout + failure.stderr };
  } finally {
    rmSync(file, { force: true });
  }
}

describe("the linter", () => {
  it("finds a promise that nobody waits for", () => {
    const { status, output } = lint(
      "// A planted mistake.\nexport function forget(work: Promise<void>): void {\n  work;\n}\n",
    );
    expect(status).not.toBe(0);
    expect(output).toContain("no-floating-promises");
  });

  it("accepts the same without the mistake", () => {
    const text =
      "// No mistake.\nexport async function wait(work: Promise<void>): Promise<void> {\n  await work;\n}\n";
    expect(lint(text).status).toBe(0);
  });
});
