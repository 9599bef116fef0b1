// `npm start`: serves the app locally on http://127.0.0.1:8787, or on PORT, and prints a line for each record of each thread. Arguments go to
// wrangler.
import { spawn } from "node:child_process";

const port = process.env["PORT"] ?? "8787";
const server = spawn(
  "wrangler",
  ["dev", "--port", port, "--var", "HOLDFAST_LOG:readable", ...process.argv.slice(2)],
  {
    stdio: "inherit",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
  },
);
// Whoever ends this ends the server with it.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => server.kill(signal));
server.on("exit", (code) => process.exit(code ?? 1));
