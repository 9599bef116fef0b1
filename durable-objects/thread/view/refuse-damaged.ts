// What a caller hears when the log behind an answer is damaged: where, and what to ask next, in the place of a failure without a word.
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import type { ThreadOperation } from "../../../shared/wire/requests.ts";
import { logEvent } from "../../platform/log.ts";
import { LogCorrupt } from "../journal/record-codec.ts";

/** What `answer` answers; a damaged log is a `Defect` that says so. Its words are ours and hold no content. */
export async function refuseDamaged<Value>(
  threadId: string,
  operation: ThreadOperation,
  answer: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof LogCorrupt)) throw error;
    logEvent("error", "log-damaged", { threadId, operation, damage: error.message });
    throw new HoldfastError(
      "Defect",
      `The log of this thread is damaged: ${error.message}. GET /v1/threads/{thread}/verify names the first bad record.`,
      { fields: { reason: "log-damaged" } },
    );
  }
}
