// Every failpoint × every scenario × every way to crash: the flow must end as the uninterrupted one did, by what was promised.
import { digestText } from "../../durable-objects/platform/digest.ts";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { FAILPOINTS, type Failpoint } from "../../shared/failpoints.ts";
import { RECORD_TYPES } from "../../shared/wire/records.ts";
import { checkHistory } from "../../shared/testing/history-checker.ts";
import { LIVING_POINTS } from "../support/crash-points.ts";
import { resetOptions } from "../support/test-options.ts";
import { world, type CrashMode } from "../support/world.ts";
import { runScenario, SCENARIOS, type Scenario, type ScenarioEnd } from "./scenarios.ts";

const MODES: readonly CrashMode[] = ["throw", "abort", "sync-abort"];

afterEach(() => {
  world.disarm();
  resetOptions();
});

/** What must be equal whatever crashed: the outcome, not its times, sequences or costs. */
function essence({ settlements }: ScenarioEnd, { mayRunApart }: Scenario): unknown[] {
  return settlements.map(({ outcome, output, failure, limit, finishReason, exhausted }) => ({
    outcome,
    output: mayRunApart === true ? null : output,
    failure,
    limit,
    finishReason,
    exhausted,
  }));
}

/** Counters that must not stay empty over the whole matrix (QUA-03). */
const fired = new Set<Failpoint>();
const seen = new Set<string>();
const recordTypes = new Set<string>();
let cases = 0;

async function runSound(scenario: Scenario): Promise<ScenarioEnd> {
  const end = await runScenario(scenario);
  await end.thread.quiet();
  const dump = await end.thread.dump();
  const violations = checkHistory(dump, {
    receipts: end.receipts,
    executions: world.executions,
    acknowledgedTail: 0,
    isQuiet: true,
    sha256: digestText,
    readTools: new Set(["look"]),
  });
  expect(violations).toEqual([]);
  for (const record of dump.records) recordTypes.add(record.type);
  for (const state of end.seen) seen.add(state);
  return end;
}

/** How often the uninterrupted flow passes each point. */
async function measure(
  scenario: Scenario,
): Promise<{ end: ScenarioEnd; hits: Map<Failpoint, number> }> {
  const before = new Map(world.reached);
  if (scenario.before !== undefined) world.armCrashes(scenario.before);
  const end = await runSound(scenario);
  expect(world.disarm()).toBe(0);
  const hits = new Map<Failpoint, number>();
  for (const point of FAILPOINTS) {
    const passed = (world.reached.get(point) ?? 0) - (before.get(point) ?? 0);
    if (passed > 0) hits.set(point, passed);
  }
  return { end, hits };
}

describe.each(SCENARIOS)("$name", (scenario) => {
  it("[REC-01, QUA-01] ends as the uninterrupted run does, whatever crashes where", async () => {
    const { end, hits } = await measure(scenario);
    const expected = essence(end, scenario);
    expect(end.settlements.map(({ outcome }) => outcome)).toEqual(scenario.ends);
    for (const [point, passed] of hits) {
      // The first and the last time that the flow passes the point.
      for (const hit of new Set([1, passed])) {
        for (const mode of MODES) {
          const crash = { point, mode, hit };
          world.armCrashes(...(scenario.before === undefined ? [crash] : [scenario.before, crash]));
          const crashed = await runSound(scenario);
          if (world.disarm() === 0) {
            fired.add(point);
            cases += 1;
          }
          expect({ crash, essence: essence(crashed, scenario) }).toEqual({
            crash,
            essence: expected,
          });
        }
      }
    }
  });
});

describe("the matrix", () => {
  afterAll(() => {
    console.info(
      `crash matrix: ${LIVING_POINTS.length} failpoints, ${SCENARIOS.length} scenarios, ${MODES.length} modes, ${cases} crashes fired, all converged`,
    );
  });

  it("[QUA-03] fired every failpoint at least once", () => {
    expect(LIVING_POINTS.filter((point) => !fired.has(point))).toEqual([]);
  });

  it("[QUA-03] saw every state, every wait and both answers to an unknown outcome", () => {
    const wanted = [
      "queued",
      "running",
      "waiting",
      "settled",
      "approval",
      "unknown-outcome",
      "retry-backoff",
      "attempts-exhausted",
      "binding",
      "joined",
      "approve",
      "deny",
      "edit",
      "completed",
      "never-started",
    ];
    expect(wanted.filter((state) => !seen.has(state))).toEqual([]);
  });

  it("[QUA-03] wrote every type of record", () => {
    expect(RECORD_TYPES.filter((type) => !recordTypes.has(type))).toEqual([]);
  });
});
