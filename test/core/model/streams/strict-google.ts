// What generateContent refuses of a conversation of a Gemini 3 model, in nearly its words.
import { z } from "zod";
import { GOOGLE_GOODBYE } from "./google-streams.ts";
import { canonicalText, dataEvent, type Dialect, type Frame } from "./wire.ts";

const Part = z.strictObject({
  text: z.string().optional(),
  thought: z.literal(true).optional(),
  thoughtSignature: z.string().optional(),
  inlineData: z.object({ mimeType: z.string(), data: z.string() }).optional(),
  functionCall: z
    .object({
      id: z.string().optional(),
      name: z.string(),
      args: z.record(z.string(), z.unknown(), "args: Proto field is not a Struct"),
    })
    .optional(),
  functionResponse: z
    .object({
      id: z.string().optional(),
      name: z.string(),
      response: z.record(z.string(), z.unknown()),
    })
    .optional(),
  executableCode: z.unknown().optional(),
  codeExecutionResult: z.unknown().optional(),
  toolCall: z.unknown().optional(),
  toolResponse: z.unknown().optional(),
});
type Part = z.infer<typeof Part>;

const Content = z.object({ role: z.enum(["user", "model"]), parts: z.array(Part) });
type Content = z.infer<typeof Content>;
const Request = z.object({ contents: z.array(Content).min(1) });

/** The parts that hold what the provider's own tools did, each call with the result that follows it. */
const OWN_TOOLS = [
  ["executableCode", "codeExecutionResult"],
  ["toolCall", "toolResponse"],
] as const;

function refuse(request: unknown, frames: readonly Frame[]): string | null {
  const parsed = Request.safeParse(request);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `Invalid JSON payload received. ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`;
  }
  const { contents } = parsed.data;
  if (contents.at(-1)?.role !== "user") {
    return "Please ensure that single turn requests end with a user role or the role field is empty.";
  }
  const issued = readIssued(frames);
  for (const [index, content] of contents.entries()) {
    const why =
      refuseEmpty(content) ??
      refuseTurns(content, contents[index + 1], contents[index - 1]) ??
      refuseSignatures(content, issued) ??
      refuseOwnTools(content, issued);
    if (why !== null) return `contents[${index}]: ${why}`;
  }
  return null;
}

function refuseEmpty({ parts }: Content): string | null {
  if (parts.length === 0) return "must include at least one parts field";
  const isBare = ({ text, thoughtSignature }: Part): boolean =>
    text === "" && thoughtSignature === undefined;
  return parts.some(isBare) ? "has an empty text parameter" : null;
}

function refuseTurns(
  { parts }: Content,
  next: Content | undefined,
  previous: Content | undefined,
): string | null {
  const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
  const responses = parts.flatMap(({ functionResponse }) => functionResponse ?? []);
  const answered = next?.parts.flatMap(({ functionResponse }) => functionResponse ?? []) ?? [];
  if (calls.length > 0 && !areAlike(calls, answered)) {
    return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
  }
  const called = previous?.parts.flatMap(({ functionCall }) => functionCall ?? []) ?? [];
  if (responses.length > 0 && !areAlike(called, responses)) {
    return "Please ensure that function response turn comes immediately after a function call turn.";
  }
  return null;
}

interface Named {
  readonly id?: string | undefined;
  readonly name: string;
}

function areAlike(calls: readonly Named[], responses: readonly Named[]): boolean {
  const names = (list: readonly Named[]): string =>
    JSON.stringify(list.map(({ id, name }) => [id, name]));
  return names(calls) === names(responses);
}

function refuseSignatures({ role, parts }: Content, issued: Issued): string | null {
  if (role === "user") return null;
  for (const { thoughtSignature } of parts) {
    if (thoughtSignature !== undefined && !issued.signatures.has(thoughtSignature)) {
      return "Thought signature is not valid.";
    }
  }
  const [first] = parts.filter(({ functionCall }) => functionCall !== undefined);
  if (first !== undefined && first.thoughtSignature !== issued.ofFirstCall) {
    return `Function call is missing a thought_signature in functionCall parts: ${first.functionCall?.name ?? ""}`;
  }
  const sent = new Set(parts.map(({ thoughtSignature }) => thoughtSignature));
  const lost = [...issued.signatures].filter((signature) => !sent.has(signature));
  return lost.length === 0 ? null : `Thought signatures are missing: ${lost.length}.`;
}

function refuseOwnTools({ role, parts }: Content, issued: Issued): string | null {
  if (role === "user") return null;
  const sent = parts.flatMap(ownTool);
  return JSON.stringify(sent) === JSON.stringify(issued.ownTools)
    ? null
    : "Parts of server-side tools are missing or altered.";
}

function ownTool(part: Pick<Part, (typeof OWN_TOOLS)[number][number]>): string[] {
  return OWN_TOOLS.flat().flatMap((kind) => {
    const value = part[kind];
    return value === undefined ? [] : [canonicalText({ [kind]: value })];
  });
}

interface Issued {
  readonly signatures: ReadonlySet<string>;
  readonly ofFirstCall: string | undefined;
  readonly ownTools: readonly string[];
}

const Chunk = z.looseObject({
  candidates: z
    .array(
      z.looseObject({
        content: z
          .looseObject({
            parts: z.array(
              Part.extend({
                functionCall: z.looseObject({ name: z.string().optional() }).optional(),
              }),
            ),
          })
          .optional(),
      }),
    )
    .optional(),
});

function readIssued(frames: readonly Frame[]): Issued {
  const parts = frames.flatMap(
    (frame) => Chunk.parse(frame).candidates?.flatMap(({ content }) => content?.parts ?? []) ?? [],
  );
  const signatures = parts.flatMap(({ thoughtSignature }) => thoughtSignature ?? []);
  const first = parts.find(({ functionCall }) => functionCall !== undefined);
  return {
    signatures: new Set(signatures),
    ofFirstCall: first?.thoughtSignature,
    ownTools: parts.flatMap(ownTool),
  };
}

export const GOOGLE: Dialect = {
  frame: (frame) => dataEvent(frame).replaceAll("\n", "\r\n"),
  refuse,
  errorBody: (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  goodbye: GOOGLE_GOODBYE,
};
