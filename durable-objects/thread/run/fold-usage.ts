// What a run spent after one more record: the one place that counts, for the fold and for the warnings that share the record's commit. Pure.
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { addTokens, addUsage, NO_USAGE, type RunUsage } from "../../../shared/wire/usage.ts";
import type { TokenUsage, Usage } from "../../../shared/wire/usage.ts";
import { isOwnCall } from "../../../shared/wire/messages.ts";
import { lastTurn, type RunState } from "./run-state.ts";

/** @param state before the record's batch */
export function usageAfter(state: RunState, usage: RunUsage, record: RecordDraft): RunUsage {
  switch (record.type) {
    case "ModelResponded": {
      const { content, usage: tokens, costMicrousd } = record.payload;
      const providerCalls = content.filter(
        (part) => part.type === "tool-call" && !isOwnCall(part),
      ).length;
      return {
        ...spend(usage, { ...costOf(tokens, costMicrousd), turns: 1, toolCalls: providerCalls }),
        lastInputTokens: tokens.inputTokens,
        lastOutputTokens: tokens.outputTokens,
      };
    }
    case "ModelCallFailed": {
      const { usage: tokens, costMicrousd } = record.payload;
      return spend(usage, { ...costOf(tokens, costMicrousd), failedModelCalls: 1 });
    }
    case "ModelInterrupted":
      return spend(usage, { interruptedModelCalls: 1 });
    case "ToolsPrepared":
      return spend(usage, { toolCalls: record.payload.calls.length });
    case "ToolSettled": {
      const { by, operationId } = record.payload;
      // Calls with an intent were counted by it.
      const call = lastTurn(state)?.calls.find(
        (candidate) => candidate.operationId === operationId,
      );
      return by === "handler" && call?.dispatch === 0 ? spend(usage, { toolCalls: 1 }) : usage;
    }
    default:
      return usage;
  }
}

function spend(usage: RunUsage, more: Partial<Usage>): RunUsage {
  return { ...usage, ...addUsage(usage, { ...NO_USAGE, ...more }) };
}

/** A call that used tokens of a model without a price is counted as such: its cost is not known to be nothing. */
function costOf(tokens: TokenUsage, costMicrousd: number | null): Partial<Usage> {
  const { inputTokens, outputTokens } = tokens;
  const isUnpriced = costMicrousd === null && inputTokens + outputTokens > 0;
  return {
    ...addTokens(NO_USAGE, tokens),
    costMicrousd: costMicrousd ?? 0,
    unpricedModelCalls: isUnpriced ? 1 : 0,
  };
}
