// Steps of a handler: run at least once, recorded exactly once. A step whose result is on record returns it without running again, in whichever
// attempt asks (TOOL-03).
import { findJsonFault, type JsonValue } from "../../../shared/canonical-json.ts";
import { utf8Length } from "../../../shared/bytes.ts";
import type { StepRunner } from "../../../shared/define/tool.ts";
import { MAX_STEP_NAME_CHARACTERS, MAX_TOOL_RESULT_BYTES } from "../../../shared/limits.ts";
import type { ThreadCore } from "../thread-core.ts";
import type { LiveRun } from "./live-run.ts";
import type { CandidateCall } from "./plan-batch.ts";
import { stepDraft } from "./tool-drafts.ts";

export interface CallSteps {
  readonly step: StepRunner;
  /** Throws what a step could not be recorded for: whatever the handler made of it, the call has no answer that may be kept. */
  readonly expectRecorded: () => void;
}

/**
 * The `step` of one call's context. What it throws is the author's mistake, or the commit's refusal once the attempt was superseded; only a
 * success is recorded. Of a resumable tool the start is on record too: a step that began and has no result may have happened.
 */
export function stepRunner(
  core: ThreadCore,
  live: LiveRun,
  turn: number,
  { call, tool }: CandidateCall,
): CallSteps {
  const used = new Set<string>();
  const failures: unknown[] = [];
  const commit = (name: string, output: JsonValue | undefined): void => {
    try {
      core.commitAsAttempt(live, "step", [stepDraft(live.state, turn, call, name, output)]);
    } catch (error) {
      failures.push(error);
      throw error;
    }
  };
  const step: StepRunner = async (name, run) => {
    if (typeof name !== "string" || name === "" || name.length > MAX_STEP_NAME_CHARACTERS) {
      throw new TypeError(`a step's name has 1 to ${MAX_STEP_NAME_CHARACTERS} characters`);
    }
    if (used.has(name)) throw new TypeError(`two steps of one call are named ${name}`);
    used.add(name);
    const known = call.steps.find((step) => step.name === name);
    if (known?.output !== undefined) return known.output;
    if (tool.isResumable) commit(name, undefined);
    const output: unknown = (await run()) ?? null;
    const json = toStored(name, output);
    commit(name, json);
    return json;
  };
  return {
    step,
    expectRecorded: () => {
      if (failures.length > 0) throw failures[0];
    },
  };
}

function toStored(name: string, output: unknown): JsonValue {
  const fault = findJsonFault(output);
  if (fault !== null) throw new TypeError(`step ${name} returned what is not JSON: ${fault}`);
  const text = JSON.stringify(output);
  if (utf8Length(text) > MAX_TOOL_RESULT_BYTES) {
    throw new RangeError(`step ${name} returned more than ${MAX_TOOL_RESULT_BYTES} bytes`);
  }
  const copy: JsonValue = JSON.parse(text);
  return copy;
}
