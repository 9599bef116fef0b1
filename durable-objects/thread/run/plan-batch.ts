// What becomes of each open call of a turn before anything of it runs: names resolve, arguments decode. A faulty call is a result that
// the model reads, not a failure of the run, and the valid calls of the batch still run (RUN-03). Pure.
import { renderFaults } from "../../../shared/define/decoded.ts";
import type { DecodedCall, Tool } from "../../../shared/define/tool.ts";
import type { ToolOutput } from "../../../shared/wire/messages.ts";
import type { ToolOutcome } from "../../../shared/wire/records.ts";
import type { OutputContract } from "../../agents/output-contract.ts";
import { readAnswer } from "./decide-output.ts";
import { isLostOutside, type CallState, type TurnState } from "./run-state.ts";

/** A call that gets its result without a handler. */
export interface RejectedCall {
  readonly call: CallState;
  readonly outcome: Extract<ToolOutcome, "invalid" | "unavailable" | "denied">;
  readonly output: ToolOutput;
}

/** A call whose handler may run. */
export interface CandidateCall {
  readonly call: CallState;
  readonly tool: Tool;
  readonly decoded: DecodedCall;
}

export interface BatchPlan {
  /** Dispatched by a lost attempt, and not repeatable now: it may have happened, and nothing can find out by running it. */
  readonly lost: readonly CallState[];
  readonly rejected: readonly RejectedCall[];
  readonly candidates: readonly CandidateCall[];
}

export interface BatchFacts {
  readonly tools: ReadonlyMap<string, Tool>;
  /** The run began under another set of tools: a name that is gone was offered once, and is unavailable rather than wrong (TOOL-11). */
  readonly toolsChanged: boolean;
  readonly contract: OutputContract;
  /** Calls whose handlers this attempt gave up on, and that may still run: entering them again would run them twice at once (TOOL-08). */
  readonly unanswered: ReadonlyMap<string, unknown>;
}

export function planBatch(turn: TurnState, facts: BatchFacts): BatchPlan {
  const lost: CallState[] = [];
  const rejected: RejectedCall[] = [];
  const candidates: CandidateCall[] = [];
  for (const call of turn.calls) {
    if (call.phase === "settled") continue;
    const planned = planCall(turn, call, facts);
    const isRepeatable =
      "tool" in planned &&
      mayEnterAgain(planned.tool, call) &&
      !facts.unanswered.has(call.operationId);
    if (call.phase === "prepared" && !isRepeatable) lost.push(call);
    else if ("outcome" in planned) rejected.push(planned);
    else candidates.push(planned);
  }
  return { lost, rejected, candidates };
}

/** A call that was dispatched and lost: what the tool of this deployment says counts too. */
function mayEnterAgain({ effect, isResumable }: Tool, call: CallState): boolean {
  return effect !== "external" || (isResumable && !isLostOutside(call));
}

function planCall(
  turn: TurnState,
  call: CallState,
  facts: BatchFacts,
): RejectedCall | CandidateCall {
  if (turn.finishReason === "length") {
    return invalid(call, "The response was cut by its length limit; none of its calls ran.");
  }
  if (call.fault === "malformed-arguments")
    return invalid(call, "The arguments are not a JSON object.");
  if (call.fault === "repeated-call-id") {
    return invalid(call, "An earlier call of this response has the same id; this one did not run.");
  }
  if (call.phase === "denied") {
    const reason = call.decisions.at(-1)?.reason;
    return {
      call,
      outcome: "denied",
      output: { type: "execution-denied", ...(reason !== undefined && { reason }) },
    };
  }
  if (call.toolName === facts.contract.completionTool) {
    return invalid(call, explainCompletion(turn, facts.contract));
  }
  const tool = facts.tools.get(call.toolName);
  if (tool === undefined) {
    return facts.toolsChanged
      ? {
          call,
          outcome: "unavailable",
          output: {
            type: "error-text",
            value: `The tool ${call.toolName} is not available any more.`,
          },
        }
      : invalid(call, `There is no such tool. The tools are: ${namesOf(facts).join(", ")}.`);
  }
  const decoded = tool.decode(call.args);
  return decoded.ok
    ? { call, tool, decoded: decoded.value }
    : invalid(call, `The arguments do not fit the schema: ${renderFaults(decoded.faults)}`);
}

function namesOf({ tools, contract }: BatchFacts): string[] {
  const { completionTool } = contract;
  return [...tools.keys(), ...(completionTool === null ? [] : [completionTool])];
}

/** A completion call that reaches a batch did not complete the run. */
function explainCompletion(turn: TurnState, contract: OutputContract): string {
  const answer = readAnswer(turn, contract);
  if (answer.kind === "output") {
    return "New input came meanwhile, so the result was not taken. Consider it, and call the tool again with the whole result.";
  }
  return answer.kind === "undecodable"
    ? `The result does not fit: ${answer.faults}. Call the tool again with the whole result.`
    : "Call this tool alone, once the results of all other calls are there.";
}

function invalid(call: CallState, value: string): RejectedCall {
  return { call, outcome: "invalid", output: { type: "error-text", value } };
}
