// How a model is told what its output has to look like (RUN-16). Pure.
import type { JSONSchema7 } from "@ai-sdk/provider";
import type { Agent } from "../../shared/define/agent.ts";
import type { ModelIdentity } from "../../shared/wire/agent.ts";
import { closeSchema } from "./close-schema.ts";
import { providerOf } from "./provider-of.ts";

export interface OutputFormat {
  readonly type: "json";
  readonly schema: JSONSchema7;
  readonly name: string;
}

/** Providers whose client holds a model to a JSON Schema while it streams: natively, or with a tool of its own for models that cannot.
 * Workers AI does not stream in its JSON mode, and others behind a gateway are not known. */
const NATIVE = new Set(["openai", "anthropic", "google", "openai-compatible", "local"]);

/** Providers take an object alone; the embedded model answers with a sample of anything. */
function isLocal(model: ModelIdentity): boolean {
  return providerOf(model) === "local";
}

/** A schema where the model takes one, else the same in words; neither where a completion tool takes the output. */
export function sayOutput(
  { outputJsonSchema, completionTool }: Agent,
  model: ModelIdentity,
): { readonly outputFormat: OutputFormat | null; readonly outputInstruction: string } {
  if (outputJsonSchema === null) return { outputFormat: null, outputInstruction: "" };
  if (completionTool !== null) {
    const outputInstruction = `Give the final result by calling the tool ${completionTool}, alone, when the work is done.`;
    return { outputFormat: null, outputInstruction };
  }
  const schema = closeSchema(outputJsonSchema);
  const isNative = NATIVE.has(providerOf(model)) && (schema.type === "object" || isLocal(model));
  return isNative
    ? { outputFormat: { type: "json", schema, name: "output" }, outputInstruction: "" }
    : {
        outputFormat: null,
        outputInstruction: `Answer with JSON alone, without a code fence, that fits this JSON Schema:\n${JSON.stringify(schema)}`,
      };
}
