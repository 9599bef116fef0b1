// What `holdfast/define` offers to authors of agents.
export {
  defineAgent,
  type Agent,
  type AgentOptions,
  type InputOf,
  type ModelChoice,
  type OutputOf,
} from "./agent.ts";
export type { Environment, Services } from "./environment.ts";
export { OutcomeUnknown, ToolUnavailable } from "./tool-outcome.ts";
export {
  defineTool,
  type LostCall,
  type ReconcileAnswer,
  type StepRunner,
  type Tool,
  type ToolCallFacts,
  type ToolContext,
  type ToolLog,
  type ToolOptions,
} from "./tool.ts";
