// The earlier runs of a thread as messages: read from the log, and kept between the runs of one instance where they are few bytes.
import type { LanguageModelV4Message } from "@ai-sdk/provider";
import { MAX_KEPT_HISTORY_BYTES, MAX_WINDOW_RECORDS } from "../../../shared/limits.ts";
import type { JournalStore, StoredBatch } from "../journal/journal.store.ts";
import { groupRuns, selectHistory, type HistoryRun } from "./select-history.ts";

/** What a run starts with; `from` goes into its start record, so that every later attempt reads the same history. */
export interface SelectedHistory {
  /** For whose models its messages are. */
  readonly provider: string;
  readonly from: number;
  readonly runs: readonly HistoryRun[];
}

export class History {
  readonly #journal: JournalStore;
  /** The runs up to the record `through`; dropped whenever the log grew by anything but a run that ended here. */
  #kept: {
    readonly through: number;
    readonly provider: string;
    readonly runs: readonly HistoryRun[];
  } | null = null;

  constructor(journal: JournalStore) {
    this.#journal = journal;
  }

  /** For a run that begins with record `first`, on a model of that provider. */
  select(first: number, provider: string): SelectedHistory {
    const kept = this.#kept;
    const runs =
      kept !== null && kept.through === first - 1 && kept.provider === provider
        ? kept.runs
        : selectHistory(groupRuns(this.#journal.readBackward(first, MAX_WINDOW_RECORDS), provider));
    this.#kept = null;
    return { provider, from: runs[0]?.first ?? first, runs };
  }

  /** For a run that began with record `first` and noted `from`: the history as of its own start (RUN-17). */
  restore(first: number, from: number, provider: string): SelectedHistory {
    const batches: StoredBatch[] = [];
    let next = from;
    while (next < first) {
      const page = this.#journal.readForward(next, first - 1, MAX_WINDOW_RECORDS);
      const last = page.at(-1)?.last;
      if (last === undefined) break;
      batches.push(...page.filter((batch) => batch.first >= next));
      next = last + 1;
    }
    return { provider, from, runs: groupRuns(batches, provider) };
  }

  /**
   * Keeps the history for the next run of this instance: the runs before, and the one that just ended with record `through`. A long one is
   * read again instead: objects that rest share an isolate's memory, and a window full of long texts is several megabytes.
   */
  keep(before: SelectedHistory, ended: HistoryRun, through: number): void {
    const runs = selectHistory([...before.runs, ended]);
    const bytes = runs.reduce((sum, run) => sum + run.bytes, 0);
    this.#kept =
      bytes > MAX_KEPT_HISTORY_BYTES ? null : { through, provider: before.provider, runs };
  }
}

export function messagesOf(history: SelectedHistory): LanguageModelV4Message[] {
  return history.runs.flatMap((run) => run.messages);
}
