// What a newcomer's first command does: with an npm that only notes how it was called.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A clone without node_modules, and an npm that exits with `status`. */
function freshClone(status: number): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-setup-"));
  folders.push(folder);
  mkdirSync(join(folder, "scripts"));
  mkdirSync(join(folder, "bin"));
  for (const file of ["scripts/setup.mjs", "package-lock.json", ".dev.vars.example"]) {
    copyFileSync(file, join(folder, file));
  }
  const npm = join(folder, "bin/npm");
  writeFileSync(npm, `#!/bin/sh\necho "$@" >> "${folder}/npm-calls"\nexit ${status}\n`);
  chmodSync(npm, 0o755);
  return folder;
}

function setUp(folder: string) {
  return spawnSync(process.execPath, [join(folder, "scripts/setup.mjs")], {
    encoding: "utf8",
    env: { ...process.env, PATH: `${join(folder, "bin")}:${process.env["PATH"]}` },
  });
}

describe("setup", () => {
  it("[UX-01] installs what is missing, says so, and does nothing the second time", () => {
    const folder = freshClone(0);
    const first = setUp(folder);
    expect(first.status).toBe(0);
    expect(first.stdout).toContain("Installing packages");
    expect(readFileSync(join(folder, "npm-calls"), "utf8")).toMatch(/^ci /);
    expect(existsSync(join(folder, ".dev.vars"))).toBe(true);
    const second = setUp(folder);
    expect(second.stdout).toBe("");
    expect(readFileSync(join(folder, "npm-calls"), "utf8").trim().split("\n")).toHaveLength(1);
  });

  it("[UX-01] says in plain words what to do when the packages cannot be installed", () => {
    const folder = freshClone(1);
    const failed = setUp(folder);
    expect(failed.status).toBe(1);
    expect(failed.stderr).toContain("npm registry");
    expect(failed.stderr).not.toContain("at execFileSync");
  });

  it("[UX-01] comes before every command of the README, and brings Node 22 with the packages", () => {
    const { scripts, devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
    for (const name of [
      "demo",
      "start",
      "deploy",
      "check",
      "test",
      "test:kill",
      "test:soak",
      "test:fuzz",
      "test:simulation",
      "keys",
      "bench",
    ]) {
      expect(scripts[`pre${name}`]).toBe("node scripts/setup.mjs");
    }
    expect(devDependencies.node).toMatch(/^22\./);
  });
});
