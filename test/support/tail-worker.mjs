// Collects what the platform traces of the Worker under test: spans with their attributes, and log lines. A Worker of its own, in plain
// JavaScript, as the test runtime starts it from the file.
import { WorkerEntrypoint } from "cloudflare:workers";

let seen = [];

export default {
  tailStream(onset) {
    seen.push(onset.event);
    return (event) => {
      seen.push(event.event);
    };
  },
};

export class Inspect extends WorkerEntrypoint {
  /** Everything traced since the last call, as one text, and how many events that are. */
  take() {
    const events = seen;
    seen = [];
    return {
      count: events.length,
      text: JSON.stringify(events, (_key, value) =>
        typeof value === "bigint" ? String(value) : value,
      ),
    };
  }
}
