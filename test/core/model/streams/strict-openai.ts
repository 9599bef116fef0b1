// What the Responses API refuses of a conversation, in nearly its words. It lets one end with an assistant's message.
import { z } from "zod";
import { OPENAI_GOODBYE } from "./openai-streams.ts";
import { typedEvent, type Dialect, type Frame } from "./wire.ts";

const Item = z.union([
  z.object({ type: z.literal("item_reference"), id: z.string() }),
  z.object({
    type: z.literal("reasoning"),
    id: z.string().optional(),
    encrypted_content: z.string().nullish(),
    summary: z.array(z.object({ type: z.literal("summary_text"), text: z.string() })),
  }),
  z.object({
    type: z.literal("function_call"),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
  z.object({ type: z.literal("function_call_output"), call_id: z.string(), output: z.unknown() }),
  z.object({ type: z.literal("web_search_call"), id: z.string(), status: z.string() }),
  z.object({
    role: z.enum(["user", "assistant", "system", "developer"]),
    content: z.union([z.string(), z.array(z.unknown()).min(1)]),
  }),
]);
type Item = z.infer<typeof Item>;

const Request = z.object({
  model: z.string(),
  stream: z.literal(true),
  store: z.boolean().optional(),
  input: z.array(Item).min(1),
});

function refuse(request: unknown, frames: readonly Frame[]): string | null {
  const parsed = Request.safeParse(request);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `Invalid value for ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`;
  }
  const { input, store = true } = parsed.data;
  const issued = readIssued(frames);
  for (const [index, item] of input.entries()) {
    const why =
      refuseItem(item, store, issued) ??
      refusePairing(item, input) ??
      refuseLoneReasoning(item, input[index + 1], issued) ??
      refuseLoneMessage(item, input.slice(0, index), issued);
    if (why !== null) return why;
  }
  return null;
}

function refuseItem(item: Item, store: boolean, issued: Issued): string | null {
  if (!("type" in item)) return null;
  switch (item.type) {
    case "item_reference":
      if (!store) {
        return `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.`;
      }
      return issued.types.has(item.id) ? null : `Item with id '${item.id}' not found.`;
    case "reasoning":
      return item.encrypted_content != null &&
        issued.proofs.get(item.id ?? "") === item.encrypted_content
        ? null
        : `The encrypted content for item ${item.id ?? ""} could not be verified.`;
    case "web_search_call":
      return issued.types.get(item.id) === "web_search_call"
        ? null
        : `Item with id '${item.id}' not found.`;
    case "function_call":
      return isObjectText(item.arguments)
        ? null
        : `Invalid 'arguments' of ${item.call_id}: expected a JSON object.`;
    case "function_call_output":
      return null;
  }
}

function refusePairing(item: Item, input: readonly Item[]): string | null {
  if (!("call_id" in item)) return null;
  const partners = input.filter(
    (other) => "call_id" in other && other.call_id === item.call_id && other.type !== item.type,
  );
  if (partners.length === 1) return null;
  return item.type === "function_call"
    ? `No tool output found for function call ${item.call_id}.`
    : `No tool call found for function call output with call_id ${item.call_id}.`;
}

function refuseLoneReasoning(item: Item, next: Item | undefined, issued: Issued): string | null {
  const id = idOf(item);
  if (id === null || issued.types.get(id) !== "reasoning") return null;
  const isFollowed =
    next !== undefined &&
    ("role" in next ? next.role === "assistant" : next.type !== "function_call_output");
  return isFollowed
    ? null
    : `Item '${id}' of type 'reasoning' was provided without its required following item.`;
}

/** A stored message is bound to the thought that led to it. */
function refuseLoneMessage(
  item: Item,
  before: readonly Item[],
  { types, boundTo }: Issued,
): string | null {
  const id = idOf(item);
  if (id === null || types.get(id) !== "message") return null;
  const thought = boundTo.get(id);
  return thought === undefined || before.some((earlier) => idOf(earlier) === thought)
    ? null
    : `Item '${id}' of type 'message' was provided without its required 'reasoning' item: '${thought}'.`;
}

function idOf(item: Item): string | null {
  return "id" in item ? (item.id ?? null) : null;
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

interface Issued {
  readonly types: ReadonlyMap<string, string>;
  /** The sealed thought of a reasoning item: its summary is not checked. */
  readonly proofs: ReadonlyMap<string, string>;
  readonly boundTo: ReadonlyMap<string, string>;
}

const Done = z.looseObject({
  type: z.literal("response.output_item.done"),
  item: z.looseObject({
    type: z.string(),
    id: z.string(),
    encrypted_content: z.string().optional(),
  }),
});

function readIssued(frames: readonly Frame[]): Issued {
  const types = new Map<string, string>();
  const proofs = new Map<string, string>();
  const boundTo = new Map<string, string>();
  let thought: string | undefined;
  for (const frame of frames) {
    const parsed = Done.safeParse(frame);
    if (!parsed.success) continue;
    const { item } = parsed.data;
    types.set(item.id, item.type);
    if (item.type === "reasoning") {
      thought = item.id;
      proofs.set(item.id, item.encrypted_content ?? "");
    } else if (thought !== undefined) {
      boundTo.set(item.id, thought);
    }
  }
  return { types, proofs, boundTo };
}

export const OPENAI: Dialect = {
  frame: typedEvent,
  refuse,
  errorBody: (message) => ({
    error: { message, type: "invalid_request_error", param: "input", code: null },
  }),
  goodbye: OPENAI_GOODBYE,
};
