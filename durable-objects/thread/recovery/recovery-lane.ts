// The lane that tells the host of recovery faults, in their order (REC-05).
import { z } from "zod";
import { RECOVERY_EVENTS_TIMEOUT_MILLIS } from "../../../shared/limits.ts";
import { RecoveryEventSchema, type RecoveryEvent } from "../../../shared/wire/fault.ts";
import { RECOVERY_LANE, type RuntimeLane } from "../../scheduler/lane.ts";

/** Contract: at least once, in order: a repeat has the same `sequence`. Resolve only once the event is applied durably, or kept; a throw or a
 * rejection has it delivered again. It is the host's own: who may see what of it is for the host to decide. */
export type OnRecoveryEvent = (event: RecoveryEvent) => void | Promise<void>;

/** Without a handler there is no lane, and transitions are told to nobody. */
export function recoveryLanes({
  onRecoveryEvent,
}: {
  readonly onRecoveryEvent?: OnRecoveryEvent | undefined;
}): RuntimeLane[] {
  if (onRecoveryEvent === undefined) return [];
  return [
    {
      id: RECOVERY_LANE,
      dispatchTimeoutMillis: RECOVERY_EVENTS_TIMEOUT_MILLIS,
      run: async ({ posted, signal }) => {
        for (const event of z.array(RecoveryEventSchema).parse(posted)) {
          signal.throwIfAborted();
          await onRecoveryEvent(event);
        }
        return null;
      },
    },
  ];
}
