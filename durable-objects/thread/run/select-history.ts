// Which earlier runs a run's prompts hold: the newest whole ones that fit the window. Pure.
import type { LanguageModelV4Message } from "@ai-sdk/provider";
import { MAX_PAGE_BYTES, MAX_WINDOW_RECORDS } from "../../../shared/limits.ts";
import type { StoredBatch } from "../journal/journal.store.ts";
import { foldRun } from "./fold-run.ts";
import { projectRun } from "./project-messages.ts";

/** One earlier run as history. */
export interface HistoryRun {
  readonly run: number;
  /** Its first record: runs are ordered by it, so that a run's messages lie together even where its records do not. */
  readonly first: number;
  readonly records: number;
  readonly bytes: number;
  readonly messages: readonly LanguageModelV4Message[];
}

/** For a model of that provider: the runs among these batches whose start is among them, oldest first. What was never run has no messages and is left out. */
export function groupRuns(batches: readonly StoredBatch[], provider: string): HistoryRun[] {
  const groups = Map.groupBy(batches, (batch) => batch.run);
  const runs: HistoryRun[] = [];
  for (const [run, group] of groups) {
    const state = foldWhole(group);
    if (state === null) continue;
    runs.push({
      run,
      first: group[0]?.first ?? 0,
      records: group.reduce((sum, batch) => sum + batch.records.length, 0),
      bytes: group.reduce((sum, batch) => sum + batch.bytes, 0),
      messages: projectRun(state, { provider, isOwn: false }),
    });
  }
  return runs.toSorted((left, right) => left.first - right.first);
}

function foldWhole(group: readonly StoredBatch[]): ReturnType<typeof foldRun> {
  const records = group.flatMap((batch) => batch.records);
  // The batch of the start is the run's first: without it the window cut the run.
  return records.some(({ record }) => record.type === "RunStarted") ? foldRun(records) : null;
}

/** The newest of these runs that together fit 1,024 records and 4 MiB of the log, oldest first. */
export function selectHistory(runs: readonly HistoryRun[]): HistoryRun[] {
  const selected: HistoryRun[] = [];
  let records = 0;
  let bytes = 0;
  for (const run of runs.toReversed()) {
    records += run.records;
    bytes += run.bytes;
    if (records > MAX_WINDOW_RECORDS || bytes > MAX_PAGE_BYTES) break;
    selected.push(run);
  }
  return selected.toReversed();
}
