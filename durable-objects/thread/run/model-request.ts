// What a run sends to its model, and how much that is. Pure.
import type { LanguageModelV4CallOptions, LanguageModelV4Message } from "@ai-sdk/provider";
import type { Exhausted } from "../../../shared/wire/policy.ts";
import { estimateTokens } from "../../context/estimate-tokens.ts";
import type { LiveRun } from "./live-run.ts";
import { providerOf } from "../../model/provider-of.ts";
import { projectJoined, projectRun, projectTurn, type Audience } from "./project-messages.ts";
import { lastTurn, type RunState } from "./run-state.ts";

export type ModelRequest = Omit<LanguageModelV4CallOptions, "abortSignal">;

/** System instructions of this run and what the answer has to look like, the history, then the run itself. Earlier runs' instructions are
 * not repeated: they were evaluated for other inputs and may contradict this one's. */
export function buildModelRequest(
  live: LiveRun,
  state: RunState,
  graceFor: Exhausted | null,
): ModelRequest {
  const { callTools, outputFormat } = live.binding;
  return {
    prompt: [
      ...systemMessages(live, state),
      ...live.historyMessages,
      ...projectRun(state, ownOf(live)),
    ],
    ...(callTools.length === 0
      ? {}
      : // The tools stay in the request, so that its prefix stays as it was; they are only forbidden.
        { tools: callTools, toolChoice: toolChoice(live, graceFor) }),
    ...(outputFormat === null ? {} : { responseFormat: outputFormat }),
  };
}

function ownOf({ binding }: LiveRun): Audience {
  return { provider: providerOf(binding.modelIdentity), isOwn: true };
}

/** The last answer may still be given by the completion tool (CTX-14). */
function toolChoice(
  live: LiveRun,
  graceFor: Exhausted | null,
): NonNullable<LanguageModelV4CallOptions["toolChoice"]> {
  if (graceFor === null) return { type: "auto" };
  const { completionTool } = live.binding.output;
  return completionTool === null ? { type: "none" } : { type: "tool", toolName: completionTool };
}

function systemMessages(live: LiveRun, state: RunState): LanguageModelV4Message[] {
  const instructions = state.start?.payload.instructions ?? "";
  return [instructions, live.binding.outputInstruction]
    .filter((content) => content !== "")
    .map((content) => ({ role: "system", content }));
}

/**
 * Input tokens of the next call: what the provider counted for the last one, with an estimate of what came since; all of it estimated for
 * a run's first call, and where a provider does not count (CTX-36).
 */
export function estimateModelRequest(live: LiveRun, state: RunState): number {
  const turn = lastTurn(state);
  const { lastInputTokens } = state.usage;
  if (turn === null || lastInputTokens === 0) {
    const { prompt, tools, responseFormat } = buildModelRequest(live, state, null);
    return estimateTokens([prompt, tools, responseFormat]);
  }
  const own = ownOf(live);
  return (
    lastInputTokens +
    estimateTokens([...projectTurn(state, turn, own), ...projectJoined(state, turn.turn, own)])
  );
}
