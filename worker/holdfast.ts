// The factory: from a deployment's options to the classes and the Worker that it exports.
import { systemPorts, type Ports } from "../durable-objects/platform/ports.ts";
import { threadObjectClass } from "../durable-objects/thread/thread-object.ts";
import type { ThreadOptions } from "../durable-objects/thread/thread-options.ts";
import { createApp } from "./app.ts";

/** All that a deployment sets. */
export type HoldfastOptions = ThreadOptions;

/** @param ports the world's edge; a deployment leaves it out, tests hand in their own clock, ids and crash points */
export function holdfast(options: HoldfastOptions, ports: Ports = systemPorts) {
  const app = createApp();
  return {
    ThreadObject: threadObjectClass(options, ports),
    worker: {
      fetch: (request: Request, env: Cloudflare.Env, context: ExecutionContext) =>
        app.fetch(request, env, context),
    },
  };
}
