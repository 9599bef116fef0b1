// The part of the model interface's message format (LanguageModelV4, @ai-sdk/provider) that records hold, mirrored in zod. A type
// test ties the two, so that what is stored goes back to a model without conversion.
import { z } from "zod";
import { JsonSchema } from "../canonical-json.ts";

const ProviderOptionsSchema = z.record(z.string(), z.record(z.string(), JsonSchema));

export const TextPartSchema = z.object({
  type: z.literal("text"),
  text: z.string(),
  providerOptions: ProviderOptionsSchema.optional(),
});

export const ReasoningPartSchema = z.object({
  type: z.literal("reasoning"),
  text: z.string(),
  providerOptions: ProviderOptionsSchema.optional(),
});

/** `input` is the arguments, an object; `{ malformedArguments: text }` where the model sent something else. */
export const ToolCallPartSchema = z.object({
  type: z.literal("tool-call"),
  toolCallId: z.string(),
  toolName: z.string(),
  input: JsonSchema,
  /** The provider ran it while it answered: nothing of it is ours to run (TOOL-07). */
  providerExecuted: z.literal(true).optional(),
  providerOptions: ProviderOptionsSchema.optional(),
});
export type ToolCallPart = z.infer<typeof ToolCallPartSchema>;

/** What the provider's own tool returned, as it came: never bounded, never replayed (TOOL-07). */
export const ProviderToolResultPartSchema = z.object({
  type: z.literal("tool-result"),
  toolCallId: z.string(),
  toolName: z.string(),
  output: z.discriminatedUnion("type", [
    z.object({ type: z.literal("text"), value: z.string() }),
    z.object({ type: z.literal("json"), value: JsonSchema }),
    z.object({ type: z.literal("error-json"), value: JsonSchema }),
  ]),
  providerOptions: ProviderOptionsSchema.optional(),
});
export type ProviderToolResultPart = z.infer<typeof ProviderToolResultPartSchema>;

const GeneratedFileSchema = z.object({
  mediaType: z.string(),
  data: z.discriminatedUnion("type", [
    /** Base64. */
    z.object({ type: z.literal("data"), data: z.string() }),
    z.object({ type: z.literal("url"), url: z.url() }),
  ]),
  providerOptions: ProviderOptionsSchema.optional(),
});

export const FilePartSchema = GeneratedFileSchema.extend({ type: z.literal("file") });
export const ReasoningFilePartSchema = GeneratedFileSchema.extend({
  type: z.literal("reasoning-file"),
});

/** What only its provider understands, and wants back. */
export const CustomPartSchema = z.object({
  type: z.literal("custom"),
  kind: z.templateLiteral([z.string(), ".", z.string()]),
  providerOptions: ProviderOptionsSchema.optional(),
});

export const AssistantPartSchema = z.discriminatedUnion("type", [
  TextPartSchema,
  ReasoningPartSchema,
  ToolCallPartSchema,
  ProviderToolResultPartSchema,
  FilePartSchema,
  ReasoningFilePartSchema,
  CustomPartSchema,
]);
export type AssistantPart = z.infer<typeof AssistantPartSchema>;

/** A call that this runtime is asked to run: the others ran at the provider. */
export function isOwnCall(part: AssistantPart): part is ToolCallPart {
  return part.type === "tool-call" && part.providerExecuted !== true;
}

/** Where an answer has something from, as the provider said it. For readers: no provider expects it back. */
export const SourceSchema = z.discriminatedUnion("sourceType", [
  z.object({
    sourceType: z.literal("url"),
    id: z.string(),
    url: z.string(),
    title: z.string().optional(),
  }),
  z.object({
    sourceType: z.literal("document"),
    id: z.string(),
    mediaType: z.string(),
    title: z.string(),
    filename: z.string().optional(),
  }),
]);
export type Source = z.infer<typeof SourceSchema>;

export const ToolOutputSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), value: z.string() }),
  z.object({ type: z.literal("json"), value: JsonSchema }),
  z.object({ type: z.literal("error-text"), value: z.string() }),
  z.object({ type: z.literal("error-json"), value: JsonSchema }),
  z.object({ type: z.literal("execution-denied"), reason: z.string().optional() }),
]);
export type ToolOutput = z.infer<typeof ToolOutputSchema>;

/** What `inputPrompt` may return: user messages of text. */
export const UserMessageSchema = z.object({
  role: z.literal("user"),
  content: z.array(TextPartSchema).min(1),
});
export type UserMessage = z.infer<typeof UserMessageSchema>;

/** How the request to repair an answer begins: a message of the run, and of no caller (RUN-16). */
export const REPAIR_REQUEST_START = "That answer does not fit what was asked for: ";

export const FinishReasonSchema = z.enum([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "interrupted",
  "other",
  /** The provider stopped in the middle of its own tools, and goes on when it is given its answer back. */
  "paused",
]);
export type FinishReason = z.infer<typeof FinishReasonSchema>;
