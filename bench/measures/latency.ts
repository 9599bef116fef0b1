// Submit to settlement, the admission's answer alone, and turns per second, each beside the floor in the same run.
import { submissionIdOf, type Client } from "../harness/client.ts";
import { spreadOf, type Timing } from "../harness/figures.ts";
import { interleave, type Sample } from "../harness/interleave.ts";
import { writeTask, type Task } from "../workers/scripted-model.ts";

/** Samples of one thread before the next is opened: the history that prompts carry stays short and the same for everyone. */
const PER_THREAD = 5;
const WARM_UP = 40;
const WAIT_SECONDS = 20;

export interface Contenders {
  readonly ours: Client;
  readonly floor: Client;
}

export async function measureTurns({ ours, floor }: Contenders): Promise<Timing[]> {
  const timings: Timing[] = [];
  const plans = [
    { steps: 0, rounds: 200, factor: 2, stretch: 1.3, label: "[PERF-01] 1 turn", key: "PERF-01" },
    {
      steps: 10,
      rounds: 120,
      factor: 1.7,
      stretch: 1.1,
      label: "[PERF-02] 10 tool steps",
      key: "PERF-02.10",
    },
    {
      steps: 50,
      rounds: 40,
      factor: null,
      stretch: 1,
      label: "[PERF-02] 50 tool steps",
      key: "PERF-02.50",
    },
  ];
  for (const { steps, rounds, factor, stretch, label, key } of plans) {
    const taken = await interleave(
      [
        settled(floor, "generate", { steps, deltas: 1 }),
        settled(floor, "stream", { steps, deltas: 1 }),
        settled(ours, "v1", { steps, deltas: 1 }),
      ],
      rounds,
      WARM_UP,
    );
    const [generate = [], stream = [], durable = []] = taken;
    timings.push({
      key,
      measure: `${label}, submit to settlement, open thread`,
      unit: "ms",
      floor: spreadOf(generate),
      leanFloor: spreadOf(stream),
      ours: spreadOf(durable),
      line: factor === null ? null : { kind: "at-most-floor-times", factor },
      stretch: { kind: "at-most-floor-times", factor: stretch },
    });
  }
  return timings;
}

function settled(client: Client, scope: string, load: Task): Sample {
  const { steps, deltas } = load;
  const agent = steps === 0 ? "one-turn" : "tool-steps";
  const task = writeTask(load);
  return async (round) => {
    const thread = `${scope}-${steps}-${deltas}-${Math.floor(round / PER_THREAD)}`;
    const submission = { thread, scope, agent, wait: WAIT_SECONDS };
    if (round % PER_THREAD === 0) await open(client, submission);
    return (await client.submit({ ...submission, task })).millis;
  };
}

/** A first, unmeasured turn: what is measured is an open thread. */
async function open(client: Client, where: { thread: string; scope: string }): Promise<void> {
  const task = writeTask({ steps: 0, deltas: 1 });
  await client.submit({ ...where, agent: "one-turn", task, wait: WAIT_SECONDS });
}

/** Beside the lean loop: `generateText` does not stream, and the cost of a delta is the question. */
export async function measureDeltas({ ours, floor }: Contenders): Promise<Timing> {
  const load = { steps: 0, deltas: 1_000 };
  const [lean = [], durable = []] = await interleave(
    [settled(floor, "stream", load), settled(ours, "v1", load)],
    60,
    WARM_UP,
  );
  return {
    key: "PERF-05",
    measure: "[PERF-05] answer of 1,000 text deltas, beside a bare read of the stream",
    unit: "ms",
    floor: spreadOf(lean),
    leanFloor: spreadOf(lean),
    ours: spreadOf(durable),
    line: null,
    stretch: null,
  };
}

export async function measureAdmission({ ours, floor }: Contenders): Promise<Timing> {
  const task = writeTask({ steps: 0, deltas: 1 });
  const agent = "one-turn";
  const [inserts = [], admissions = []] = await interleave(
    [
      async (round) => {
        const thread = `insert-${Math.floor(round / PER_THREAD)}`;
        return (await floor.submit({ thread, scope: "insert", agent, task })).millis;
      },
      async (round) => {
        const thread = `admit-${Math.floor(round / PER_THREAD)}`;
        if (round % PER_THREAD === 0) await open(ours, { thread, scope: "v1" });
        const answer = await ours.submit({ thread, agent, task });
        // The run that it started is over before anything else is measured.
        const path = `/v1/threads/${thread}/submissions/${submissionIdOf(answer)}/settlement`;
        await ours.send("GET", path, { prefer: `wait=${WAIT_SECONDS}` });
        return answer.millis;
      },
    ],
    200,
    WARM_UP,
  );
  return {
    key: "PERF-03",
    measure: "[PERF-03] admission's answer alone, beside a one-insert RPC",
    unit: "ms",
    floor: spreadOf(inserts),
    leanFloor: null,
    ours: spreadOf(admissions),
    line: { kind: "at-most-floor-times", factor: 2 },
    stretch: null,
  };
}

const THREADS = 16;
const TURNS_EACH = 25;

export async function measureThroughput({ ours, floor }: Contenders): Promise<Timing> {
  const [generate = [], stream = [], durable = []] = await interleave(
    [
      (round) => turnsPerSecond(floor, "generate", round),
      (round) => turnsPerSecond(floor, "stream", round),
      (round) => turnsPerSecond(ours, "v1", round),
    ],
    7,
    1,
  );
  return {
    key: "PERF-06",
    measure: `[PERF-06] turns per second, ${THREADS} threads at once`,
    unit: "turns/s",
    floor: spreadOf(generate),
    leanFloor: spreadOf(stream),
    ours: spreadOf(durable),
    line: { kind: "at-least-floor-times", factor: 0.7 },
    stretch: { kind: "at-least-floor-times", factor: 1.1 },
  };
}

async function turnsPerSecond(client: Client, scope: string, round: number): Promise<number> {
  const task = writeTask({ steps: 0, deltas: 1 });
  const threads = Array.from({ length: THREADS }, (_, index) => `${scope}-many-${round}-${index}`);
  await Promise.all(threads.map((thread) => open(client, { thread, scope })));
  const started = performance.now();
  await Promise.all(
    threads.map(async (thread) => {
      for (let turn = 0; turn < TURNS_EACH; turn += 1) {
        await client.submit({ thread, scope, agent: "one-turn", task, wait: WAIT_SECONDS });
      }
    }),
  );
  return (THREADS * TURNS_EACH * 1_000) / (performance.now() - started);
}
