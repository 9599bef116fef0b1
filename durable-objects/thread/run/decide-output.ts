// Whether a response is the run's output: a text that decodes, or a lone call of the completion tool whose arguments do (RUN-04, RUN-16).
// Pure.
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { utf8Length } from "../../../shared/bytes.ts";
import { renderFaults } from "../../../shared/define/decoded.ts";
import { MAX_CONTENT_BYTES } from "../../../shared/limits.ts";
import type { OutputContract } from "../../agents/output-contract.ts";
import type { CallState, RunState, TurnState } from "./run-state.ts";

/** What a model needs to find its mistake, and no more. */
const MAX_FAULTS_CHARACTERS = 2_000;

export type Answer =
  | { readonly kind: "output"; readonly output: JsonValue; readonly call: CallState | null }
  /** `faults` is for the model: its words may repeat the model's own. */
  | { readonly kind: "undecodable"; readonly faults: string }
  /** The response asks for tools first. */
  | { readonly kind: "none" };

export function readAnswer(turn: TurnState, contract: OutputContract): Answer {
  const call = completionCall(turn, contract.completionTool);
  if (call === null && turn.calls.length > 0) return { kind: "none" };
  if (turn.finishReason === "length" && (call !== null || contract.hasOutputSchema)) {
    return { kind: "undecodable", faults: "it was cut by its length limit; be shorter" };
  }
  if (call?.fault === "malformed-arguments") {
    return { kind: "undecodable", faults: "the arguments are not a JSON object" };
  }
  const decoded =
    call === null ? contract.decodeOutput(textOf(turn)) : contract.decodeCompletion(call.args);
  if (!decoded.ok) {
    const faults = renderFaults(decoded.faults).slice(0, MAX_FAULTS_CHARACTERS);
    return { kind: "undecodable", faults };
  }
  return utf8Length(JSON.stringify(decoded.value)) > MAX_CONTENT_BYTES
    ? { kind: "undecodable", faults: "it is larger than an output can be" }
    : { kind: "output", output: decoded.value, call };
}

/** A completion call counts where it stands alone: beside others it cannot know their results. */
export function completionCall(turn: TurnState, completionTool: string | null): CallState | null {
  const [call, ...others] = turn.calls;
  if (call === undefined || others.length > 0 || call.toolName !== completionTool) return null;
  return call;
}

/** The response is the model's last word, or would be. A call that went any way of a tool's, under a deployment in which its tool was one, is
 * that tool's; a model that paused goes on. */
export function isAnswer(turn: TurnState, completionTool: string | null): boolean {
  if (turn.finishReason === "paused") return false;
  if (turn.calls.length === 0) return true;
  return completionCall(turn, completionTool)?.phase === "declared";
}

/** There is one repair turn per run: an answer that was followed by another turn was not the last word, unless input joined behind it. */
export function hadRepairTurn(state: RunState, completionTool: string | null): boolean {
  return state.turns
    .slice(0, -1)
    .filter(
      ({ turn, outputFaults }) =>
        outputFaults !== null || !state.joined.some((joined) => joined.afterTurn === turn),
    )
    .some(
      (turn) =>
        (turn.calls.length === 0 && turn.finishReason !== "paused") ||
        completionCall(turn, completionTool) !== null,
    );
}

function textOf(turn: TurnState): string {
  return turn.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
