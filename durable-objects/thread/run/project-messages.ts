// A run as the messages that a model sees: its own prompt, and its place in the history of later runs. Pure.
import type { LanguageModelV4Message } from "@ai-sdk/provider";
import { canonicalJson } from "../../../shared/canonical-json.ts";
import { REPAIR_REQUEST_START, type AssistantPart } from "../../../shared/wire/messages.ts";
import type { RunState, TurnState } from "./run-state.ts";

/**
 * The user messages, then per turn the assistant's message and its complete batch, in declaration order. A batch with an open call is
 * left out whole, with the message that declared it: providers refuse calls without results, and an earlier run's open batch is not
 * replayed to later runs; what was said before it stays (RUN-17, CTX-28).
 */
export function projectRun(state: RunState): LanguageModelV4Message[] {
  return [...projectInput(state), ...state.turns.flatMap((turn) => projectTurn(state, turn))];
}

/** Without an inputPrompt the model reads the whole input as JSON (CTX-04). */
function projectInput(state: RunState): LanguageModelV4Message[] {
  if (state.start === null) return [];
  const { prompt } = state.start.payload;
  if (prompt !== null) return prompt.map(toUserMessage);
  return [{ role: "user", content: [{ type: "text", text: canonicalJson(state.input ?? null) }] }];
}

function toUserMessage(
  message: NonNullable<NonNullable<RunState["start"]>["payload"]["prompt"]>[number],
): LanguageModelV4Message {
  return {
    role: "user",
    content: message.content.map(({ text, providerOptions }) => ({
      type: "text",
      text,
      ...(providerOptions && { providerOptions }),
    })),
  };
}

export function projectTurn(state: RunState, turn: TurnState): LanguageModelV4Message[] {
  const content = contentOf(turn);
  // An empty answer is no message: providers refuse one without content.
  if (content.length === 0) {
    return turn.outputFaults === null ? [] : [repairMessage(turn.outputFaults)];
  }
  const results: Extract<LanguageModelV4Message, { role: "tool" }>["content"] = [];
  for (const call of turn.calls) {
    if (call.result === null) return [];
    const { toolCallId, toolName } = call;
    results.push({
      type: "tool-result",
      toolCallId,
      toolName,
      output: outputOf(call.result.output),
    });
  }
  const assistant = { role: "assistant" as const, content: content.map(toPromptPart) };
  if (results.length > 0) return [assistant, { role: "tool", content: results }];
  // The request to repair an answer is followed by a turn, or about to be.
  const isLast = turn.turn === state.turns.length;
  const { outputFaults } = turn;
  return outputFaults === null || (isLast && state.settlement !== null)
    ? [assistant]
    : [assistant, repairMessage(outputFaults)];
}

/** No provider goes on from an assistant's message: the word is given back with what was wrong (RUN-16). */
function repairMessage(outputFaults: string): LanguageModelV4Message {
  const text = `${REPAIR_REQUEST_START}${outputFaults}. Give the whole answer again, in the form that was asked for, and nothing else.`;
  return { role: "user", content: [{ type: "text", text }] };
}

/** An answer that was cut in the middle of a thought ends before it: providers refuse a message that ends in one. */
function contentOf({ calls, content }: TurnState): readonly AssistantPart[] {
  if (calls.length > 0) return content;
  const end = content.findLastIndex(
    ({ type }) => type !== "reasoning" && type !== "reasoning-file",
  );
  return content.slice(0, end + 1);
}

type PromptPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/** As the provider sent it, with what it wants back. */
function toPromptPart({ providerOptions, ...part }: AssistantPart): PromptPart {
  const options = providerOptions === undefined ? {} : { providerOptions };
  switch (part.type) {
    case "file":
    case "reasoning-file": {
      const { data } = part;
      return {
        ...part,
        data: data.type === "url" ? { type: "url", url: new URL(data.url) } : data,
        ...options,
      };
    }
    case "tool-call": {
      const { providerExecuted, ...call } = part;
      return { ...call, ...(providerExecuted && { providerExecuted }), ...options };
    }
    default:
      return { ...part, ...options };
  }
}

type StoredOutput = NonNullable<TurnState["calls"][number]["result"]>["output"];
type ToolMessagePart = Extract<LanguageModelV4Message, { role: "tool" }>["content"][number];
type ModelOutput = Extract<ToolMessagePart, { type: "tool-result" }>["output"];

function outputOf(output: StoredOutput): ModelOutput {
  return output.type === "execution-denied"
    ? { type: output.type, ...(output.reason !== undefined && { reason: output.reason }) }
    : output;
}
