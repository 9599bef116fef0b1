// What leads to a crash point that a random walk seldom passes: the commands before it, and the one that passes it. Pure.
import type { Failpoint } from "../../shared/failpoints.ts";
import type { OnBusy } from "../../shared/wire/submission.ts";
import type { Command } from "./commands.ts";
import type { ScriptName } from "./scripts.ts";

/** Before the crash is armed, and after. */
export interface Lead {
  readonly before: readonly Command[];
  readonly after: readonly Command[];
}

function submit(script: ScriptName, key = 0, onBusy: OnBusy = "enqueue"): Command {
  return { kind: "submit", key, script, onBusy, reply: "kept" };
}

function due(times = 1): Command {
  return { kind: "alarm", when: "due", times };
}

/** An external call that was in flight when its object died. */
const LOST_CALL: readonly Command[] = [submit("slow-act"), { kind: "crash" }];

const OUTAGE: readonly Command[] = [{ kind: "outage", is: "begins" }, submit("acts")];

/** A run that waits for approval, and whose agent the next deployment does not have. */
const GONE: readonly Command[] = [submit("asks"), { kind: "deploy", agent: "gone" }];

const APPROVE: Command = { kind: "decide-all", approval: "approve" };

const NONE: Lead = { before: [], after: [] };

/** By what stands before the colon. */
const LEADS: Readonly<Record<string, Lead>> = {
  "model-failure": {
    before: [submit("model-down"), { kind: "view", submission: 0 }],
    after: [due()],
  },
  join: {
    before: [submit("slow-read"), submit("slow-model", 1, "join")],
    // The host then does as the joined input says, and waits at its gate.
    after: [{ kind: "open-gate" }, due(), { kind: "view", submission: 1 }],
  },
  interruption: { before: [submit("slow-model"), { kind: "crash" }], after: [due()] },
  unknown: { before: LOST_CALL, after: [due()] },
  "approval-request": { before: [], after: [submit("asks")] },
  park: { before: LOST_CALL, after: [due()] },
  unbound: { before: GONE, after: [APPROVE] },
  expire: { before: [...GONE, APPROVE], after: [due()] },
  yield: { before: [], after: [submit("takes-time")] },
  step: { before: [], after: [submit("steps")] },
  charge: { before: OUTAGE, after: [due()] },
  rearm: { before: [], after: OUTAGE },
  abort: { before: [submit("asks")], after: [{ kind: "abort", submission: 0 }] },
  decide: {
    before: [submit("asks-twice")],
    after: [APPROVE],
  },
  retry: {
    before: [...OUTAGE, due(6), { kind: "outage", is: "ends" }],
    after: [
      { kind: "retry", submission: 0 },
      { kind: "retry", submission: 0 },
    ],
  },
};

export function leadTo(point: Failpoint): Lead {
  return LEADS[point.slice(0, point.indexOf(":"))] ?? NONE;
}
