// What `holdfast/define` offers to authors of agents.
export { defineAgent, type Agent, type AgentOptions, type ModelChoice } from "./agent.ts";
export {
  defineTool,
  type Tool,
  type ToolCallFacts,
  type ToolContext,
  type ToolLog,
  type ToolOptions,
} from "./tool.ts";
