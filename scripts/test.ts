// `npm test`: core in Node, objects in workerd, and one closing line over both. Arguments go to vitest.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

const ReportSchema = z.object({ numPassedTests: z.number(), numFailedTests: z.number() });
const folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
const report = join(folder, "report.json");
const filters = process.argv.slice(2);
const run = spawnSync(
  "vitest",
  ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...filters],
  { stdio: "inherit", env: { ...process.env, WRANGLER_SEND_METRICS: "false" } },
);
let passed = 0;
let failed = run.status === 0 ? 0 : 1;
try {
  const counts = ReportSchema.parse(JSON.parse(readFileSync(report, "utf8")));
  passed = counts.numPassedTests;
  // A file that does not load fails the run without failing a test.
  failed = counts.numFailedTests > 0 ? counts.numFailedTests : failed;
} catch (error) {
  console.error("vitest left no report:", error);
  failed = 1;
}
rmSync(folder, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
