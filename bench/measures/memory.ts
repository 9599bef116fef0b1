// What a thread costs in memory while it is resident, beside the floor's object, and whether that grows with what it has settled. Every
// sample has a process of its own: its threads lie on disk and are woken cold by one more turn, and none of them leaves the memory again.
import { must } from "../../shared/assert.ts";
import { Client } from "../harness/client.ts";
import { spreadOf, type Line, type Timing } from "../harness/figures.ts";
import { interleave, type Sample } from "../harness/interleave.ts";
import { readMemory, type Inspected, type Memory } from "../harness/memory.ts";
import {
  freePort,
  killWorkerd,
  startWorkerd,
  untilListening,
  writeWorkerdConfig,
} from "../harness/workerd.ts";
import { benchApiKeys } from "../workers/bench-key.ts";
import { writeTask } from "../workers/scripted-model.ts";

const THREADS = 50;
const ROUNDS = 3;
/** What is there once, however many threads there are: compiled code, connections, caches. */
const WARM_UP = { threads: 10, turns: 5 };
const BUILDERS = 8;

/** A contender of the measurement, and how it is called. */
interface Contender {
  readonly name: string;
  readonly script: string;
  readonly binding: string;
  readonly className: string;
  readonly scope: string;
}

/** Threads with the same past: `runs` settled submissions of so many tool steps, whose inputs hold so many bytes beside the task. */
interface Past {
  readonly contender: Contender;
  readonly label: string;
  readonly threads: number;
  readonly runs: number;
  readonly steps: number;
  readonly inputBytes: number;
}

export async function measureMemory(
  scripts: { readonly ours: string; readonly floor: string },
  folder: string,
): Promise<Timing[]> {
  const ours: Contender = {
    name: "ours-memory",
    script: scripts.ours,
    binding: "THREADS",
    className: "ThreadObject",
    scope: "v1",
  };
  const floor: Contender = {
    name: "floor-memory",
    script: scripts.floor,
    binding: "FLOOR",
    className: "FloorObject",
    scope: "generate",
  };
  const short = { threads: THREADS, runs: 1, steps: 0, inputBytes: 0 };
  // A run of fifty tool steps is 51 turns and 153 records: six of them fill the window of 1,024 records that prompts carry.
  const steps = { threads: THREADS, steps: 50, inputBytes: 0 };
  const pasts: readonly Past[] = [
    { contender: floor, label: "floor", ...short },
    { contender: ours, label: "1-turn", ...short },
    { contender: ours, label: "306-turns", runs: 6, ...steps },
    { contender: ours, label: "612-turns", runs: 12, ...steps },
    // Half a megabyte of the log each: these fill the window's 4 MiB.
    { contender: ours, label: "wide", threads: 20, runs: 9, steps: 0, inputBytes: 240_000 },
  ];
  for (const past of pasts) await build(past, folder);
  const samples = new Map(pasts.map(({ label }) => [label, new Array<Memory>()]));
  const takers = pasts.map((past): Sample => async (round) => {
    const perThread = await sample(past, folder, round);
    samples.get(past.label)?.push(perThread);
    return perThread.heapKb;
  });
  await interleave(takers, ROUNDS, 0);
  const of = (label: string, figure: keyof Memory) =>
    spreadOf(must(samples.get(label), "it was sampled").map((memory) => memory[figure]));
  const row = (
    [key, measure]: readonly [key: string, measure: string],
    figure: keyof Memory,
    [before, after]: readonly [before: string, after: string],
    line: Line | null,
  ): Timing => ({
    key,
    measure,
    unit: "kB",
    floor: of(before, figure),
    leanFloor: null,
    ours: of(after, figure),
    line,
    stretch: null,
  });
  const most: Line = { kind: "at-most", bound: 600 };
  return [
    row(
      ["PERF-08", `[PERF-08] resident memory per live thread, of ${THREADS}`],
      "residentKb",
      ["floor", "1-turn"],
      most,
    ),
    row(
      ["PERF-08.heap", "[PERF-08] the JavaScript heap of it"],
      "heapKb",
      ["floor", "1-turn"],
      most,
    ),
    row(
      ["RTM-01.306", "[RTM-01] heap per thread after 306 settled turns (floor: after 1)"],
      "heapKb",
      ["1-turn", "306-turns"],
      most,
    ),
    row(
      ["RTM-01.612", "[RTM-01] heap per thread after 612 settled turns (floor: after 306)"],
      "heapKb",
      ["306-turns", "612-turns"],
      { kind: "at-most-floor-times", factor: 1.1 },
    ),
    row(
      ["RTM-01.wide", "[RTM-01] heap per thread behind 4 MiB of history (floor: 1 turn)"],
      "heapKb",
      ["1-turn", "wide"],
      most,
    ),
    row(
      ["RTM-01.resident", "[RTM-01] resident memory after 612 settled turns (floor: after 306)"],
      "residentKb",
      ["306-turns", "612-turns"],
      null,
    ),
  ];
}

async function build(past: Past, folder: string): Promise<void> {
  await inProcess(past.contender, folder, async ({ client }) => {
    const threads = Array.from({ length: past.threads }, (_, index) => index);
    await Promise.all(
      Array.from({ length: BUILDERS }, async (_, builder) => {
        for (const thread of threads.filter((each) => each % BUILDERS === builder)) {
          for (let run = 0; run < past.runs; run += 1) {
            await submit(client, past, `${past.label}-${thread}`, `past-${run}`);
          }
        }
      }),
    );
  });
}

/** What one more resident thread holds. */
async function sample(past: Past, folder: string, round: number): Promise<Memory> {
  return inProcess(past.contender, folder, async (process) => {
    const { client } = process;
    const turn = { ...past, steps: 0, inputBytes: 0 };
    for (let n = 0; n < WARM_UP.threads * WARM_UP.turns; n += 1) {
      const thread = `warm-${past.label}-${round}-${n % WARM_UP.threads}`;
      await submit(client, turn, thread, `warm-${n}`);
    }
    const before = await readMemory(process);
    for (let thread = 0; thread < past.threads; thread += 1) {
      await submit(client, turn, `${past.label}-${thread}`, `more-${round}`);
    }
    const after = await readMemory(process);
    return {
      heapKb: (after.heapKb - before.heapKb) / past.threads,
      residentKb: (after.residentKb - before.residentKb) / past.threads,
    };
  });
}

async function submit(
  client: Client,
  { contender, steps, inputBytes }: Pick<Past, "contender" | "steps" | "inputBytes">,
  thread: string,
  key: string,
): Promise<void> {
  const task = writeTask({ steps, deltas: 1 }) + " ".repeat(inputBytes);
  const agent = steps === 0 ? "one-turn" : "tool-steps";
  await client.submit({ thread, scope: contender.scope, agent, task, key, wait: 60 });
}

async function inProcess<T>(
  { name, script, binding, className }: Contender,
  folder: string,
  work: (process: Inspected) => Promise<T>,
): Promise<T> {
  const [port, inspected] = [await freePort(), await freePort()];
  const variables = { HOLDFAST_API_KEYS: benchApiKeys() };
  const config = writeWorkerdConfig({ name, script, folder, port, binding, className, variables });
  const child = startWorkerd(config, [`--inspector-addr=127.0.0.1:${inspected}`]);
  const client = new Client(`http://127.0.0.1:${port}`);
  try {
    await untilListening(client);
    const inspector = new URL(`http://127.0.0.1:${inspected}`);
    return await work({ client, inspector, pid: must(child.pid, "the process runs") });
  } finally {
    client.close();
    await killWorkerd(child);
  }
}
