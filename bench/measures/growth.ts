// What a turn costs as its thread grows older, of short submissions one after the other: the tenth, one whose prompt holds as much history
// as any will, and the thousandth. The thread stays in memory, as a conversation's does.
import type { Client } from "../harness/client.ts";
import { spreadOf, type Timing } from "../harness/figures.ts";
import { interleave, type Sample } from "../harness/interleave.ts";
import { writeTask } from "../workers/scripted-model.ts";

const ROUNDS = 40;
const WARM_UP = 10;
/** A turn makes four records, and prompts hold the newest 1,024. */
const BOUND = 300;
const OLD = 1_000;

export async function measureGrowth(client: Client): Promise<Timing[]> {
  const rounds = ROUNDS + WARM_UP;
  await age(client, "growth-bound", BOUND - rounds);
  await age(client, "growth-old", OLD - rounds);
  const [tenth = [], bound = [], old = []] = await interleave(
    [
      async (round) => {
        await age(client, `growth-${round}`, 9);
        return turn(client, `growth-${round}`);
      },
      (): ReturnType<Sample> => turn(client, "growth-bound"),
      (): ReturnType<Sample> => turn(client, "growth-old"),
    ],
    ROUNDS,
    WARM_UP,
  );
  const row = (
    [key, measure]: readonly [key: string, measure: string],
    floor: readonly number[],
    ours: readonly number[],
  ): Timing => ({
    key,
    measure,
    unit: "ms",
    floor: spreadOf(floor),
    leanFloor: null,
    ours: spreadOf(ours),
    line: { kind: "at-most-floor-times", factor: 1.2 },
    stretch: null,
  });
  return [
    row(
      ["PERF-15.bound", `[PERF-15] turn ${OLD} of a thread (floor: turn ${BOUND}, history full)`],
      bound,
      old,
    ),
    row(["PERF-15.young", `[PERF-15] turn ${OLD} of a thread (floor: turn 10)`], tenth, old),
  ];
}

async function age(client: Client, thread: string, turns: number): Promise<void> {
  for (let count = 0; count < turns; count += 1) await turn(client, thread);
}

async function turn(client: Client, thread: string): Promise<number> {
  const task = writeTask({ steps: 0, deltas: 1 });
  return (await client.submit({ thread, agent: "one-turn", task, wait: 20 })).millis;
}
