// `npm run test:fuzz -- --requests N [--seed S]`: random requests over HTTP and RPC, as in `npm test` but as many as asked for, and what
// became of them. A failure prints the seed that sends the same requests again.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";

const ReportSchema = z.object({
  surface: z.string(),
  requests: z.number(),
  refusedWithoutWrite: z.number(),
  readsWithoutWrite: z.number(),
  threadsChecked: z.number(),
  answers: z.record(z.string(), z.record(z.string(), z.number())),
});
type Report = z.infer<typeof ReportSchema>;

const RunSchema = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(z.object({ meta: z.object({ fuzz: ReportSchema.optional() }) })),
    }),
  ),
});

const { values } = parseArgs({
  options: { requests: { type: "string", default: "20000" }, seed: { type: "string" } },
});
const requests = z.coerce.number().int().min(400).max(10_000_000).parse(values.requests);
const seed = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1)
  .parse(values.seed ?? Math.floor(Math.random() * 2 ** 31));

function printReport({ surface, answers, ...counts }: Report): void {
  console.log(`\n${surface}: ${counts.requests} requests`);
  const width = Math.max(...Object.keys(answers).map((operation) => operation.length));
  for (const [operation, byAnswer] of Object.entries(answers)) {
    const shown = Object.entries(byAnswer)
      .toSorted(([left], [right]) => left.localeCompare(right))
      .map(([answer, count]) => `${answer} × ${count}`);
    console.log(`  ${operation.padEnd(width)}  ${shown.join(", ")}`);
  }
  console.log(`  refused, and nothing written: ${counts.refusedWithoutWrite}`);
  console.log(`  read, and nothing written: ${counts.readsWithoutWrite}`);
  console.log(`  threads that the history checker found sound: ${counts.threadsChecked}`);
}

const startedAt = performance.now();
const folder = mkdtempSync(join(tmpdir(), "holdfast-fuzz-"));
const file = join(folder, "report.json");
console.log(`fuzz: ${requests} requests, seed ${seed}`);
const { status } = spawnSync(
  "vitest",
  [
    "run",
    "--project=objects",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${file}`,
    "test/http/fuzz",
  ],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      FUZZ_REQUESTS: String(requests),
      SEED: String(seed),
      WRANGLER_SEND_METRICS: "false",
    },
  },
);
const reports = RunSchema.parse(JSON.parse(readFileSync(file, "utf8"))).testResults.flatMap(
  ({ assertionResults }) => assertionResults.flatMap(({ meta }) => meta.fuzz ?? []),
);
rmSync(folder, { recursive: true });
for (const report of reports) printReport(report);
const sum = (of: (report: Report) => number): number =>
  reports.reduce((total, report) => total + of(report), 0);
console.log(
  `\n${sum((report) => report.requests)} requests, ${sum((report) => report.refusedWithoutWrite)} refused without a write, ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
);
if (status !== 0) {
  console.error(
    `A request failed. The same again: npm run test:fuzz -- --requests ${requests} --seed ${seed}`,
  );
  process.exit(1);
}
