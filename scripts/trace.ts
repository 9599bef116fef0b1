// `npm run trace -- <thread>`: the runs of a thread as the local server traced them, while `npm start` runs.
import { readTrace } from "./trace/read-trace.ts";
import { renderTrace } from "./trace/render-trace.ts";

const [threadId] = process.argv.slice(2);
const port = process.env["PORT"] ?? "8787";

if (threadId === undefined) {
  console.error("Usage: npm run trace -- <thread>     (PORT=… for another port than 8787)");
  process.exit(1);
}
try {
  const lines = renderTrace(await readTrace(`http://127.0.0.1:${port}`, threadId));
  console.log(lines.length === 0 ? `No spans of thread ${threadId} yet.` : lines.join("\n"));
} catch (error) {
  const why = error instanceof Error ? error.message : String(error);
  console.error(`No trace of http://127.0.0.1:${port} (${why}). Is \`npm start\` running?`);
  process.exit(1);
}
