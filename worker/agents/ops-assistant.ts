// An agent that reads, and that touches the world only after a person agreed.
import { z } from "zod";
import { defineAgent, defineTool } from "../../shared/define/index.ts";

declare global {
  namespace Cloudflare {
    interface Env {
      /** Where restarts are asked for. */
      readonly OPS_SERVICE_URL?: string;
    }
  }
}

const ServiceSchema = z.enum(["api", "billing", "search"]);

const LOG_LINES: Record<z.infer<typeof ServiceSchema>, string[]> = {
  api: ["12:00:01 GET /health 200", "12:00:03 GET /orders 200"],
  billing: ["12:00:01 worker 3 does not answer", "12:00:09 queue depth 4,812 and growing"],
  search: ["12:00:01 index refreshed", "12:00:04 query took 12 ms"],
};

/** Safe to repeat: it changes nothing. */
const readLogs = defineTool({
  name: "read_logs",
  revision: 1,
  description: "The last log lines of a service.",
  input: z.object({ service: ServiceSchema }),
  output: z.object({ lines: z.array(z.string()) }),
  effect: "read",
  execute: ({ service }) => ({ lines: LOG_LINES[service] }),
});

/** Not safe to repeat, so a restart whose answer was lost becomes an unknown outcome that a person resolves. */
const restartService = defineTool({
  name: "restart_service",
  revision: 1,
  description: "Restarts a service. Customers notice.",
  input: z.object({ service: ServiceSchema }),
  output: z.object({ restarted: z.boolean() }),
  effect: "external",
  needsApproval: true,
  timeout: "2 minutes",
  execute: async ({ service }, { signal, idempotencyKey, env }) => {
    const base = env.OPS_SERVICE_URL;
    if (base === undefined) {
      throw new Error("OPS_SERVICE_URL is not set: set it in .dev.vars to the service's address");
    }
    const response = await fetch(new URL(`/restart/${service}`, base), {
      method: "POST",
      headers: { "idempotency-key": idempotencyKey },
      signal,
    });
    if (!response.ok) throw new Error(`the ops service answered ${response.status}`);
    return { restarted: true };
  },
});

export const opsAssistant = defineAgent({
  id: "ops-assistant",
  revision: 1,
  description: "Looks into a service's trouble and restarts it when a person agrees.",
  input: z.object({ request: z.string().min(1).max(4_000) }),
  output: z.object({ answer: z.string() }),
  instructions:
    "You look after the services api, billing and search. Read the logs before you act, restart only what needs it, and say what you did.",
  inputPrompt: ({ request }) => request,
  model: "local/ops-assistant",
  tools: { readLogs, restartService },
  // People take their time; the run's clock goes on while they decide.
  policy: { maxDuration: "3 days" },
});
