// What approval, reconciliation and handlers may know of a call.
import type { ToolCallFacts } from "../../../shared/define/tool.ts";
import type { ThreadCore } from "../thread-core.ts";
import type { LiveRun } from "./live-run.ts";

export function callFacts(
  core: ThreadCore,
  live: LiveRun,
  turn: number,
  toolCallId: string,
): ToolCallFacts {
  return {
    principal: live.principal,
    metadata: live.state.metadata,
    threadId: core.threadId,
    runId: live.state.runId,
    turn,
    toolCallId,
    env: core.env,
    services: core.services,
  };
}
