// The host's say over which definition runs a submission, where several of one id are registered (THR-08).
import type { JsonValue } from "../../shared/canonical-json.ts";
import type { Agent } from "../../shared/define/agent.ts";
import { errorName, logEvent } from "../platform/log.ts";

/** What a selection may look at. */
export interface SelectableSubmission {
  readonly threadId: string;
  /** Null while it is being admitted. */
  readonly submissionId: string | null;
  readonly agentId: string;
  readonly principal: string;
  /** As sent while it is being admitted, as decoded and stored ever after. */
  readonly input: JsonValue;
  readonly metadata: JsonValue;
}

/**
 * Contract of `select`: synchronous, a function of its argument and of `key` alone; it returns one of the deployment's own definitions of that
 * agent id, or `undefined` for the only one. It is asked at admission, and again by every attempt, recovery included. What it returns neither
 * skips the decoding of input nor any authorization. Anything else, a throw included, is no binding: the work waits.
 */
export interface BindingSelection {
  /** Change it with every change of what `select` answers: work that waits for a binding is looked at again then. */
  readonly key: string;
  readonly select: (submission: SelectableSubmission) => Agent | undefined;
}

/** What the host selects; undefined where it leaves the choice, null where what it said is no definition. */
export function askSelection(
  { select }: BindingSelection,
  submission: SelectableSubmission,
  registered: readonly Agent[],
): Agent | undefined | null {
  try {
    const selected = select(submission);
    if (selected === undefined || registered.includes(selected)) return selected;
  } catch (error) {
    const { threadId, agentId } = submission;
    logEvent("error", "select-binding-failed", { threadId, agentId, error: errorName(error) });
  }
  return null;
}
