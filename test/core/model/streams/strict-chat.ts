// What servers of chat completions refuse of a conversation: OpenAI's pairing of calls and results, and arguments that are an object, as
// vLLM and Ollama parse them. They let a conversation end with an assistant's message, and give no proofs of thought to check.
import { z } from "zod";
import { CHAT_GOODBYE } from "./chat-streams.ts";
import { dataEvent, type Dialect } from "./wire.ts";

const Message = z.discriminatedUnion("role", [
  z.object({
    role: z.enum(["system", "user"]),
    content: z.union([z.string().min(1), z.array(z.unknown()).min(1)]),
  }),
  z.object({
    role: z.literal("assistant"),
    content: z.string().nullable(),
    reasoning_content: z.string().optional(),
    tool_calls: z
      .array(
        z.object({
          id: z.string().min(1),
          type: z.literal("function"),
          function: z.object({ name: z.string(), arguments: z.string() }),
        }),
      )
      .min(1)
      .optional(),
  }),
  z.object({ role: z.literal("tool"), tool_call_id: z.string(), content: z.string() }),
]);
type Message = z.infer<typeof Message>;

const Request = z.object({
  model: z.string(),
  stream: z.literal(true),
  stream_options: z.object({ include_usage: z.literal(true) }),
  messages: z.array(Message).min(1),
});

function refuse(request: unknown): string | null {
  const parsed = Request.safeParse(request);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `Invalid value for '${issue?.path.join(".") ?? ""}': ${issue?.message ?? ""}`;
  }
  const { messages } = parsed.data;
  for (const [index, message] of messages.entries()) {
    const why =
      refuseAssistant(message, messages.slice(index + 1)) ??
      refuseTool(message, messages.slice(0, index));
    if (why !== null) return `messages[${index}]: ${why}`;
  }
  return null;
}

function refuseAssistant(message: Message, after: readonly Message[]): string | null {
  if (message.role !== "assistant") return null;
  const { content, tool_calls: calls = [], reasoning_content: thoughts } = message;
  if (content === null && calls.length === 0) {
    return "Invalid value for 'content': expected a string, got null.";
  }
  if (content === "" && calls.length === 0 && thoughts === undefined) {
    return "an assistant message must have content or tool calls";
  }
  for (const call of calls) {
    const value = parse(call.function.arguments);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return `invalid tool call arguments of ${call.id}: expected a JSON object`;
    }
  }
  const end = after.findIndex(({ role }) => role !== "tool");
  const answers = (end === -1 ? after : after.slice(0, end)).flatMap((answer) =>
    answer.role === "tool" ? [answer.tool_call_id] : [],
  );
  const open = calls.filter(({ id }) => !answers.includes(id));
  return open.length === 0
    ? null
    : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Missing: ${open.map(({ id }) => id).join(", ")}`;
}

function refuseTool(message: Message, before: readonly Message[]): string | null {
  if (message.role !== "tool") return null;
  const caller = before.findLast(({ role }) => role !== "tool");
  const isCalled =
    caller?.role === "assistant" &&
    caller.tool_calls?.some(({ id }) => id === message.tool_call_id) === true;
  return isCalled
    ? null
    : "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const CHAT: Dialect = {
  frame: dataEvent,
  refuse,
  errorBody: (message) => ({
    error: { message, type: "invalid_request_error", param: null, code: null },
  }),
  goodbye: CHAT_GOODBYE,
};
