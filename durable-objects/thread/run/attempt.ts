// One attempt at a run: fold → decide → perform → commit, until it settles, waits or yields. Recovery is not a mode: an attempt always
// starts from the log, and a crash is a longer pause between two steps.
import { unreachable } from "../../../shared/assert.ts";
import { toIsoInstant } from "../../../shared/time.ts";
import { priceIdOf } from "../../model/prices.ts";
import type { EventBudget } from "../../scheduler/native-lanes.ts";
import type { ThreadCore } from "../thread-core.ts";
import { decideStep, type RunWait, type StepFacts } from "./decide-step.ts";
import type { LiveRun } from "./live-run.ts";
import { joinInputs } from "./join-inputs.ts";
import { estimateModelRequest } from "./model-request.ts";
import { reconcileCalls } from "./reconcile-calls.ts";
import { runModelTurn } from "./model-turn.ts";
import { settleWith } from "./settle.ts";
import { runToolBatch } from "./tool-batch.ts";

export type AttemptEnd = "settled" | "waiting" | "yielded" | "abandoned";

export async function runAttempt(
  core: ThreadCore,
  live: LiveRun,
  budget: EventBudget,
): Promise<AttemptEnd> {
  const clearDeadline = startDeadline(core, live, budget);
  try {
    return await runSteps(core, live, budget);
  } finally {
    clearDeadline();
    live.end();
    if (core.live === live) core.live = null;
  }
}

async function runSteps(core: ThreadCore, live: LiveRun, budget: EventBudget): Promise<AttemptEnd> {
  for (;;) {
    if (live.stopReason === "ceiling" || live.stopReason === "deleted") return "abandoned";
    if (live.state.settlement !== null) return "settled";
    const step = decideStep(live.state, stepFacts(core, live));
    switch (step.kind) {
      case "settle":
        settleWith(core, live, step.ending);
        return "settled";
      case "wait":
        park(core, live, step.wait);
        return "waiting";
      case "mark-unknown":
        await reconcileCalls(core, live, step.turn, step.calls);
        break;
      case "note-interruption": {
        const { turn, supersededEpoch } = step;
        const { submissionId, runId } = live.state;
        const payload = { supersededEpoch };
        core.commitAsAttempt(live, "interruption", [
          { type: "ModelInterrupted", submissionId, runId, turn, payload },
        ]);
        break;
      }
      case "call-model":
        // A turn boundary: everything before is committed, and another event takes it up from here.
        if (core.clock.now() >= budget.yieldAt) {
          core.commitAsAttempt(live, "yield", [], () => {
            core.row.markYielded(live.epoch);
            core.mutated("WorkerStop", live.state.submissionId, live.epoch);
          });
          return "yielded";
        }
        await runModelTurn(core, live, step, () => stepFacts(core, live));
        break;
      case "join-inputs":
        joinInputs(core, live);
        break;
      case "run-tools":
        await runToolBatch(core, live, step.turn);
        break;
      default:
        unreachable(step);
    }
  }
}

function stepFacts(core: ThreadCore, live: LiveRun): StepFacts {
  const { binding, policy } = live;
  const deadlineAt = live.state.start?.deadlineAt ?? 0;
  const now = core.clock.now();
  return {
    ...binding.output,
    policy,
    model: {
      id: priceIdOf(binding.modelIdentity),
      isPriced: binding.price !== null,
      runsProviderTools: binding.providerTools.length > 0,
    },
    hasJoiners: live.hasJoiners,
    estimateCallTokens: (state) => estimateModelRequest(live, state),
    // The deadline's timer and the clock may differ by a tick; once the timer fired, the deadline has passed.
    now: live.stopReason === "deadline" ? Math.max(now, deadlineAt) : now,
    supersededEpoch: live.supersededEpoch,
  };
}

/** The run's deadline stops whatever is in flight, where it comes within this event. */
function startDeadline(core: ThreadCore, live: LiveRun, budget: EventBudget): () => void {
  const deadlineAt = live.state.start?.deadlineAt ?? budget.ceilingAt;
  if (deadlineAt > budget.ceilingAt) return () => undefined;
  const timer = setTimeout(() => live.stop("deadline"), Math.max(0, deadlineAt - core.clock.now()));
  return () => clearTimeout(timer);
}

/** Parks the run with its reason. Whatever moves it later finds everything in the log. */
function park(core: ThreadCore, live: LiveRun, wait: RunWait): void {
  const deadline = wait.dueAt === null ? null : toIsoInstant(wait.dueAt);
  core.commitAsAttempt(live, "park", [], () => {
    core.mutated("WorkerStop", live.state.submissionId, live.epoch);
    core.ledger.setWait(
      live.queueSequence,
      {
        reason: wait.reason,
        since: toIsoInstant(core.clock.now()),
        deadline,
        ...(wait.operationIds.length === 0 ? {} : { operationIds: [...wait.operationIds] }),
      },
      live.first,
    );
  });
}
