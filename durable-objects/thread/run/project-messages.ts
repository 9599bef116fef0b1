// A run as the messages that a model sees: its own prompt, and its place in the history of later runs. Pure.
import type { LanguageModelV4Message } from "@ai-sdk/provider";
import { canonicalJson, type JsonValue } from "../../../shared/canonical-json.ts";
import {
  isOwnCall,
  REPAIR_REQUEST_START,
  type AssistantPart,
  type UserMessage,
} from "../../../shared/wire/messages.ts";
import { providerOf } from "../../model/provider-of.ts";
import { isDelivered, type RunState, type TurnState } from "./run-state.ts";

/** For whom a run is shown. */
export interface Audience {
  /** The provider of the model that reads it. What only another provider understands is left out; null leaves everything in. */
  readonly provider: string | null;
  /** The run's own next request: what it still has to do is said. Otherwise it is history of a later run. */
  readonly isOwn: boolean;
}

const ANYBODY: Audience = { provider: null, isOwn: false };

/**
 * The user messages, then per turn the assistant's message and its complete batch, in declaration order. A batch with an open call is
 * left out whole, with the message that declared it: providers refuse calls without results, and an earlier run's open batch is not
 * replayed to later runs; what was said before it stays (RUN-17, CTX-28).
 */
export function projectRun(state: RunState, audience = ANYBODY): LanguageModelV4Message[] {
  return [
    ...projectInput(state),
    ...projectJoined(state, 0, audience),
    ...state.turns.flatMap((turn) => [
      ...projectTurn(state, turn, audience),
      ...projectJoined(state, turn.turn, audience),
    ]),
  ];
}

/** What joined after a turn. To later runs it is shown where it was answered: else it has, or will have, a run of its own. */
export function projectJoined(
  state: RunState,
  afterTurn: number,
  audience: Audience,
): LanguageModelV4Message[] {
  return state.joined
    .filter((joined) => joined.afterTurn === afterTurn)
    .filter((joined) => audience.isOwn || isDelivered(state, joined))
    .flatMap(({ prompt, input }) => (prompt ?? [asJsonMessage(input)]).map(toUserMessage));
}

/** Without an inputPrompt the model reads the whole input as JSON (CTX-04). */
export function asJsonMessage(input: JsonValue): UserMessage {
  return { role: "user", content: [{ type: "text", text: canonicalJson(input) }] };
}

function projectInput(state: RunState): LanguageModelV4Message[] {
  if (state.start === null) return [];
  return (state.start.payload.prompt ?? [asJsonMessage(state.input)]).map(toUserMessage);
}

function toUserMessage(message: UserMessage): LanguageModelV4Message {
  return {
    role: "user",
    content: message.content.map(({ text, providerOptions }) => ({
      type: "text",
      text,
      ...(providerOptions && { providerOptions }),
    })),
  };
}

export function projectTurn(
  state: RunState,
  turn: TurnState,
  audience = ANYBODY,
): LanguageModelV4Message[] {
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
  const goesOn = audience.isOwn || turn.turn < state.turns.length;
  const content = contentOf(turn, audience.provider, goesOn);
  return [
    // An empty answer is no message: providers refuse one without content.
    ...(content.length === 0
      ? []
      : [{ role: "assistant" as const, content: content.map(toPromptPart) }]),
    ...(results.length === 0 ? [] : [{ role: "tool" as const, content: results }]),
    ...(turn.outputFaults === null || !goesOn ? [] : [repairMessage(turn.outputFaults)]),
  ];
}

/** No provider goes on from an assistant's message: the word is given back with what was wrong (RUN-16). */
function repairMessage(outputFaults: string): LanguageModelV4Message {
  const text = `${REPAIR_REQUEST_START}${outputFaults}. Give the whole answer again, in the form that was asked for, and nothing else.`;
  return { role: "user", content: [{ type: "text", text }] };
}

/**
 * The response as the reader's provider takes it. An answer that was cut in the middle of a thought ends before it, as providers refuse a
 * message that ends in one; a search that its provider never finished is no part of an answer that nothing follows.
 */
function contentOf(
  { calls, content, finishReason, model }: TurnState,
  provider: string | null,
  goesOn: boolean,
): readonly AssistantPart[] {
  if (provider !== null && provider !== providerOf(model)) return content.flatMap(toForeignPart);
  if (calls.length > 0) return content;
  if (finishReason === "paused") return goesOn ? content : content.filter(isAnsweredIn(content));
  const end = content.findLastIndex(
    ({ type }) => type !== "reasoning" && type !== "reasoning-file",
  );
  const said = content.slice(0, end + 1);
  return said.every(({ type }) => type === "custom") ? [] : said;
}

/** Text, files and calls are everybody's; thought, marks and the provider's own tools are its own. */
function toForeignPart(part: AssistantPart): AssistantPart[] {
  switch (part.type) {
    case "text":
    case "file": {
      const { providerOptions: _, ...plain } = part;
      return part.type === "text" && part.text === "" ? [] : [plain];
    }
    case "tool-call": {
      const { providerOptions: _, ...plain } = part;
      return isOwnCall(part) ? [plain] : [];
    }
    default:
      return [];
  }
}

function isAnsweredIn(content: readonly AssistantPart[]): (part: AssistantPart) => boolean {
  const answered = new Set(
    content.flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : [])),
  );
  return (part) => part.type !== "tool-call" || answered.has(part.toolCallId);
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
