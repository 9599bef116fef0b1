// What the local scripts look at in a prompt.
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";

/** The text of the newest user message: earlier ones belong to earlier runs. */
export function lastUserText(prompt: LanguageModelV4Prompt): string {
  const message = prompt.findLast((candidate) => candidate.role === "user");
  return message?.content.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
}

type ToolMessage = Extract<LanguageModelV4Prompt[number], { role: "tool" }>;
type ToolResult = Extract<ToolMessage["content"][number], { type: "tool-result" }>;

/** The tools whose results came since the newest user message, in order. */
export function toolsAnswered(prompt: LanguageModelV4Prompt): string[] {
  return toolResults(prompt).map(({ toolName }) => toolName);
}

/** What the calls of one tool returned since the newest user message, in order; failures are left out. */
export function resultsOf(prompt: LanguageModelV4Prompt, tool: string): unknown[] {
  return toolResults(prompt).flatMap(({ toolName, output }) =>
    toolName === tool && output.type === "json" ? [output.value] : [],
  );
}

function toolResults(prompt: LanguageModelV4Prompt): ToolResult[] {
  const from = prompt.findLastIndex((message) => message.role === "user");
  return prompt
    .slice(from)
    .flatMap((message) => (message.role === "tool" ? message.content : []))
    .flatMap((part) => (part.type === "tool-result" ? [part] : []));
}
