// An old thread: its first turn after a cold start and one page of its log, beside a young one. The same of a large one.
import type { Client } from "../harness/client.ts";
import { spreadOf, type Timing } from "../harness/figures.ts";
import { interleave, type Sample } from "../harness/interleave.ts";
import { writeTask } from "../workers/scripted-model.ts";

/** A run of fifty tool steps makes 153 records. */
const OLD = { thread: "old", runs: 66 };
const YOUNG = { thread: "young", runs: 7 };
/** A run with an input of that size is half a megabyte of the log: nine fill the window that prompts carry. */
const INPUT_BYTES = 240_000;
const LARGE = { thread: "large", runs: 104 };
const SMALL = { thread: "small", runs: 10 };
const ROUNDS = 15;

export async function measureAge(client: Client): Promise<Timing[]> {
  const task = writeTask({ steps: 50, deltas: 1 });
  for (const { thread, runs } of [OLD, YOUNG]) {
    for (let run = 0; run < runs; run += 1) {
      await client.submit({ thread, agent: "tool-steps", task, wait: 60 });
    }
  }
  const long = writeTask({ steps: 0, deltas: 1 }) + " ".repeat(INPUT_BYTES);
  for (const { thread, runs } of [LARGE, SMALL]) {
    for (let run = 0; run < runs; run += 1) {
      await client.submit({ thread, agent: "one-turn", task: long, wait: 60 });
    }
  }
  const largeTurns = await interleave(
    [coldTurn(client, SMALL), coldTurn(client, LARGE)],
    ROUNDS,
    2,
  );
  const turns = await interleave([coldTurn(client, YOUNG), coldTurn(client, OLD)], ROUNDS, 2);
  const pages = await interleave([page(client, YOUNG), page(client, OLD)], 60, 10);
  const about = (
    samples: readonly number[][],
    key: string,
    measure: string,
    bound: number,
    floor = "1,000 records",
  ) => ({
    key,
    measure: `[PERF-10] ${measure} (floor: a thread of ${floor})`,
    unit: "ms" as const,
    floor: spreadOf(samples[0] ?? []),
    leanFloor: null,
    ours: spreadOf(samples[1] ?? []),
    line: { kind: "at-most" as const, bound },
    stretch: null,
  });
  return [
    about(turns, "PERF-10.turn", "10,000 records: first turn after a cold start", 150),
    about(pages, "PERF-10.page", "10,000 records: page of 256 records", 15),
    about(largeTurns, "PERF-10.large", "50 MB of log: first turn after a cold start", 150, "5 MB"),
  ];
}

function coldTurn(client: Client, { thread }: typeof OLD): Sample {
  const task = writeTask({ steps: 0, deltas: 1 });
  return async () => {
    await client.bench(thread, "benchEvict");
    return (await client.submit({ thread, agent: "one-turn", task, wait: 20 })).millis;
  };
}

function page(client: Client, { thread, runs }: typeof OLD): Sample {
  const after = runs * 75;
  return async () => {
    const answer = await client.send(
      "GET",
      `/v1/threads/${thread}/records?after=${after}&limit=256`,
    );
    if (answer.status !== 200) throw new Error(`the page answered ${answer.status}`);
    return answer.millis;
  };
}
