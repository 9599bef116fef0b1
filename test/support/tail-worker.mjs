// Sees what the platform traces of the Worker under test: spans with their attributes, log lines, exceptions. It keeps none of it: each
// event is looked through for secrets as it comes (SEC-04). A Worker of its own, in plain JavaScript, as the test runtime starts it from
// the file.
import { env, WorkerEntrypoint } from "cloudflare:workers";

const secret = new RegExp(env.SECRET_PATTERN);

/** Spans of runs, for the tests that ask for them: by id, in the order in which they began. */
const OF_RUNS = /^(invoke_agent|chat|execute_tool)\b/;
const MAX_SPANS = 2_000;
const spans = new Map();

let traced = 0;
let leaks = [];
let markers = [];

function look(event) {
  traced += 1;
  const text = JSON.stringify(event, replace);
  const found = secret.exec(text);
  if (found !== null) {
    const from = Math.max(0, found.index - 200);
    leaks.push(`trace (${event.type}): ${text.slice(from, found.index + found[0].length + 200)}`);
  }
}

function keep({ event, spanContext }) {
  if (event.type === "spanOpen") {
    if (!OF_RUNS.test(event.name)) return;
    const { spanId: id, name } = event;
    spans.set(id, { id, parent: spanContext?.spanId, name, attributes: {}, outcome: null });
    if (spans.size > MAX_SPANS) spans.delete(spans.keys().next().value);
    return;
  }
  const span = spans.get(spanContext?.spanId);
  if (span === undefined) return;
  if (event.type === "spanClose") span.outcome = event.outcome;
  if (event.type !== "attributes") return;
  for (const { name, value } of event.info) span.attributes[name] = value;
}

/** The headers of a request are the platform's own record of it, which it does not export. */
function replace(key, value) {
  if (key === "headers" && Array.isArray(value)) return undefined;
  return typeof value === "bigint" ? String(value) : value;
}

/** What the test runtime does between its own parts, which is half of all that happens. Its errands inside objects of the Worker are
 * looked at: alarms are fired that way. */
function isErrand({ entrypoint, info }) {
  return (
    entrypoint === "__VITEST_POOL_WORKERS_RUNNER_DURABLE_OBJECT__" &&
    info?.cfJson?.vitestPoolWorkersDurableObjectAction !== undefined
  );
}

export default {
  tailStream(onset) {
    if (isErrand(onset.event)) return undefined;
    const marker = /\/told-\d+$/.exec(onset.event.info?.url ?? "")?.[0];
    if (marker !== undefined) markers.push(marker);
    look(onset.event);
    return (event) => {
      keep(event);
      look(event.event);
    };
  },
};

function plain(attributes) {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === "bigint" ? Number(value) : value,
    ]),
  );
}

export class Inspect extends WorkerEntrypoint {
  /** The spans of a thread's runs that are over, in the order in which they began. */
  async spans(threadId) {
    return [...spans.values()]
      .filter(({ attributes }) => attributes["gen_ai.conversation.id"] === threadId)
      .map((span) => ({ ...span, attributes: plain(span.attributes) }));
  }

  /** What was found since the last call, and how many events were looked through. */
  take() {
    const seen = { traced, leaks, markers };
    [traced, leaks, markers] = [0, [], []];
    return seen;
  }
}
