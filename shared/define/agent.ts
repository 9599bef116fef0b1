// Declaring an agent: its schemas, instructions, model, tools and policy, in one file of the author's.
import type { JSONSchema7, LanguageModelV4 } from "@ai-sdk/provider";
import { z } from "zod";
import type { JsonValue } from "../canonical-json.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { PrintableIdSchema } from "../ids.ts";
import { UserMessageSchema, type UserMessage } from "../wire/messages.ts";
import { AgentPolicySchema, type AgentPolicy, type AgentPolicyInput } from "../wire/policy.ts";
import { decodeToJson, type Decoded } from "./decoded.ts";
import { durationMillis } from "./duration.ts";
import { jsonSchemaOf, ZodSchemaSchema } from "./json-schema.ts";
import type { Environment } from "./environment.ts";
import type { Tool } from "./tool.ts";
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
  /** Evaluated once, when the run starts. Contract: synchronous, a function of the input alone. */
  readonly instructions: string | ((input: z.output<Input>) => string);
  /** What the model is asked; without it, the input as JSON. Evaluated once, like `instructions`. */
  readonly inputPrompt?: (input: z.output<Input>) => string | UserMessage[];
  readonly model: string | ((env: Environment) => ModelChoice);
  readonly tools?: Readonly<Record<string, Tool>>;
  readonly policy?: AgentPolicyInput;
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
  readonly policy: AgentPolicy;
  /** The text of constant instructions; null where they are a function, which contributes only the revision to the digest. */
  readonly constantInstructions: string | null;
  readonly inputJsonSchema: JSONSchema7;
  readonly outputJsonSchema: JSONSchema7 | null;
  decodeInput(value: unknown): Decoded<JsonValue>;
  /** `input` is what `decodeInput` returned and the log kept. May throw what the author's functions throw. */
  open(input: JsonValue): RunOpening;
  decodeOutput(text: string): Decoded<JsonValue>;
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
  "instructions",
  "inputPrompt",
  "model",
  "tools",
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

const HeadSchema = z.object({
  id: PrintableIdSchema,
  revision: z.int().positive(),
  description: z.string().min(1).max(8_192),
  input: ZodSchemaSchema,
  output: ZodSchemaSchema.optional(),
  instructions: z.union([z.string(), FunctionSchema], { message: "a text or a function" }),
  inputPrompt: FunctionSchema.optional(),
  model: z.union([z.string().min(1), FunctionSchema], { message: "a model id or a function" }),
  tools: z.record(z.string(), ToolSchema).optional(),
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
  const { revision, description } = validateDefinition(what, HeadSchema, options);
  const policy = validateDefinition(what, z.object({ policy: AgentPolicySchema }), {
    policy: options.policy ?? {},
  }).policy;
  const tools = Object.values(options.tools ?? {});
  refuseDuplicateNames(what, tools);
  warnOfShortApproval(what, tools, policy);
  const { instructions, inputPrompt, output } = options;
  // What the input schema decoded was stored as it is: this only gives the stored value its type back.
  const stored = z.custom<z.output<Input>>();
  return Object.freeze({
    id: options.id,
    revision,
    description,
    model: options.model,
    tools,
    policy,
    constantInstructions: typeof instructions === "string" ? instructions : null,
    inputJsonSchema: jsonSchemaOf(options.input, `${what}: input`),
    outputJsonSchema: output === undefined ? null : jsonSchemaOf(output, `${what}: output`),
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
  });
}

function toUserMessages(prompt: string | UserMessage[]): UserMessage[] {
  return typeof prompt === "string"
    ? [{ role: "user", content: [{ type: "text", text: prompt }] }]
    : z.array(UserMessageSchema).min(1).parse(prompt);
}

function decodeJsonText(schema: z.ZodType, text: string): Decoded<JsonValue> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, faults: [{ pointer: "", message: "the text is not JSON" }] };
  }
  return decodeToJson(schema, value);
}

function refuseDuplicateNames(what: string, tools: readonly Tool[]): void {
  const names = new Set<string>();
  for (const tool of tools) {
    if (names.has(tool.name)) {
      throw new HoldfastError("InvalidDefinition", `${what}: tools: two are named ${tool.name}`);
    }
    names.add(tool.name);
  }
}

function warnOfShortApproval(what: string, tools: readonly Tool[], policy: AgentPolicy): void {
  const asks = tools.find((tool) => tool.mayNeedApproval);
  if (asks !== undefined && durationMillis(policy.maxDuration) < SHORT_FOR_PEOPLE_MILLIS) {
    console.warn(
      `${what}: tool ${asks.name} asks for approval, and policy.maxDuration (${policy.maxDuration}) runs while a person decides; set it to hours or days`,
    );
  }
}
