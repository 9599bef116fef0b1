// What an agent takes for its output.
import type { JsonValue } from "../../shared/canonical-json.ts";
import type { Decoded } from "../../shared/define/decoded.ts";

export interface OutputContract {
  readonly decodeOutput: (text: string) => Decoded<JsonValue>;
  readonly decodeCompletion: (args: JsonValue) => Decoded<JsonValue>;
  /** The agent has an output schema: a cut answer does not fit it, whatever is left of it. */
  readonly hasOutputSchema: boolean;
  readonly completionTool: string | null;
}
