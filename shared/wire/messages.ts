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
  providerOptions: ProviderOptionsSchema.optional(),
});
export type ToolCallPart = z.infer<typeof ToolCallPartSchema>;

export const AssistantPartSchema = z.discriminatedUnion("type", [
  TextPartSchema,
  ReasoningPartSchema,
  ToolCallPartSchema,
]);
export type AssistantPart = z.infer<typeof AssistantPartSchema>;

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

export const FinishReasonSchema = z.enum([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "interrupted",
  "other",
]);
export type FinishReason = z.infer<typeof FinishReasonSchema>;
