// The agents that this deployment offers.
import { createRoute, z } from "@hono/zod-openapi";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { PrintableIdSchema } from "../../shared/ids.ts";
import { AgentListSchema, AgentViewSchema } from "../../shared/wire/agent-view.ts";
import { jsonAnswer, problems } from "../openapi/parts.ts";
import { newRoutes } from "./new-routes.ts";

export const agents = newRoutes();

agents.openapi(
  createRoute({
    operationId: "agents",
    tags: ["Agents"],
    summary: "List the agents",
    description:
      "Ids, revisions, JSON Schemas, tools with their effect, and the definition digests.",
    method: "get",
    path: "/agents",
    responses: { 200: jsonAnswer(AgentListSchema, "The agents."), ...problems([]) },
  }),
  (context) => context.json({ agents: context.get("deployment").agentsOf(context.env) }, 200),
);

agents.openapi(
  createRoute({
    operationId: "agent",
    tags: ["Agents"],
    summary: "Read an agent",
    method: "get",
    path: "/agents/{agent}",
    request: { params: z.object({ agent: PrintableIdSchema }) },
    responses: {
      200: jsonAnswer(AgentViewSchema, "The agent."),
      ...problems(["InvalidIdentifier", "AgentNotFound"]),
    },
  }),
  (context) => {
    const { agent: id } = context.req.valid("param");
    const agentsHere = context.get("deployment").agentsOf(context.env);
    const found = agentsHere.find((agent) => agent.id === id);
    if (found !== undefined) return context.json(found, 200);
    throw new HoldfastError(
      "AgentNotFound",
      "This deployment has no such agent. GET /v1/agents lists them.",
    );
  },
);
