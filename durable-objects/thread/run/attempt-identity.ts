// What the spans of an attempt carry.
import type { AttemptIdentity } from "../../tracing/spans.ts";
import type { ThreadCore } from "../thread-core.ts";
import type { LiveRun } from "./live-run.ts";

export function identityOf(core: ThreadCore, live: LiveRun): AttemptIdentity {
  const { submissionId, runId } = live.state;
  const { threadId } = core;
  return { threadId, submissionId, runId, agentId: live.binding.agent.id, attempt: live.epoch };
}
