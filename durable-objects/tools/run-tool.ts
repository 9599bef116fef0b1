// Runs one handler under its timeout and the run's signal. Never throws. What the outcome means for recovery depends on the tool's
// effect: a call that may have happened outside and whose answer is not known is `unknown`, never retried and never invented.
import type { DecodedCall, Tool, ToolContext } from "../../shared/define/tool.ts";
import { OutcomeUnknown } from "../../shared/define/tool-outcome.ts";
import type { ToolOutcome } from "../../shared/wire/records.ts";
import type { ToolOutput } from "../../shared/wire/messages.ts";
import { raceTimeout, TIMEOUT } from "../platform/deadline.ts";
import { encodeReturned, encodeThrown } from "./tool-output.ts";

export type ToolRun =
  | {
      readonly kind: "settled";
      readonly outcome: Extract<ToolOutcome, "success" | "failure" | "timeout" | "unavailable">;
      readonly output: ToolOutput;
    }
  /** An external call that exceeded its timeout, or whose handler says that the answer was lost (TOOL-08). */
  | { readonly kind: "unknown"; readonly reason: "timeout" | "answer-lost" }
  /** The run's own signal ended the call; what that means is decided for the whole run. */
  | { readonly kind: "stopped" };

export interface ToolCallPorts {
  readonly tool: Tool;
  readonly decoded: DecodedCall;
  readonly context: Omit<ToolContext, "signal">;
  readonly signal: AbortSignal;
  readonly maxResultBytes: number;
}

export async function runTool(ports: ToolCallPorts): Promise<ToolRun> {
  const { tool, decoded, context, maxResultBytes } = ports;
  const raced = await raceTimeout(tool.timeoutMillis, ports.signal, (signal) =>
    decoded.execute({ ...context, signal }),
  );
  if (raced.kind === "done") {
    return { kind: "settled", ...encodeReturned(tool, raced.value, maxResultBytes) };
  }
  if (raced.kind === "threw") {
    return tool.effect === "external" && OutcomeUnknown.isInstance(raced.error)
      ? { kind: "unknown", reason: "answer-lost" }
      : { kind: "settled", ...encodeThrown(raced.error, maxResultBytes) };
  }
  if (raced.reason !== TIMEOUT) return { kind: "stopped" };
  return tool.effect === "external" ? { kind: "unknown", reason: "timeout" } : timedOut(tool);
}

function timedOut(tool: Tool): ToolRun {
  return {
    kind: "settled",
    outcome: "timeout",
    output: {
      type: "error-text",
      value: `The tool did not answer within ${tool.timeoutMillis} ms.`,
    },
  };
}
