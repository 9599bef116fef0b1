// The record schemas mirror the model interface's messages: what is stored goes back to a model without conversion. Checked by the
// compiler; the tests only give the functions a place to run.
import type { LanguageModelV4Message } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import {
  AssistantPartSchema,
  ToolOutputSchema,
  UserMessageSchema,
} from "../../../shared/wire/messages.ts";
import type { AssistantPart, ToolOutput, UserMessage } from "../../../shared/wire/messages.ts";

type AssistantContent = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];
type UserContent = Extract<LanguageModelV4Message, { role: "user" }>;
type ToolContent = Extract<LanguageModelV4Message, { role: "tool" }>["content"][number];
type ModelOutput = Extract<ToolContent, { type: "tool-result" }>["output"];

/** zod says `providerOptions?: … | undefined`; under exactOptionalPropertyTypes the interface wants the key gone. */
type Exact<T> = T extends unknown
  ? { [Key in keyof T]: undefined extends T[Key] ? Exclude<T[Key], undefined> : T[Key] }
  : never;

/** A file by its address is stored as text and goes back as a URL: the one conversion. */
type StoredPart = Exclude<AssistantPart, { type: "file" | "reasoning-file" }>;

// Each of these does not compile when our part is not one of the interface's.
const toAssistant = (part: Exact<StoredPart>): AssistantContent => part;
const toOutput = (output: Exact<ToolOutput>): ModelOutput => output;
const toUser = (
  message: Omit<UserMessage, "content"> & { content: Exact<UserMessage["content"][number]>[] },
): UserContent => message;

/** Total: a new kind of part or output does not compile until it is written here. */
const PARTS: Record<AssistantPart["type"], AssistantContent> = {
  text: toAssistant({ type: "text", text: "t", providerOptions: { p: { a: 1 } } }),
  reasoning: toAssistant({ type: "reasoning", text: "r" }),
  "tool-call": toAssistant({
    type: "tool-call",
    toolCallId: "c",
    toolName: "act",
    input: {},
    providerExecuted: true,
  }),
  "tool-result": toAssistant({
    type: "tool-result",
    toolCallId: "c",
    toolName: "act",
    output: { type: "json", value: [1] },
  }),
  file: { type: "file", mediaType: "image/png", data: { type: "data", data: "AA==" } },
  "reasoning-file": {
    type: "reasoning-file",
    mediaType: "image/png",
    data: { type: "data", data: "AA==" },
  },
  custom: toAssistant({ type: "custom", kind: "openai.compaction" }),
};

const OUTPUTS: Record<ToolOutput["type"], ModelOutput> = {
  text: toOutput({ type: "text", value: "v" }),
  json: toOutput({ type: "json", value: { a: [1] } }),
  "error-text": toOutput({ type: "error-text", value: "v" }),
  "error-json": toOutput({ type: "error-json", value: null }),
  "execution-denied": toOutput({ type: "execution-denied", reason: "no" }),
};

describe("stored messages", () => {
  it("are messages of the model interface", () => {
    for (const part of Object.values(PARTS)) {
      expect(AssistantPartSchema.parse(part)).toEqual(part);
    }
    for (const output of Object.values(OUTPUTS)) {
      expect(ToolOutputSchema.parse(output)).toEqual(output);
    }
    const message = toUser({ role: "user", content: [{ type: "text", text: "hi" }] });
    expect(UserMessageSchema.parse(message)).toEqual(message);
  });
});
