// Declaring a tool: what it takes, what it does to the world, and the handler. The runtime reads `effect` to know what it may do
// with a call that was prepared and whose result was never recorded.
import type { JSONSchema7 } from "@ai-sdk/provider";
import { z } from "zod";
import type { JsonValue } from "../canonical-json.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
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

/**
 * Runs a part of a call at least once, and records its result exactly once: a later attempt at the call gets the recorded result. Names are the
 * call's own, 1 to 256 characters, each used once. Contract of `run`: returns JSON (undefined counts as null) of at most 256 KiB. What it throws
 * is thrown on, and not recorded. After the attempt was superseded `step` throws, and its caller should let that through.
 */
export type StepRunner = (
  name: string,
  run: () => JsonValue | void | Promise<JsonValue | void>,
) => Promise<JsonValue>;

/** What `reconcile` sees of a call that was dispatched and has no result. */
export interface LostCall extends ToolCallFacts {
  /** Aborts on the tool's timeout and when the run is stopped. */
  readonly signal: AbortSignal;
  /** What the handler was given under that name. */
  readonly idempotencyKey: string;
}

/** What became of a lost call: it never reached the outside and may run, it happened and this is its result, or nobody can tell. */
export const ReconcileAnswerSchema = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.literal("never-started") }),
  z.object({ outcome: z.literal("completed"), result: z.unknown() }),
  z.object({ outcome: z.literal("unknown") }),
]);
export type ReconcileAnswer = z.infer<typeof ReconcileAnswerSchema>;

/** What a handler sees. */
export interface ToolContext extends ToolCallFacts {
  /** Aborts on the tool's timeout, the run's deadline and an abort of the submission. Pass it to every `fetch`. */
  readonly signal: AbortSignal;
  /** The same on every attempt at this call: send it to services that deduplicate. */
  readonly idempotencyKey: string;
  readonly step: StepRunner;
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
  /** Of an external tool: everything that it does outside stands in `step`s, so a lost call goes on behind those that are recorded. A call that was
   * lost inside a step is an unknown outcome all the same. */
  readonly resumable?: boolean;
  /** Runs alone: no other call of its batch runs meanwhile. */
  readonly exclusive?: boolean;
  /** Default 30 seconds. */
  readonly timeout?: Duration;
  readonly needsApproval?:
    | boolean
    | ((input: z.output<Input>, call: ToolCallFacts) => boolean | Promise<boolean>);
  /** Contract: may throw (the call has then answered `failure`; `OutcomeUnknown` and `ToolUnavailable` say otherwise), should honour `signal`,
   * must return JSON or undefined. */
  readonly execute: (
    input: z.output<Input>,
    context: ToolContext,
  ) => Promise<z.input<Output>> | z.input<Output>;
  /** Of an external tool: finds out what became of a call whose result was lost, before a person is asked. Contract: changes nothing outside. One
   * that throws, or does not answer within the tool's timeout, has not answered: it is asked again, and after five such attempts in a row the run is
   * parked for a person. */
  readonly reconcile?: (
    input: z.output<Input>,
    call: LostCall,
  ) => ReconcileAnswer | Promise<ReconcileAnswer>;
}

/** One call whose arguments fit the schema. */
export interface DecodedCall {
  /** Contract: may throw; a predicate that throws counts as needing approval. */
  needsApproval(call: ToolCallFacts): boolean | Promise<boolean>;
  execute(context: ToolContext): unknown;
  /** Contract: may throw, and may answer anything. */
  reconcile(call: LostCall): unknown;
}

/** A defined tool. Its types are closed over, so that a toolkit is a plain list. */
export interface Tool {
  readonly name: string;
  readonly revision: number;
  readonly description: string;
  readonly effect: Effect;
  readonly timeoutMillis: number;
  readonly isResumable: boolean;
  readonly isExclusive: boolean;
  readonly canReconcile: boolean;
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
  "resumable",
  "exclusive",
  "timeout",
  "needsApproval",
  "execute",
  "reconcile",
] as const satisfies readonly (keyof ToolOptions<z.ZodType, z.ZodType>)[];

export const ToolNameSchema = z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, {
  message: "a letter, then up to 63 letters, digits, _ or -: what every provider accepts",
});

const HeadSchema = z.object({
  name: ToolNameSchema,
  revision: z.int().positive(),
  description: z.string().min(1).max(8_192),
  effect: EffectSchema.default("external"),
  resumable: z.boolean().default(false),
  exclusive: z.boolean().default(false),
  timeout: DurationSchema.default("30 seconds"),
  input: ZodSchemaSchema,
  output: ZodSchemaSchema.optional(),
  needsApproval: z
    .custom((value) => typeof value === "boolean" || typeof value === "function", {
      message: "true or a function",
    })
    .optional(),
  execute: z.custom((value) => typeof value === "function", { message: "a function" }),
  reconcile: z.custom((value) => typeof value === "function", { message: "a function" }).optional(),
});

/** Declares a tool. Throws `InvalidDefinition` that names the wrong field. */
export function defineTool<Input extends z.ZodType, Output extends z.ZodType = z.ZodUnknown>(
  options: ToolOptions<Input, Output>,
): Tool {
  const what = `tool ${JSON.stringify(options.name)}`;
  refuseUnknownFields(what, options, FIELDS);
  const head = validateDefinition(what, HeadSchema, options);
  const { needsApproval, execute, reconcile } = options;
  refuseForRepeatable(what, head);
  return Object.freeze({
    name: head.name,
    revision: head.revision,
    description: head.description,
    effect: head.effect,
    timeoutMillis: durationMillis(head.timeout),
    isResumable: head.resumable,
    isExclusive: head.exclusive,
    canReconcile: reconcile !== undefined,
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
          reconcile: (call) => reconcile?.(input, call),
        },
      };
    },
    decodeOutput: (output: unknown) =>
      options.output === undefined
        ? { ok: true as const, value: output }
        : decodeWith(options.output, output),
  });
}

/** A call that may simply run again is neither resumed nor looked for. */
function refuseForRepeatable(
  what: string,
  { effect, resumable, reconcile }: z.infer<typeof HeadSchema>,
): void {
  if (effect === "external") return;
  for (const [field, isSet] of [
    ["resumable", resumable],
    ["reconcile", reconcile !== undefined],
  ] as const) {
    if (!isSet) continue;
    throw new HoldfastError(
      "InvalidDefinition",
      `${what}: ${field}: only of an external tool; calls of effect ${effect} run again`,
    );
  }
}
