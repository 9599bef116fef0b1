// What must hold over everything at the end: each submission settled exactly once, nothing else in the logs, every external call
// executed exactly once by the stub's own count.
import type { Execution } from "../server/stub-wire.ts";
import { ThreadApi } from "../server/thread-api.ts";
import { CHARGES_PER_JOB } from "./job-steps.ts";
import type { World } from "./one-kill.ts";

export interface Totals {
  readonly threads: number;
  readonly records: number;
  readonly submissions: number;
  readonly settledOnce: number;
  readonly externalCalls: number;
  readonly executedTwice: number;
  readonly executedPastAllowance: number;
  /** Executions of reads and idempotent calls beyond their first, which recovery is free to make. */
  readonly repeats: number;
}

export async function checkEverything(world: World): Promise<Totals> {
  const { logs, jobs, board, report, server } = world;
  const api = new ThreadApi(server.baseUrl);
  for (const log of logs.values()) log.compare(await api.records(log.thread, 0), report);
  const receipts = new Map(
    jobs.flatMap(({ receipt }) => (receipt === null ? [] : [[receipt.submissionId, receipt]])),
  );
  let settledOnce = 0;
  for (const { threadId, submissionId } of receipts.values()) {
    const count = logs.get(threadId)?.settlements.get(submissionId)?.length ?? 0;
    if (count === 1) settledOnce += 1;
    else report(`${submissionId} on ${threadId} has ${count} settlements`);
  }
  for (const log of logs.values()) {
    for (const submissionId of log.started) {
      if (!receipts.has(submissionId))
        report(`${log.thread} has ${submissionId}, that no key names`);
    }
  }
  for (const { job, step } of board.strangers) report(`an unknown job ${job} called for ${step}`);
  const executions = await world.stub.executions(null);
  return {
    threads: logs.size,
    records: [...logs.values()].reduce((sum, log) => sum + log.tail, 0),
    submissions: receipts.size,
    settledOnce,
    ...checkExecutions(world, receipts.size, executions),
  };
}

function checkExecutions(
  { allowances, report }: World,
  submissions: number,
  executions: readonly Execution[],
): Pick<Totals, "externalCalls" | "executedTwice" | "executedPastAllowance" | "repeats"> {
  const external = executions.filter(({ step }) => step.startsWith("charge-"));
  const twice = external.filter(({ count }) => count > 1);
  for (const { operationId, count } of twice) report(`${operationId} was executed ${count} times`);
  const past = external.filter(
    ({ operationId, count }) => count > 1 + (allowances.get(operationId) ?? 0),
  );
  if (external.length !== submissions * CHARGES_PER_JOB) {
    report(
      `${external.length} external calls for ${submissions} submissions of ${CHARGES_PER_JOB} each`,
    );
  }
  const repeatable = executions.filter(({ step }) => !step.startsWith("charge-"));
  return {
    externalCalls: external.length,
    executedTwice: twice.length,
    executedPastAllowance: past.length,
    repeats: repeatable.reduce((sum, { count }) => sum + count - 1, 0),
  };
}
