// The agents of a deployment as callers see them. Pure.
import type { Agent } from "../../shared/define/agent.ts";
import type { AgentView } from "../../shared/wire/agent-view.ts";
import { AgentViewSchema } from "../../shared/wire/agent-view.ts";
import type { AgentRegistry, Binding } from "../../durable-objects/agents/registry.ts";

export function describeAgents(registry: AgentRegistry): AgentView[] {
  return registry.all().map(describeAgent);
}

function describeAgent({ agent, digests, modelIdentity }: Binding): AgentView {
  const { id, revision, description, inputJsonSchema, outputJsonSchema, metadataJsonSchema } =
    agent;
  // JSON Schemas are JSON; their type does not say so.
  return AgentViewSchema.parse({
    id,
    revision,
    description,
    input: inputJsonSchema,
    output: outputJsonSchema,
    metadata: metadataJsonSchema,
    tools: agent.tools.map(describeTool),
    model: modelIdentity,
    digests,
  });
}

function describeTool(tool: Agent["tools"][number]) {
  const { name, revision, description, effect, mayNeedApproval, inputJsonSchema } = tool;
  return {
    name,
    revision,
    description,
    effect,
    needsApproval: mayNeedApproval,
    input: inputJsonSchema,
  };
}
