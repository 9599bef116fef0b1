// What the watchers of a thread read alike, read once per commit however many there are: the thread's state, and records as the text of their
// events. Kept in memory, forgotten with the next commit.
import { renderRecord } from "../../../shared/wire/events.ts";
import { readRecordPage } from "../journal/read-page.ts";
import type { ThreadCore } from "../thread-core.ts";
import { readSnapshot, type ThreadSnapshot } from "../view/thread-snapshot.ts";

/** Few records a page: one who reads a long log takes more pages. */
const PAGE_RECORDS = 32;
/** Pages that are kept, and how large one may be to be kept. */
const MAX_PAGES = 8;
const MAX_PAGE_CHARACTERS = 256 * 1024;

export interface RenderedRecord {
  readonly sequence: number;
  /** Null for a record about the thread. */
  readonly submissionId: string | null;
  readonly text: string;
}

export class SharedReads {
  readonly #core: ThreadCore;
  readonly #pages = new Map<number, readonly RenderedRecord[]>();
  #snapshot: ThreadSnapshot | null = null;
  #commits = -1;

  constructor(core: ThreadCore) {
    this.#core = core;
  }

  snapshot(): ThreadSnapshot {
    this.#forgetStale();
    this.#snapshot ??= readSnapshot(this.#core);
    return this.#snapshot;
  }

  /** The records that follow `after`, at least one of them; there must be some. Throws `LogCorrupt`. */
  recordsAfter(after: number): readonly RenderedRecord[] {
    this.#forgetStale();
    const known = this.#pages.get(after);
    if (known !== undefined) return known;
    const request = { after, limit: PAGE_RECORDS };
    const { records } = readRecordPage(this.#core.journal, request);
    const page = records.map((record) => ({
      sequence: record.sequence,
      submissionId: "submissionId" in record ? record.submissionId : null,
      text: renderRecord(record),
    }));
    const characters = page.reduce((sum, { text }) => sum + text.length, 0);
    if (characters <= MAX_PAGE_CHARACTERS && this.#pages.size < MAX_PAGES) {
      this.#pages.set(after, page);
    }
    return page;
  }

  #forgetStale(): void {
    const { commits } = this.#core.changes;
    if (commits === this.#commits) return;
    this.#commits = commits;
    this.#pages.clear();
    this.#snapshot = null;
  }
}
