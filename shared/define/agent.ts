// Declaring an agent: its schemas, instructions, model, tools and policy, in one file of the author's.
import type { JSONSchema7, LanguageModelV4, LanguageModelV4ProviderTool } from "@ai-sdk/provider";
import { z } from "zod";
import type { JsonValue } from "../canonical-json.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { PrintableIdSchema } from "../ids.ts";
import { UserMessageSchema, type UserMessage } from "../wire/messages.ts";
import { AgentPolicySchema, type AgentPolicy, type AgentPolicyInput } from "../wire/policy.ts";
import { decodeToJson, type Decoded } from "./decoded.ts";
import { durationMillis } from "./duration.ts";
import { decodeMetadata } from "./metadata.ts";
import { jsonSchemaOf, objectSchemaOf, ZodSchemaSchema } from "./json-schema.ts";
import type { Environment } from "./environment.ts";
import { ToolNameSchema, type Tool } from "./tool.ts";
import { refuseUnknownFields, validateDefinition } from "./validate-definition.ts";

/** A model id such as `local/assistant`, or a model of any AI SDK provider. */
export type ModelChoice = string | LanguageModelV4;

export interface AgentOptions<
  Input extends z.ZodType,
  Output extends z.ZodType,
  Id extends string = string,
> {
  readonly id: Id;
  /** Raise it with every change of instructions, schemas or policy. */
  readonly revision: number;
  readonly description: string;
  readonly input: Input;
  /** Without it the output is the model's text. */
  readonly output?: Output;
  /** What a submission carries for the host beside the input, such as resolved routing and settings: at most 16 KiB, stored with the work, and
   * handed to tools. Without a schema an agent takes none. */
  readonly metadata?: z.ZodType;
  /** Evaluated once, when the run starts. Contract: synchronous, a function of the input alone. */
  readonly instructions: string | ((input: z.output<Input>) => string);
  /** What the model is asked; without it, the input as JSON. Evaluated once, like `instructions`. */
  readonly inputPrompt?: (input: z.output<Input>) => string | UserMessage[];
  readonly model: string | ((env: Environment) => ModelChoice);
  readonly tools?: Readonly<Record<string, Tool>>;
  /** Tools that the model's provider runs while it answers, under the names that the model knows them by: those of the AI SDK's providers, such
   * as `openai.tools.webSearch()`. */
  readonly providerTools?: Readonly<Record<string, ProviderTool>>;
  /** The name of a tool that the model calls, alone and last, with the output as its arguments; needs an `output` that is an object. */
  readonly completionTool?: string;
  readonly policy?: AgentPolicyInput;
}

/** The part of an AI SDK provider tool that a request needs. */
export interface ProviderTool {
  readonly type: "provider";
  /** `provider.tool`, such as `anthropic.web_search_20250305`. */
  readonly id: `${string}.${string}`;
  readonly args: Record<string, unknown>;
}

/** What a run begins with. */
export interface RunOpening {
  readonly instructions: string;
  readonly prompt: UserMessage[] | null;
}

/** A defined agent. The types of its schemas are closed over, so that a deployment is a plain list; clients read them back with `InputOf`
 * and `OutputOf`. */
export interface Agent<Id extends string = string, Input = unknown, Output = unknown> {
  readonly id: Id;
  /** For the compiler alone: no agent has it. */
  readonly types?: { readonly input: Input; readonly output: Output };
  readonly revision: number;
  readonly description: string;
  readonly model: string | ((env: Environment) => ModelChoice);
  readonly tools: readonly Tool[];
  readonly providerTools: readonly LanguageModelV4ProviderTool[];
  readonly completionTool: string | null;
  readonly policy: AgentPolicy;
  /** The text of constant instructions; null where they are a function, which contributes only the revision to the digest. */
  readonly constantInstructions: string | null;
  readonly inputJsonSchema: JSONSchema7;
  readonly outputJsonSchema: JSONSchema7 | null;
  readonly metadataJsonSchema: JSONSchema7 | null;
  decodeInput(value: unknown): Decoded<JsonValue>;
  /** Null for a submission without metadata. */
  decodeMetadata(value: JsonValue | undefined): Decoded<JsonValue>;
  /** `input` is what `decodeInput` returned and the log kept. May throw what the author's functions throw. */
  open(input: JsonValue): RunOpening;
  decodeOutput(text: string): Decoded<JsonValue>;
  /** The arguments of the completion tool as the output. */
  decodeCompletion(args: JsonValue): Decoded<JsonValue>;
}

/** What a caller sends to an agent. */
export type InputOf<Of extends Agent> = Of extends Agent<string, infer Input> ? Input : never;
/** What a completed run of an agent returns. */
export type OutputOf<Of extends Agent> =
  Of extends Agent<string, unknown, infer Output> ? Output : never;

const FIELDS = [
  "id",
  "revision",
  "description",
  "input",
  "output",
  "metadata",
  "instructions",
  "inputPrompt",
  "model",
  "tools",
  "providerTools",
  "completionTool",
  "policy",
] as const satisfies readonly (keyof AgentOptions<z.ZodType, z.ZodType>)[];

const FunctionSchema = z.custom<(...input: never) => unknown>(
  (value) => typeof value === "function",
  { message: "a function" },
);
const ToolSchema = z.custom<Tool>(
  (value) => typeof value === "object" && value !== null && "decode" in value && "name" in value,
  { message: "no tool; defineTool makes one" },
);

const ProviderToolSchema = z.custom<ProviderTool>(
  (value) =>
    z
      .object({
        type: z.literal("provider"),
        id: z.templateLiteral([z.string(), ".", z.string()]),
        args: z.record(z.string(), z.json()),
      })
      .safeParse(value).success,
  { message: "no provider tool; the AI SDK's providers have them under `tools`" },
);

const HeadSchema = z.object({
  id: PrintableIdSchema,
  revision: z.int().positive(),
  description: z.string().min(1).max(8_192),
  input: ZodSchemaSchema,
  output: ZodSchemaSchema.optional(),
  metadata: ZodSchemaSchema.optional(),
  instructions: z.union([z.string(), FunctionSchema], { message: "a text or a function" }),
  inputPrompt: FunctionSchema.optional(),
  model: z.union([z.string().min(1), FunctionSchema], { message: "a model id or a function" }),
  tools: z.record(z.string(), ToolSchema).optional(),
  providerTools: z.record(ToolNameSchema, ProviderToolSchema).optional(),
  completionTool: ToolNameSchema.optional(),
});

/** A run that waits for a person fails at its deadline, so short ones deserve a word (TOOL-05). */
const SHORT_FOR_PEOPLE_MILLIS = 3_600_000;

/** Declares an agent. Throws `InvalidDefinition` that names the wrong field. */
export function defineAgent<
  Input extends z.ZodType,
  Output extends z.ZodType = z.ZodString,
  const Id extends string = string,
>(options: AgentOptions<Input, Output, Id>): Agent<Id, z.input<Input>, z.output<Output>> {
  const what = `agent ${JSON.stringify(options.id)}`;
  refuseUnknownFields(what, options, FIELDS);
  const head = validateDefinition(what, HeadSchema, options);
  const { revision, description, completionTool = null } = head;
  const policy = validateDefinition(what, z.object({ policy: AgentPolicySchema }), {
    policy: options.policy ?? {},
  }).policy;
  const tools = Object.values(options.tools ?? {});
  const providerTools = Object.entries(head.providerTools ?? {}).map(([name, { id, args }]) => ({
    type: "provider" as const,
    id,
    name,
    args,
  }));
  refuseDuplicateNames(what, [
    ...[...tools, ...providerTools].map(({ name }) => name),
    ...(completionTool === null ? [] : [completionTool]),
  ]);
  warnOfShortApproval(what, tools, policy);
  warnOfMissingReserve(what, policy);
  const { instructions, inputPrompt, output, metadata } = options;
  const outputJsonSchema = outputSchemaOf(what, output, completionTool);
  // What the input schema decoded was stored as it is: this only gives the stored value its type back.
  const stored = z.custom<z.output<Input>>();
  return Object.freeze({
    id: options.id,
    revision,
    description,
    model: options.model,
    tools,
    providerTools,
    completionTool,
    policy,
    constantInstructions: typeof instructions === "string" ? instructions : null,
    inputJsonSchema: jsonSchemaOf(options.input, `${what}: input`),
    outputJsonSchema,
    metadataJsonSchema: metadata === undefined ? null : jsonSchemaOf(metadata, `${what}: metadata`),
    decodeMetadata: (value: JsonValue | undefined) => decodeMetadata(metadata, value),
    decodeInput: (value: unknown) => decodeToJson(options.input, value),
    open(value: JsonValue): RunOpening {
      const input = stored.parse(value);
      return {
        instructions: z
          .string()
          .parse(typeof instructions === "function" ? instructions(input) : instructions),
        prompt: inputPrompt === undefined ? null : toUserMessages(inputPrompt(input)),
      };
    },
    decodeOutput: (text: string) =>
      output === undefined ? { ok: true as const, value: text } : decodeJsonText(output, text),
    decodeCompletion: (args: JsonValue) => decodeToJson(output ?? z.json(), args),
  });
}

function outputSchemaOf(
  what: string,
  output: z.ZodType | undefined,
  completionTool: string | null,
): JSONSchema7 | null {
  if (completionTool === null) {
    return output === undefined ? null : jsonSchemaOf(output, `${what}: output`);
  }
  if (output !== undefined) return objectSchemaOf(output, `${what}: output`);
  throw new HoldfastError("InvalidDefinition", `${what}: completionTool needs an output schema`);
}

function toUserMessages(prompt: string | UserMessage[]): UserMessage[] {
  return typeof prompt === "string"
    ? [{ role: "user", content: [{ type: "text", text: prompt }] }]
    : z.array(UserMessageSchema).min(1).parse(prompt);
}

function decodeJsonText(schema: z.ZodType, text: string): Decoded<JsonValue> {
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(text));
  } catch {
    return { ok: false, faults: [{ pointer: "", message: "the text is not JSON" }] };
  }
  return decodeToJson(schema, value);
}

/** Models that are asked for JSON in words like to wrap it in a code fence; what is inside is what they meant. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text;
}

function refuseDuplicateNames(what: string, names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return;
  throw new HoldfastError("InvalidDefinition", `${what}: tools: two are named ${twice}`);
}

/** Without a reserve there is nothing left for the final answer that `final-answer` promises (CTX-36). */
function warnOfMissingReserve(what: string, policy: AgentPolicy): void {
  const { tokenBudget, completionReserveTokens, onExhaustion } = policy;
  if (tokenBudget === undefined || completionReserveTokens > 0 || onExhaustion === "fail") return;
  console.warn(
    `${what}: policy.tokenBudget is set without completionReserveTokens, so a run that uses its tokens up fails without a final answer; reserve what one answer takes, or set onExhaustion: "fail"`,
  );
}

function warnOfShortApproval(what: string, tools: readonly Tool[], policy: AgentPolicy): void {
  const asks = tools.find((tool) => tool.mayNeedApproval);
  if (asks !== undefined && durationMillis(policy.maxDuration) < SHORT_FOR_PEOPLE_MILLIS) {
    console.warn(
      `${what}: tool ${asks.name} asks for approval, and policy.maxDuration (${policy.maxDuration}) runs while a person decides; set it to hours or days`,
    );
  }
}
