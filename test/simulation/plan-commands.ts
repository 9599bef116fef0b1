// A seed's commands. Pure: the same seed is the same list, and nothing else is drawn while it runs.
import { LIVING_POINTS } from "../support/crash-points.ts";
import { must } from "../../shared/assert.ts";
import { DecisionKindSchema } from "../../shared/wire/operations.ts";
import { OnBusySchema, type OnBusy } from "../../shared/wire/submission.ts";
import type { CrashMode } from "../support/world.ts";
import type { Command, CommandKind, Request } from "./commands.ts";
import { leadTo } from "./leads.ts";
import { Random } from "./random.ts";
import { SCRIPT_WEIGHTS, type ScriptName } from "./scripts.ts";

export const CRASH_MODES: readonly CrashMode[] = ["throw", "abort", "sync-abort"];

/** Few, so that the same key meets itself again. */
export const KEYS = 5;

const APPROVALS = ["approve", "deny", "edit", "abort"] as const;
const LOSSES = ["completed", "failed", "never-started", "safe-to-retry", "abort"] as const;

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
/** Past a backoff, past a model's retry, past the run's two hours. */
const JUMPS = [1, 200, 6 * SECOND, 90 * SECOND, HOUR, 3 * HOUR] as const;

const WEIGHTS: Readonly<Record<CommandKind, number>> = {
  submit: 26,
  abort: 5,
  decide: 11,
  "decide-all": 5,
  retry: 2,
  "read-page": 3,
  "await-progress": 2,
  view: 3,
  explain: 2,
  together: 9,
  alarm: 14,
  advance: 5,
  evict: 4,
  crash: 4,
  arm: 16,
  "open-gate": 6,
  outage: 4,
  deploy: 3,
};

const TOGETHER_WEIGHTS: Readonly<Record<Request["kind"], number>> = {
  submit: 8,
  abort: 3,
  decide: 4,
  "decide-all": 1,
  retry: 1,
  "read-page": 1,
  "await-progress": 1,
  view: 1,
  explain: 1,
};

export function planCommands(seed: number): Command[] {
  const random = new Random(seed);
  const scripts = Array.from({ length: KEYS }, () => random.weighted(SCRIPT_WEIGHTS));
  const length = 4 + random.int(9);
  const commands: Command[] = Array.from({ length }, () => planCommand(random, scripts));
  // Every seed crashes somewhere, and the seeds go through points and modes in turn, so that a run of many leaves none out.
  const point = must(LIVING_POINTS[seed % LIVING_POINTS.length], "there are failpoints");
  const round = Math.floor(seed / LIVING_POINTS.length);
  const mode = must(CRASH_MODES[round % CRASH_MODES.length], "there are modes");
  const { before, after } = leadTo(point);
  return [...before, { kind: "arm", point, mode, hit: 1 }, ...after, ...commands];
}

/** @param scripts what each key mostly submits: now and then it is used for something else */
function planCommand(random: Random, scripts: readonly ScriptName[]): Command {
  const kind = random.weighted(WEIGHTS);
  switch (kind) {
    case "together": {
      const length = 2 + random.int(3);
      const requests = Array.from({ length }, () =>
        planRequest(random, scripts, random.weighted(TOGETHER_WEIGHTS)),
      );
      return { kind, requests };
    }
    case "alarm": {
      const when = random.weighted({ early: 2, due: 5, late: 2, again: 2 });
      return { kind, when, times: when === "due" ? 1 + random.int(6) : 1 };
    }
    case "advance":
      return { kind, millis: random.pick(JUMPS) };
    case "evict":
    case "crash":
    case "open-gate":
      return { kind };
    case "arm":
      return {
        kind,
        point: random.pick(LIVING_POINTS),
        mode: random.pick(CRASH_MODES),
        hit: 1 + random.int(2),
      };
    case "deploy":
      return { kind, agent: random.chance(0.4) ? "gone" : "back" };
    case "outage":
      return { kind, is: random.chance(0.4) ? "begins" : "ends" };
    default:
      return planRequest(random, scripts, kind);
  }
}

/** What each key mostly asks for where the thread is busy. */
function usualBusy(key: number): OnBusy {
  return must((["enqueue", "join", "enqueue", "interrupt", "reject"] as const)[key], "a key");
}

function planRequest(
  random: Random,
  scripts: readonly ScriptName[],
  kind: Request["kind"],
): Request {
  switch (kind) {
    case "submit": {
      const key = random.int(KEYS);
      const usual = must(scripts[key], "every key has its script");
      return {
        kind,
        key,
        script: random.chance(0.2) ? random.weighted(SCRIPT_WEIGHTS) : usual,
        onBusy: random.chance(0.9) ? usualBusy(key) : random.pick(OnBusySchema.options),
        reply: random.chance(0.15) ? "lost" : "kept",
      };
    }
    case "abort":
    case "retry":
    case "view":
      return { kind, submission: random.int(KEYS) };
    case "decide": {
      const isUnfit = random.chance(0.15);
      return {
        kind,
        operation: random.int(3),
        approval: random.pick(isUnfit ? DecisionKindSchema.options : APPROVALS),
        loss: random.pick(isUnfit ? DecisionKindSchema.options : LOSSES),
      };
    }
    case "decide-all":
      return { kind, approval: random.weighted({ approve: 3, deny: 1, edit: 1 }) };
    case "read-page":
      return { kind, after: random.int(40), limit: 1 + random.int(8) };
    case "await-progress":
      return { kind, after: random.int(40) };
    case "explain":
      return { kind };
  }
}
