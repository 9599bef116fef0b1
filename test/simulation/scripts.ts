// What the model of a submission does, by name. A gate belongs to one submission of one thread, and is the only call of its turn, so that
// whoever waits there is all that the thread does.
import type { PlannedTurn } from "../support/scripted-model.ts";

const done: PlannedTurn = { text: "done" };

function calls(...tools: readonly string[]): PlannedTurn {
  return { calls: tools.map((tool) => ({ tool })) };
}

function waitingCall(tool: string, gate: string, behave: "gate" | "deaf-gate"): PlannedTurn {
  return { calls: [{ tool, input: { behave, gate } }] };
}

const SCRIPTS = {
  answer: () => [done],
  reads: () => [calls("look", "look"), calls("look"), done],
  bumps: () => [calls("bump"), calls("bump", "bump"), done],
  acts: () => [calls("act"), calls("act"), done],
  mixed: () => [calls("look", "bump", "act", "nothing"), calls("act"), done],
  asks: () => [calls("guarded"), done],
  "asks-twice": () => [calls("guarded", "look", "guarded"), calls("guarded"), done],
  "slow-model": (gate) => [calls("act"), { ...done, gate }],
  "slow-act": (gate) => [waitingCall("act", gate, "deaf-gate"), done],
  "slow-read": (gate) => [waitingCall("look", gate, "gate"), done],
  "takes-time": () => [
    { calls: [{ tool: "act", input: { behave: "take-time" } }] },
    { calls: [{ tool: "look", input: { behave: "take-time" } }] },
    done,
  ],
  steps: () => [
    { calls: [{ tool: "bump", input: { behave: "steps" } }] },
    { calls: [{ tool: "resume", input: { behave: "steps" } }] },
    done,
  ],
  "tool-fails": () => [{ calls: [{ tool: "act", input: { behave: "throw" } }] }, done],
  "model-fails-once": () => [{ ...done, fail: { how: "http", status: 503, times: 1 } }],
  "model-down": () => [{ fail: { how: "http", status: 503 } }],
  "model-refuses": () => [calls("bump"), { fail: { how: "http", status: 400 } }],
} as const satisfies Record<string, (gate: string) => readonly PlannedTurn[]>;

export type ScriptName = keyof typeof SCRIPTS;

/** How often each is submitted: those that wait, ask or act more than those that merely answer. */
export const SCRIPT_WEIGHTS: Readonly<Record<ScriptName, number>> = {
  answer: 2,
  reads: 2,
  bumps: 2,
  acts: 4,
  mixed: 3,
  asks: 4,
  "asks-twice": 4,
  "slow-model": 3,
  "slow-act": 4,
  "slow-read": 2,
  "takes-time": 3,
  steps: 2,
  "tool-fails": 1,
  "model-fails-once": 2,
  "model-down": 2,
  "model-refuses": 1,
};

export function planOf(script: ScriptName, gate: string): readonly PlannedTurn[] {
  return SCRIPTS[script](gate);
}

export function isScript(name: string): name is ScriptName {
  return Object.hasOwn(SCRIPTS, name);
}
