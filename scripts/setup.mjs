// Installs what a fresh clone lacks: the packages of package-lock.json, Node 22 among them, and .dev.vars. Runs on Node 18 or later, before
// every script a newcomer starts; when all is there it takes a few milliseconds.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const at = (path) => `${root}${path}`;
const marker = at("node_modules/.holdfast-setup");
const wanted = createHash("sha256")
  .update(readFileSync(at("package-lock.json")))
  .digest("hex");
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

function isInstalled() {
  return existsSync(marker) && readFileSync(marker, "utf8") === wanted;
}

if (!isInstalled()) {
  console.log("Installing packages (about a minute on a fresh clone; Node 22 comes with them) …");
  try {
    execFileSync(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: root,
      stdio: "inherit",
    });
  } catch {
    console.error(
      "\nThe packages could not be installed. Check that the npm registry can be reached, then run the command again.\n" +
        "`npm ci` in this folder shows the whole error.",
    );
    process.exit(1);
  }
  mkdirSync(at("node_modules"), { recursive: true });
  writeFileSync(marker, wanted);
}
if (!existsSync(at(".dev.vars"))) {
  copyFileSync(at(".dev.vars.example"), at(".dev.vars"));
  console.log("Wrote .dev.vars from .dev.vars.example: the development key is holdfast-dev.");
}
