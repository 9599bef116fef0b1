// Declaring a tool: what it takes, what it does to the world, and the handler. The runtime reads `effect` to know what it may do
// with a call that was prepared and whose result was never recorded.
import type { JSONSchema7 } from "@ai-sdk/provider";
import { z } from "zod";
import type { JsonValue } from "../canonical-json.ts";
import { EffectSchema, type Effect } from "../wire/records.ts";
import { decodeWith, type Decoded } from "./decoded.ts";
import { durationMillis, DurationSchema, type Duration } from "./duration.ts";
import { objectSchemaOf, ZodSchemaSchema } from "./json-schema.ts";
import type { Environment, Services } from "./environment.ts";
import { refuseUnknownFields, validateDefinition } from "./validate-definition.ts";

/** Writes one structured log line with the call's identities. `message` and `fields` are the author's: keep secrets out of them. */
export interface ToolLog {
  info(message: string, fields?: Readonly<Record<string, JsonValue>>): void;
  warn(message: string, fields?: Readonly<Record<string, JsonValue>>): void;
  error(message: string, fields?: Readonly<Record<string, JsonValue>>): void;
}

/** What approval predicates see. */
export interface ToolCallFacts {
  readonly principal: string;
  readonly threadId: string;
  readonly runId: string;
  readonly turn: number;
  readonly toolCallId: string;
  /** Of the submission, as the agent's schema decoded it; null without (THR-11). */
  readonly metadata: JsonValue;
  /** The Worker's bindings and variables. */
  readonly env: Environment;
  /** What `holdfast({ services })` made for this object. */
  readonly services: Services;
}

/** What a handler sees. */
export interface ToolContext extends ToolCallFacts {
  /** Aborts on the tool's timeout, the run's deadline and an abort of the submission. Pass it to every `fetch`. */
  readonly signal: AbortSignal;
  /** The same on every attempt at this call: send it to services that deduplicate. */
  readonly idempotencyKey: string;
  /** Shows a provisional value (JSON, at most 4 KiB) in `explain` while the call is in flight. It is never stored. */
  readonly progress: (value: JsonValue) => void;
  readonly log: ToolLog;
}

export interface ToolOptions<Input extends z.ZodType, Output extends z.ZodType> {
  readonly name: string;
  /** Raise it with every change of behaviour: it is part of the tools digest. */
  readonly revision: number;
  readonly description: string;
  readonly input: Input;
  /** Checked before the result is recorded; a result that it refuses is a failed call. */
  readonly output?: Output;
  /** `read`: safe to repeat. `idempotent`: repeated with the same `idempotencyKey`. `external` (default): never repeated; a call whose
   * result was lost becomes an unknown outcome. */
  readonly effect?: Effect;
  /** Default 30 seconds. */
  readonly timeout?: Duration;
  readonly needsApproval?:
    | boolean
    | ((input: z.output<Input>, call: ToolCallFacts) => boolean | Promise<boolean>);
  /** Contract: may throw (the call has then answered `failure`, but for `OutcomeUnknown` and `ToolUnavailable`), should honour `signal`, must return JSON or undefined. */
  readonly execute: (
    input: z.output<Input>,
    context: ToolContext,
  ) => Promise<z.input<Output>> | z.input<Output>;
}

/** One call whose arguments fit the schema. */
export interface DecodedCall {
  /** Contract: may throw; a predicate that throws counts as needing approval. */
  needsApproval(call: ToolCallFacts): boolean | Promise<boolean>;
  execute(context: ToolContext): unknown;
}

/** A defined tool. Its types are closed over, so that a toolkit is a plain list. */
export interface Tool {
  readonly name: string;
  readonly revision: number;
  readonly description: string;
  readonly effect: Effect;
  readonly timeoutMillis: number;
  readonly mayNeedApproval: boolean;
  readonly inputJsonSchema: JSONSchema7;
  decode(args: JsonValue): Decoded<DecodedCall>;
  decodeOutput(output: unknown): Decoded<unknown>;
}

const FIELDS = [
  "name",
  "revision",
  "description",
  "input",
  "output",
  "effect",
  "timeout",
  "needsApproval",
  "execute",
] as const satisfies readonly (keyof ToolOptions<z.ZodType, z.ZodType>)[];

export const ToolNameSchema = z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, {
  message: "a letter, then up to 63 letters, digits, _ or -: what every provider accepts",
});

const HeadSchema = z.object({
  name: ToolNameSchema,
  revision: z.int().positive(),
  description: z.string().min(1).max(8_192),
  effect: EffectSchema.default("external"),
  timeout: DurationSchema.default("30 seconds"),
  input: ZodSchemaSchema,
  output: ZodSchemaSchema.optional(),
  needsApproval: z
    .custom((value) => typeof value === "boolean" || typeof value === "function", {
      message: "true or a function",
    })
    .optional(),
  execute: z.custom((value) => typeof value === "function", { message: "a function" }),
});

/** Declares a tool. Throws `InvalidDefinition` that names the wrong field. */
export function defineTool<Input extends z.ZodType, Output extends z.ZodType = z.ZodUnknown>(
  options: ToolOptions<Input, Output>,
): Tool {
  const what = `tool ${JSON.stringify(options.name)}`;
  refuseUnknownFields(what, options, FIELDS);
  const head = validateDefinition(what, HeadSchema, options);
  const { needsApproval, execute } = options;
  return Object.freeze({
    name: head.name,
    revision: head.revision,
    description: head.description,
    effect: head.effect,
    timeoutMillis: durationMillis(head.timeout),
    mayNeedApproval: needsApproval !== undefined && needsApproval !== false,
    inputJsonSchema: objectSchemaOf(options.input, `${what}: input`),
    decode(args: JsonValue): Decoded<DecodedCall> {
      const decoded = decodeWith(options.input, args);
      if (!decoded.ok) return decoded;
      const input = decoded.value;
      return {
        ok: true,
        value: {
          needsApproval: (call) =>
            typeof needsApproval === "function"
              ? needsApproval(input, call)
              : needsApproval === true,
          execute: (context) => execute(input, context),
        },
      };
    },
    decodeOutput: (output: unknown) =>
      options.output === undefined
        ? { ok: true as const, value: output }
        : decodeWith(options.output, output),
  });
}
