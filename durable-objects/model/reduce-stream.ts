// Folds the parts of one model stream into the response that becomes canonical. The caller reads the stream and owns its deadline.
import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { JsonValue } from "../../shared/canonical-json.ts";
import type {
  AssistantPart,
  FinishReason,
  Source,
  ToolCallPart,
} from "../../shared/wire/messages.ts";
import { NO_TOKENS, type TokenUsage } from "../../shared/wire/usage.ts";
import {
  isJsonObject,
  readFile,
  readProviderOptions,
  readProviderResult,
  readSource,
  type ProviderOptions,
} from "./provider-parts.ts";

export interface CallFaultAt {
  /** The call's index among the calls of its response. */
  readonly index: number;
  readonly fault: "malformed-arguments" | "repeated-call-id";
}

export interface ModelResponse {
  readonly content: AssistantPart[];
  readonly finishReason: FinishReason;
  readonly usage: TokenUsage;
  readonly callFaults: CallFaultAt[];
  readonly sources: readonly Source[];
}

interface TextBlock {
  readonly kind: "text" | "reasoning";
  text: string;
  providerOptions: ProviderOptions | undefined;
}

interface CallBlock {
  readonly kind: "call";
  readonly part: ToolCallPart;
  readonly isMalformed: boolean;
}

/** A part that is kept as it came. */
interface WholeBlock {
  readonly kind: "whole";
  readonly part: AssistantPart;
}

/** What a stream has brought so far; blocks keep the order in which they began. */
export interface StreamReduction {
  readonly blocks: (TextBlock | CallBlock | WholeBlock)[];
  readonly open: Map<string, TextBlock>;
  readonly sources: Source[];
  finish: { readonly reason: FinishReason; readonly usage: TokenUsage } | null;
}

export function beginReduction(): StreamReduction {
  return { blocks: [], open: new Map(), sources: [], finish: null };
}

/** Takes one part in. Parts that hold nothing canonical (metadata, pings, argument deltas that a whole call repeats) change nothing. */
export function reducePart(reduction: StreamReduction, part: LanguageModelV4StreamPart): void {
  switch (part.type) {
    case "text-start":
      return beginBlock(reduction, "text", part);
    case "reasoning-start":
      return beginBlock(reduction, "reasoning", part);
    case "text-delta":
      return extendBlock(reduction, "text", part);
    case "reasoning-delta":
      return extendBlock(reduction, "reasoning", part);
    case "text-end":
      return endBlock(reduction, "text", part);
    case "reasoning-end":
      return endBlock(reduction, "reasoning", part);
    case "tool-call": {
      const args = parseArguments(part.input);
      const call: ToolCallPart = {
        type: "tool-call",
        toolCallId: part.toolCallId,
        toolName: part.toolName,
        // Providers refuse arguments that are not an object in later prompts.
        input: args ?? { malformedArguments: part.input },
        ...readProviderOptions(part.providerMetadata),
      };
      reduction.blocks.push(
        // A provider that runs its own tools sends their calls too; those are not ours to run.
        part.providerExecuted === true
          ? { kind: "whole", part: { ...call, providerExecuted: true } }
          : { kind: "call", part: call, isMalformed: args === null },
      );
      return;
    }
    case "tool-result":
      // A preliminary result is replaced by the one that follows.
      if (part.preliminary !== true) keepWhole(reduction, readProviderResult(part));
      return;
    case "file":
    case "reasoning-file":
      return keepWhole(reduction, readFile(part));
    case "custom":
      return keepWhole(reduction, {
        type: "custom",
        kind: part.kind,
        ...readProviderOptions(part.providerMetadata),
      });
    case "source":
      reduction.sources.push(readSource(part));
      return;
    case "finish":
      reduction.finish = {
        reason: part.finishReason.raw === "pause_turn" ? "paused" : part.finishReason.unified,
        usage: readTokenUsage(part.usage),
      };
      return;
    default:
      return;
  }
}

/**
 * The response of a stream that ended with `finish`, or null when it broke off. A call id that repeats an earlier one of the response
 * gets a suffix, so that the stored message stays well-formed for every provider, and is marked as a fault: it never runs, as it may be
 * the same call sent twice.
 */
export function endReduction(reduction: StreamReduction): ModelResponse | null {
  if (reduction.finish === null) return null;
  const content: AssistantPart[] = [];
  const callFaults: CallFaultAt[] = [];
  const ids = new Set<string>();
  let index = 0;
  for (const block of reduction.blocks) {
    if (block.kind === "whole") {
      if (block.part.type === "tool-call") ids.add(block.part.toolCallId);
      content.push(block.part);
      continue;
    }
    if (block.kind !== "call") {
      if (block.text === "" && block.providerOptions === undefined) continue;
      const { kind, text, providerOptions } = block;
      content.push({ type: kind, text, ...(providerOptions && { providerOptions }) });
      continue;
    }
    const { part, isMalformed } = block;
    const isRepeated = ids.has(part.toolCallId);
    if (isMalformed) callFaults.push({ index, fault: "malformed-arguments" });
    else if (isRepeated) callFaults.push({ index, fault: "repeated-call-id" });
    let toolCallId = part.toolCallId;
    for (let copy = 2; ids.has(toolCallId); copy += 1) toolCallId = `${part.toolCallId}#${copy}`;
    ids.add(toolCallId);
    content.push({ ...part, toolCallId });
    index += 1;
  }
  const { reason, usage } = reduction.finish;
  return { content, finishReason: reason, usage, callFaults, sources: reduction.sources };
}

function keepWhole(reduction: StreamReduction, part: AssistantPart): void {
  reduction.blocks.push({ kind: "whole", part });
}

interface BlockPart {
  readonly id: string;
  readonly providerMetadata?: unknown;
}

function beginBlock(reduction: StreamReduction, kind: TextBlock["kind"], part: BlockPart): void {
  const block = { kind, text: "", ...readProviderOptions(part.providerMetadata) };
  const opened: TextBlock = { providerOptions: undefined, ...block };
  reduction.blocks.push(opened);
  reduction.open.set(`${kind}:${part.id}`, opened);
}

/** A delta without its start begins the block: some compatible servers leave the start out. */
function extendBlock(
  reduction: StreamReduction,
  kind: TextBlock["kind"],
  part: BlockPart & { readonly delta: string },
): void {
  const key = `${kind}:${part.id}`;
  if (!reduction.open.has(key)) beginBlock(reduction, kind, part);
  const block = reduction.open.get(key);
  if (block === undefined) return;
  block.text += part.delta;
  replaceOptions(block, part.providerMetadata);
}

/** Reasoning signatures arrive with a late delta or the end, and must go back to the provider untouched. */
function endBlock(reduction: StreamReduction, kind: TextBlock["kind"], part: BlockPart): void {
  const block = reduction.open.get(`${kind}:${part.id}`);
  if (block !== undefined) replaceOptions(block, part.providerMetadata);
  reduction.open.delete(`${kind}:${part.id}`);
}

/** The last word of a provider about a block counts, as it does for the AI SDK. */
function replaceOptions(block: TextBlock, providerMetadata: unknown): void {
  const { providerOptions } = readProviderOptions(providerMetadata);
  if (providerOptions !== undefined) block.providerOptions = providerOptions;
}

/** The arguments as a JSON object, or null. Providers send nothing for a call without arguments. */
function parseArguments(input: string): JsonValue | null {
  if (input.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(input);
    return isJsonObject(value) ? value : null;
  } catch {
    // Not JSON: the call is kept as a faulty one, and the model reads why it did not run.
    return null;
  }
}

/** Counts that a provider left out are zero; a count that is no count is refused by the record's schema, never repaired. */
export function readTokenUsage(usage: LanguageModelV4Usage | undefined): TokenUsage {
  if (usage === undefined) return NO_TOKENS;
  const { total, noCache = 0, cacheRead = 0, cacheWrite = 0 } = usage.inputTokens;
  return {
    inputTokens: total ?? noCache + cacheRead + cacheWrite,
    outputTokens: usage.outputTokens.total ?? 0,
    cacheReadInputTokens: cacheRead,
    cacheWriteInputTokens: cacheWrite,
  };
}
