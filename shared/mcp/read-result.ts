// What an MCP tool answered, as the value that the runtime bounds and records. Pure.
import type { CallToolResult } from "@ai-sdk/mcp";
import { z } from "zod";

export type McpAnswer =
  | { readonly isError: false; readonly value: unknown }
  | { readonly isError: true; readonly message: string };

/** Of kinds that the client does not know, any field may be anything. */
const TextSchema = z.string().optional().catch(undefined);
const PartSchema = z.looseObject({
  type: z.string(),
  text: TextSchema,
  data: TextSchema,
  resource: z.looseObject({ blob: TextSchema }).optional().catch(undefined),
});

const AnswerSchema = z.looseObject({
  content: z.array(PartSchema).default([]),
  structuredContent: z.unknown().optional(),
  /** Of servers of the first protocol version. */
  toolResult: z.unknown().optional(),
  isError: z.boolean().default(false),
});

/** Structured content where there is some, else the text; what is not text is described, without its bytes. */
export function readResult(result: CallToolResult): McpAnswer {
  const { content, structuredContent, toolResult, isError } = AnswerSchema.parse(result);
  const value = structuredContent ?? toolResult ?? readContent(content);
  if (!isError) return { isError, value };
  const text = content.flatMap((part) => part.text ?? []).join("\n");
  return { isError, message: text === "" ? JSON.stringify(value) : text };
}

function readContent(content: readonly z.infer<typeof PartSchema>[]): unknown {
  if (content.length === 0) return null;
  const texts = content.flatMap(({ type, text }) => (type === "text" ? (text ?? []) : []));
  return texts.length === content.length ? texts.join("\n") : content.map(describePart);
}

/** Base64 is of no use to a model that reads text. */
function describePart({ data, resource, ...part }: z.infer<typeof PartSchema>): unknown {
  return {
    ...part,
    ...(data === undefined ? {} : { bytes: decodedLength(data) }),
    ...(resource === undefined ? {} : { resource: describeResource(resource) }),
  };
}

function describeResource({ blob, ...resource }: { readonly blob?: string | undefined }): unknown {
  return { ...resource, ...(blob === undefined ? {} : { bytes: decodedLength(blob) }) };
}

function decodedLength(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}
