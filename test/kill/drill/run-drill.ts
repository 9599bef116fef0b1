// `npm run test:kill -- --drill 200`: SIGKILL in the first, the third and the last of the slow external calls of a turn, until that many
// calls were killed. A call counts as killed when it may have begun and had no answer when the server died; a SIGKILL hits several threads.
import { seeded } from "../../server/seeded.ts";
import { PLACES, planRound } from "./drill-plan.ts";
import { runRound, type DrillRound, type DrillWorld, type KilledCall } from "./one-round.ts";

/** Threads that one SIGKILL hits. */
const THREADS = 24;

export async function runDrill(world: DrillWorld, kills: number, seed: number): Promise<void> {
  const random = seeded(seed);
  const rounds: DrillRound[] = [];
  const killed = (): number => rounds.reduce((sum, { calls }) => sum + calls.length, 0);
  // A round that kills nothing would go on for ever.
  for (let round = 1; killed() < kills && round <= kills; round += 1) {
    rounds.push(await runRound(world, planRound(round, THREADS, random)));
    console.log(`${round} SIGKILLs, ${killed()} calls killed`);
  }
  printDrill(rounds);
}

function printDrill(rounds: readonly DrillRound[]): void {
  const calls = rounds.flatMap((round) => round.calls);
  const rows: Record<string, Record<string, string | number>> = {};
  for (const place of PLACES) rows[place] = renderRow(calls.filter((call) => call.place === place));
  rows["all"] = renderRow(calls);
  console.table(rows);
  const sum = (read: (round: DrillRound) => number): number =>
    rounds.reduce((total, round) => total + read(round), 0);
  console.log(
    [
      `${rounds.length} SIGKILLs hit ${calls.length} calls in flight, each on a thread of its own: each counts as a kill`,
      `calls that had their answer just before: ${sum(({ answered }) => answered)}, not counted`,
      `unknown outcomes in all: ${sum(({ unknown }) => unknown)}, those behind a killed call of the same turn included`,
      `external calls: ${sum(({ externalCalls }) => externalCalls)}; executed twice in the end: ${sum(({ executedTwice }) => executedTwice)}`,
    ].join("\n"),
  );
}

/** Executions are those before any decision: what the server did by itself. */
function renderRow(calls: readonly KilledCall[]): Record<string, string | number> {
  const offsets = calls.flatMap(({ offsetMillis }) => offsetMillis ?? []);
  const count = (fits: (call: KilledCall) => boolean): number => calls.filter(fits).length;
  return {
    kills: calls.length,
    "offsets, ms":
      offsets.length === 0
        ? "-"
        : `${Math.min(...offsets).toFixed(0)} to ${Math.max(...offsets).toFixed(0)}`,
    "executed once": count(({ executed }) => executed === 1),
    "executed zero": count(({ executed }) => executed === 0),
    "executed twice": count(
      ({ executed, executedInTheEnd }) => executed > 1 || executedInTheEnd > 1,
    ),
    "unknown outcomes": count(({ isUnknown }) => isUnknown),
    settled: count(({ isSettled }) => isSettled),
  };
}
