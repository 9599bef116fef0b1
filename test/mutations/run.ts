// `npm run test:mutations`: takes one safeguard out at a time, by an edit of its source, and runs the suites that have to miss it. Prints
// which test did. A safeguard that no test misses fails the run. Every edit is taken back, after an interruption too.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { MUTATIONS, type Mutation } from "./mutations.ts";

const ReportSchema = z.object({
  testResults: z.array(
    z.object({
      status: z.string(),
      message: z.string(),
      assertionResults: z.array(z.object({ status: z.string(), fullName: z.string() })),
    }),
  ),
});

const folder = mkdtempSync(join(tmpdir(), "holdfast-mutations-"));
let takeBack = (): void => undefined;
let endSuites = (): void => undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    takeBack();
    endSuites();
    process.exit(1);
  });
}

/** A suite that needs longer hangs, without the safeguard that ends its loop: that is missed as well. */
const SUITE_TIMEOUT_MILLIS = 120_000;

/** The name of the first test that fails; null when all pass. */
async function firstFailure(suites: readonly string[]): Promise<string | null> {
  const report = join(folder, "report.json");
  rmSync(report, { force: true });
  const options = ["--bail=1", "--reporter=json", `--outputFile.json=${report}`];
  const vitest = spawn("vitest", ["run", ...options, ...suites], {
    stdio: "ignore",
    detached: true,
  });
  // With the servers that it started.
  endSuites = () => {
    if (vitest.pid !== undefined && vitest.exitCode === null) process.kill(-vitest.pid, "SIGKILL");
  };
  let hangs = false;
  const timer = setTimeout(() => {
    hangs = true;
    endSuites();
  }, SUITE_TIMEOUT_MILLIS);
  const code = await new Promise<number | null>((resolve, reject) => {
    vitest.once("error", reject);
    vitest.once("exit", resolve);
  });
  clearTimeout(timer);
  if (hangs) return `${suites.join(", ")} hangs`;
  if (code === 0) return null;
  const { testResults } = ReportSchema.parse(JSON.parse(readFileSync(report, "utf8")));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.find(({ status }) => status === "failed")?.fullName;
  if (failed !== undefined) return failed;
  // A suite that does not load catches nothing: the edit is no mutation.
  throw new Error(testResults.find(({ message }) => message !== "")?.message ?? "no test ran");
}

async function runMutant(mutation: Mutation): Promise<string | null> {
  const source = readFileSync(mutation.file, "utf8");
  if (source.split(mutation.find).length !== 2) {
    throw new Error(`${mutation.file} does not hold it once: ${mutation.find}`);
  }
  takeBack = () => writeFileSync(mutation.file, source);
  try {
    writeFileSync(
      mutation.file,
      source.replace(mutation.find, () => mutation.replace),
    );
    return await firstFailure(mutation.suites);
  } finally {
    takeBack();
  }
}

const suites = [...new Set(MUTATIONS.flatMap((mutation) => mutation.suites))];
const broken = await firstFailure(suites);
if (broken !== null) throw new Error(`The suites have to pass as they are. This fails: ${broken}`);
let survivors = 0;
for (const mutation of MUTATIONS) {
  const caughtBy = await runMutant(mutation);
  if (caughtBy === null) survivors += 1;
  console.log(`${caughtBy === null ? "SURVIVED" : "caught  "}  without ${mutation.safeguard}`);
  console.log(`            ${caughtBy ?? `${mutation.suites.join(", ")} passed`}`);
}
rmSync(folder, { recursive: true });
console.log(
  `${MUTATIONS.length} safeguards taken out: ${MUTATIONS.length - survivors} caught, ${survivors} survived`,
);
process.exitCode = survivors === 0 ? 0 : 1;
