// What the Messages API refuses of a conversation, in its order and nearly its words; nothing is checked here that it lets pass.
import { z } from "zod";
import { ANTHROPIC_GOODBYE } from "./anthropic-streams.ts";
import { canonicalText, typedEvent, type Dialect, type Frame } from "./wire.ts";

const Text = z.object({
  type: z.literal("text"),
  text: z.string(),
  citations: z.array(z.looseObject({ encrypted_index: z.string().optional() })).optional(),
});
const Thinking = z.object({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: z.string(),
});
const Redacted = z.object({ type: z.literal("redacted_thinking"), data: z.string() });
const ToolUse = z.object({
  type: z.enum(["tool_use", "server_tool_use"]),
  id: z.string(),
  name: z.string(),
  input: z.record(z.string(), z.unknown(), "input: Input should be a valid dictionary"),
});
const ToolResult = z.object({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.unknown(),
});
const SearchResult = z.object({
  type: z.literal("web_search_tool_result"),
  tool_use_id: z.string(),
  content: z.unknown(),
});
const Block = z.discriminatedUnion("type", [
  Text,
  Thinking,
  Redacted,
  ToolUse,
  ToolResult,
  SearchResult,
]);
type Block = z.infer<typeof Block>;

const Request = z.object({
  model: z.string(),
  max_tokens: z.number().int().positive(),
  stream: z.literal(true),
  messages: z
    .array(z.object({ role: z.enum(["user", "assistant"]), content: z.array(Block) }))
    .min(1),
});
type Message = z.infer<typeof Request>["messages"][number];

function refuse(request: unknown, frames: readonly Frame[]): string | null {
  const parsed = Request.safeParse(request);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "invalid"}`;
  }
  const { messages } = parsed.data;
  if (messages.at(-1)?.role !== "user") {
    return "This model does not support assistant message prefill. The conversation must end with a user message.";
  }
  const issued = readIssued(frames);
  for (const [index, message] of messages.entries()) {
    const why = refuseMessage(message, messages[index + 1], messages[index - 1], issued);
    if (why !== null) return `messages.${index}: ${why}`;
  }
  return null;
}

function refuseMessage(
  { role, content }: Message,
  next: Message | undefined,
  previous: Message | undefined,
  issued: Issued,
): string | null {
  if (content.length === 0) {
    return "all messages must have non-empty content except for the optional final assistant message";
  }
  for (const block of content) {
    if (block.type === "text" && block.text.trim() === "") {
      return "text content blocks must be non-empty";
    }
  }
  if (role === "user") return refuseResults(content, previous);
  return (
    refuseThinking(content, issued) ??
    refuseServerTools(content, issued) ??
    refuseCalls(content, next)
  );
}

function refuseResults(content: readonly Block[], previous: Message | undefined): string | null {
  const called = new Set(previous?.content.flatMap((block) => callId(block)));
  for (const block of content) {
    if (block.type === "tool_result" && !called.has(block.tool_use_id)) {
      return `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.tool_use_id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    }
  }
  return null;
}

function refuseCalls(content: readonly Block[], next: Message | undefined): string | null {
  const answered = new Set(
    next?.content.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : [])),
  );
  const open = content.flatMap(callId).filter((id) => !answered.has(id));
  return open.length === 0
    ? null
    : `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}.`;
}

/** Thoughts go back whole, as they came, and never as the last of a message. */
function refuseThinking(content: readonly Block[], issued: Issued): string | null {
  const thoughts = content.filter(isThought).map((block) => JSON.stringify(block));
  for (const thought of thoughts) {
    if (!issued.thoughts.includes(thought)) return "Invalid `signature` in `thinking` block";
  }
  const hasCall = content.some((block) => block.type === "tool_use");
  if (hasCall && JSON.stringify(thoughts) !== JSON.stringify(issued.thoughts)) {
    return "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.";
  }
  const last = content.at(-1);
  return last !== undefined && isThought(last)
    ? "The final block in an assistant message cannot be `thinking`."
    : null;
}

function refuseServerTools(content: readonly Block[], issued: Issued): string | null {
  const results = new Map(
    content.flatMap((block) =>
      block.type === "web_search_tool_result"
        ? [[block.tool_use_id, canonicalText(block.content)]]
        : [],
    ),
  );
  for (const block of content) {
    if (block.type === "server_tool_use" && !results.has(block.id)) {
      return `\`web_search\` tool use with id \`${block.id}\` was found without a corresponding \`web_search_tool_result\` block`;
    }
  }
  for (const [id, result] of results) {
    if (issued.results.get(id) !== result) {
      return `Invalid \`encrypted_content\` in \`web_search_tool_result\` block of ${id}`;
    }
  }
  for (const block of content) {
    if (block.type !== "text") continue;
    for (const { encrypted_index: place } of block.citations ?? []) {
      if (place !== undefined && !issued.places.has(place)) {
        return "Invalid `encrypted_index` in citation";
      }
    }
  }
  return null;
}

function isThought(block: Block): boolean {
  return block.type === "thinking" || block.type === "redacted_thinking";
}

function callId(block: Block): string[] {
  return block.type === "tool_use" ? [block.id] : [];
}

interface Issued {
  readonly thoughts: readonly string[];
  /** By the id of the call. */
  readonly results: ReadonlyMap<string, string>;
  readonly places: ReadonlySet<string>;
}

const Event = z.looseObject({
  type: z.string(),
  index: z.number().optional(),
  content_block: z
    .looseObject({
      type: z.string(),
      data: z.string().optional(),
      tool_use_id: z.string().optional(),
    })
    .optional(),
  delta: z
    .looseObject({
      thinking: z.string().optional(),
      signature: z.string().optional(),
      citation: z.looseObject({ encrypted_index: z.string().optional() }).optional(),
    })
    .optional(),
});

function readIssued(frames: readonly Frame[]): Issued {
  const thoughts = new Map<number, Extract<Block, { type: "thinking" | "redacted_thinking" }>>();
  const results = new Map<string, string>();
  const places = new Set<string>();
  for (const frame of frames) {
    const { index = -1, content_block: block, delta } = Event.parse(frame);
    if (block?.type === "thinking") {
      thoughts.set(index, { type: "thinking", thinking: "", signature: "" });
    }
    if (block?.type === "redacted_thinking") {
      thoughts.set(index, { type: "redacted_thinking", data: block.data ?? "" });
    }
    if (block?.type === "web_search_tool_result") {
      results.set(block.tool_use_id ?? "", canonicalText(block["content"]));
    }
    const thought = thoughts.get(index);
    if (thought?.type === "thinking") {
      thought.thinking += delta?.thinking ?? "";
      thought.signature += delta?.signature ?? "";
    }
    const place = delta?.citation?.encrypted_index;
    if (place !== undefined) places.add(place);
  }
  return {
    thoughts: [...thoughts.values()].map((block) => JSON.stringify(block)),
    results,
    places,
  };
}

export const ANTHROPIC: Dialect = {
  frame: typedEvent,
  refuse,
  errorBody: (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  goodbye: ANTHROPIC_GOODBYE,
};
