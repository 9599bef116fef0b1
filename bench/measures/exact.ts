// Exact figures of the metered deployment: rows, statements, bytes, alarm writes. The same code always gives the same, so they are
// asserted. A delivery of the alarm may fall into a submission or not and costs one read: the least of several submissions is reported.
import { z } from "zod";
import { submissionIdOf, type Client } from "../harness/client.ts";
import { figure, type ExactCheck, type ExactFigure, type ExactResult } from "../harness/figures.ts";
import type { StorageCounts } from "../workers/storage-meter.ts";
import { writeTask, type Task } from "../workers/scripted-model.ts";

const REPEATS = 5;
const WAIT_SECONDS = 20;
const SHORT = { steps: 0, deltas: 1 };

/** `profile` gets the statements of each measured submission. */
export async function measureExact(client: Client, profile: Profile): Promise<ExactResult> {
  const results = [
    await measureOneTurn(client, profile),
    await measureToolSteps(client, profile),
    await measureAdmission(client),
    await measureWake(client, profile),
    await measureLongAnswer(client),
    await measureFile(client),
  ];
  return {
    figures: results.flatMap((result) => result.figures),
    checks: results.flatMap((result) => result.checks ?? []),
  };
}

export type Profile = (title: string, counts: StorageCounts) => void;

interface Part {
  readonly figures: readonly ExactFigure[];
  readonly checks?: readonly ExactCheck[];
}

async function measureOneTurn(client: Client, profile: Profile): Promise<Part> {
  const counts = await countSubmission(client, "exact-1", "one-turn", SHORT);
  profile("one turn", counts);
  return {
    figures: [
      figure("PERF-01.rowsWritten", "[PERF-01] 1 turn: rows written", counts.rowsWritten, 12, 9),
      figure("PERF-01.alarmWrites", "[PERF-01] 1 turn: alarm writes", alarmWrites(counts), 2),
      figure("PERF-01.statements", "[PERF-01] 1 turn: statements", counts.runs),
      figure("PERF-01.rowsRead", "[PERF-01] 1 turn: rows read", counts.rowsRead),
      figure("PERF-01.transactions", "[PERF-01] 1 turn: transactions", counts.transactions.length),
    ],
  };
}

async function measureToolSteps(client: Client, profile: Profile): Promise<Part> {
  const thread = "exact-10";
  const ten = await countSubmission(client, thread, "tool-steps", { steps: 10, deltas: 1 });
  profile("ten tool steps", ten);
  const fifty = await countSubmission(client, "exact-50", "tool-steps", { steps: 50, deltas: 1 });
  return {
    figures: [
      figure(
        "PERF-02.10.rowsWritten",
        "[PERF-02] 10 tool steps: rows written",
        ten.rowsWritten,
        45,
        39,
      ),
      figure(
        "PERF-02.10.alarmWrites",
        "[PERF-02] 10 tool steps: alarm writes",
        alarmWrites(ten),
        2,
      ),
      figure("PERF-02.10.statements", "[PERF-02] 10 tool steps: statements", ten.runs),
      figure("PERF-02.10.rowsRead", "[PERF-02] 10 tool steps: rows read", ten.rowsRead),
      figure(
        "PERF-02.50.rowsWritten",
        "[PERF-02] 50 tool steps: rows written",
        fifty.rowsWritten,
        null,
        159,
      ),
      figure("PERF-02.50.statements", "[PERF-02] 50 tool steps: statements", fifty.runs),
    ],
    checks: [await checkIntents(client, thread)],
  };
}

const RecordsSchema = z.object({
  records: z.array(
    z.object({
      sequence: z.int(),
      type: z.string(),
      runId: z.string().optional(),
      payload: z.json(),
    }),
  ),
});
const PreparedSchema = z.object({ calls: z.array(z.object({ operationId: z.string() })) });
const SettledSchema = z.object({ operationId: z.string() });

/** Every external call has an intent in an earlier batch than its result: it was on disk before the handler ran. */
async function checkIntents(client: Client, thread: string): Promise<ExactCheck> {
  const firsts = z.array(z.int()).parse(await client.bench(thread, "benchBatches"));
  const batchOf = (sequence: number): number => firsts.findLastIndex((first) => first <= sequence);
  const page = await client.send("GET", `/v1/threads/${thread}/records?limit=256`);
  const { records } = RecordsSchema.parse(page.body);
  const prepared = new Map<string, number>();
  let results = 0;
  let covered = 0;
  for (const { sequence, type, payload } of records) {
    if (type === "ToolsPrepared") {
      const { calls } = PreparedSchema.parse(payload);
      for (const { operationId } of calls) prepared.set(operationId, batchOf(sequence));
    }
    if (type !== "ToolSettled") continue;
    results += 1;
    const intent = prepared.get(SettledSchema.parse(payload).operationId);
    if (intent !== undefined && intent < batchOf(sequence)) covered += 1;
  }
  return {
    measure: "[PERF-02] an intent committed before every external tool",
    holds: results > 0 && covered === results,
    found: `${covered} of ${results} results`,
  };
}

/** The first transaction of a submission is its admission. */
async function measureAdmission(client: Client): Promise<Part> {
  const { transactions } = await countSubmission(client, "exact-admission", "one-turn", SHORT);
  const rows = transactions[0] ?? Number.NaN;
  return { figures: [figure("PERF-03.rowsWritten", "[PERF-03] admission: rows written", rows, 6)] };
}

/** A read of a settled submission is what wakes the object: after one run, and after fifty. */
async function measureWake(client: Client, profile: Profile): Promise<Part> {
  const wake = async (thread: string, runs: number): Promise<StorageCounts> => {
    let submissionId = "";
    for (let run = 0; run < runs; run += 1) {
      submissionId = await submit(client, thread, "one-turn", SHORT);
    }
    await client.bench(thread, "benchEvict");
    const answer = await client.send("GET", `/v1/threads/${thread}/submissions/${submissionId}`);
    if (answer.status !== 200) throw new Error(`the read answered ${answer.status}`);
    return client.counts(thread);
  };
  const one = await wake("exact-wake-1", 1);
  const fifty = await wake("exact-wake-50", 50);
  profile("wake by a read, after one run", one);
  return {
    figures: [
      figure("PERF-04.statements", "[PERF-04] wake by a read: statements", one.runs, 20),
      figure("PERF-04.rowsRead", "[PERF-04] wake by a read: rows read", one.rowsRead, 60),
      figure("PERF-04.rowsWritten", "[PERF-04] wake by a read: rows written", one.rowsWritten, 0),
      figure(
        "PERF-04.50.statements",
        "[PERF-04] the same after 50 runs: statements",
        fifty.runs,
        20,
      ),
      figure(
        "PERF-04.50.rowsRead",
        "[PERF-04] the same after 50 runs: rows read",
        fifty.rowsRead,
        60,
      ),
    ],
    checks: [
      {
        measure: "[PERF-04] a wake is flat in history length",
        holds: fifty.runs <= one.runs && fifty.rowsRead <= one.rowsRead,
        found: `${one.runs}/${one.rowsRead} then ${fifty.runs}/${fifty.rowsRead} statements/rows`,
      },
    ],
  };
}

async function measureLongAnswer(client: Client): Promise<Part> {
  const short = await countSubmission(client, "exact-short", "one-turn", SHORT);
  const long = await countSubmission(client, "exact-long", "one-turn", { steps: 0, deltas: 1_000 });
  const more = long.rowsWritten - short.rowsWritten;
  const measure = "[PERF-05] answer of 1,000 deltas: rows more than a short one";
  return { figures: [figure("PERF-05.rowsMore", measure, more, 4)] };
}

async function measureFile(client: Client): Promise<Part> {
  const thread = "exact-file";
  const size = async (): Promise<number> => z.int().parse(await client.bench(thread, "benchSize"));
  await submit(client, thread, "one-turn", SHORT);
  const one = await size();
  for (let turns = 1; turns < 100; turns += 1) await submit(client, thread, "one-turn", SHORT);
  const kib = 1_024;
  return {
    figures: [
      figure(
        "PERF-07.1.bytes",
        "[PERF-07] thread file after 1 turn: bytes",
        one,
        96 * kib,
        64 * kib,
      ),
      figure(
        "PERF-07.100.bytes",
        "[PERF-07] thread file after 100 turns: bytes",
        await size(),
        240 * kib,
        200 * kib,
      ),
    ],
  };
}

async function submit(client: Client, thread: string, agent: string, load: Task): Promise<string> {
  const task = writeTask(load);
  return submissionIdOf(await client.submit({ thread, agent, task, wait: WAIT_SECONDS }));
}

/** What one submission to an open thread costs. */
async function countSubmission(
  client: Client,
  thread: string,
  agent: string,
  load: Task,
): Promise<StorageCounts> {
  await submit(client, thread, "one-turn", SHORT);
  const taken: StorageCounts[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    await client.bench(thread, "benchReset");
    await submit(client, thread, agent, load);
    taken.push(await client.counts(thread));
  }
  const [least] = taken.toSorted((left, right) => left.runs - right.runs);
  const mostRows = Math.max(...taken.map((counts) => counts.rowsWritten));
  if (least === undefined) throw new Error("nothing was measured");
  // Writes are not a matter of luck: the most of all counts.
  return { ...least, rowsWritten: mostRows };
}

function alarmWrites(counts: StorageCounts): number {
  return counts.alarmsSet + counts.alarmsDeleted;
}
