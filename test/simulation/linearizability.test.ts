// Concurrent callers of one thread, with crashes among them: there is always an order, one call after the other, that explains every answer.
import { afterAll, describe, expect, it } from "vitest";
import { specificationFrom } from "./admission-spec.ts";
import { recordHistory, type History } from "./concurrent-callers.ts";
import { findOrder } from "./linearize.ts";
import { ENOUGH_SEEDS, SIMULATION } from "./settings.ts";

const HISTORIES = Math.ceil(SIMULATION.seeds / 3);
const BATCH = 25;
const BATCH_TIMEOUT_MILLIS = 120_000;

const batches = Array.from({ length: Math.ceil(HISTORIES / BATCH) }, (_, batch) => {
  const first = SIMULATION.first + batch * BATCH;
  return { first, last: Math.min(first + BATCH, SIMULATION.first + HISTORIES) - 1 };
});

/** What a whole run has to see sometimes (QUA-03). */
const SOMETIMES = [
  "calls",
  "calls that overlap",
  "calls without an answer",
  "crash: throw",
  "crash: abort",
  "crash: sync-abort",
  "accepted",
  "replayed",
  "IdempotencyConflict",
  "dequeued",
  "signalled",
  "already-settled",
  "applied",
  "decided again",
  "DecisionConflict",
  "InvalidState",
];

const counts: Record<string, number> = Object.fromEntries(SOMETIMES.map((what) => [what, 0]));

function count(what: string): void {
  counts[what] = (counts[what] ?? 0) + 1;
}

function tell({ calls, crash }: History): void {
  if (crash !== null) count(`crash: ${crash.mode}`);
  for (const { answer, askedAt, answeredAt } of calls) {
    count("calls");
    const isAlone = calls.every(
      (other) =>
        other.askedAt === askedAt || other.answeredAt < askedAt || other.askedAt > answeredAt,
    );
    if (!isAlone) count("calls that overlap");
    switch (answer?.kind) {
      case undefined:
        count("calls without an answer");
        break;
      case "receipt":
        count(answer.replayed ? "replayed" : "accepted");
        break;
      case "said":
        count(answer.said);
        break;
      case "decided":
        for (const status of answer.statuses)
          count(status === "applied" ? status : "decided again");
        break;
      case "refused":
        count(answer.code);
        break;
    }
  }
}

async function runSeed(seed: number): Promise<void> {
  const history = await recordHistory(seed);
  const { calls, start, thread } = history;
  if (findOrder(calls, specificationFrom(start)) === null) {
    const listed = calls.map((call) => `  ${JSON.stringify(call)}`).join("\n");
    throw new Error(
      `seed ${seed}: no order explains these calls. Again: npm run test:simulation -- --seed ${seed}\n${listed}`,
    );
  }
  tell(history);
  await thread.toQuiescence();
  expect(await thread.violations({ readTools: new Set(["look"]) })).toEqual([]);
}

afterAll(() =>
  console.info(`concurrent callers: ${HISTORIES} histories, ${JSON.stringify(counts)}`),
);

describe("concurrent callers", () => {
  it.each(batches)(
    "[THR-01, THR-03, RUN-10, TOOL-10] of seeds $first to $last see admissions, aborts and decisions one after the other",
    { timeout: BATCH_TIMEOUT_MILLIS },
    async ({ first, last }) => {
      for (let seed = first; seed <= last; seed += 1) await runSeed(seed);
    },
  );

  it("[QUA-03] are enough to see everything sometimes", ({ task }) => {
    task.meta.linearizability = counts;
    const missing = SOMETIMES.filter((what) => counts[what] === 0);
    if (SIMULATION.seeds >= ENOUGH_SEEDS) expect(missing).toEqual([]);
  });
});
