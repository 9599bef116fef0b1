// `npm run check`: format, lint with types, compiler, generated files. Stops at the first that fails, and says which.
import { spawnSync } from "node:child_process";

const STEPS: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  ["format", "oxfmt", "--check", "."],
  ["lint", "oxlint", "--type-aware", "--deny-warnings"],
  ["types of the bindings", "wrangler", "types", "--include-runtime=false", "--check"],
  ["types", "tsc", "--noEmit"],
];

for (const [name, command, ...args] of STEPS) {
  const started = performance.now();
  const { status } = spawnSync(command, args, {
    stdio: "inherit",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
  });
  if (status !== 0) {
    console.error(`\ncheck: ${name} failed (${[command, ...args].join(" ")})`);
    process.exit(1);
  }
  console.log(`check: ${name} ok (${((performance.now() - started) / 1000).toFixed(1)} s)`);
}
