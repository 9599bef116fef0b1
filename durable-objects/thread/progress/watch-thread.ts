// What a watcher of a thread reads: records past its cursor, the state whenever it changed, and the open turn's text as it grows. It is
// pulled: a slow reader costs no memory, as records wait in the log and text is sent in larger pieces. Nothing here is stored.
import { must } from "../../../shared/assert.ts";
import { utf8Length } from "../../../shared/bytes.ts";
import { renderEvent, renderThrough, type EventsRequest } from "../../../shared/wire/events.ts";
import { letOthersRun } from "../../platform/let-others-run.ts";
import { LogCorrupt } from "../journal/record-codec.ts";
import { firstSequenceOf } from "../ledger/decide-claim.ts";
import { requireSubmission } from "../ledger/find-submission.ts";
import { findHead } from "../ledger/select-head.ts";
import type { ThreadCore } from "../thread-core.ts";
import { readSettlement } from "../view/read-submission.ts";
import { describeState, stateOf, type ThreadSnapshot } from "../view/thread-snapshot.ts";
import type { ChangeSignal } from "./change-signal.ts";
import type { SharedReads } from "./shared-reads.ts";
import { beginTurn, readDeltas, type OpenTurn, type TurnCursor } from "./open-turn.ts";

/** One pull sends about this much, so that a long log is streamed and never held. */
const MAX_CHUNK_BYTES = 64 * 1024;
/** One pull looks through so many pages, so that a reader of one submission does not hold up the object where others' records lie between. */
const MAX_PULL_PAGES = 8;

/**
 * The events as UTF-8 text, until the followed submission settled, the cursor turns out unreadable, or nothing runs any more; it never
 * waits for work to come. Throws `SubmissionNotFound`, before anything is sent.
 */
export function watchThread(
  core: ThreadCore,
  shared: SharedReads,
  asked: EventsRequest,
): ReadableStream<Uint8Array> {
  const watcher = new Watcher(core, shared, asked);
  const encoder = new TextEncoder();
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const text = await watcher.next();
      if (text === null) {
        controller.close();
        // A pending read of a byte stream is answered by hand.
        controller.byobRequest?.respond(0);
        return;
      }
      controller.enqueue(encoder.encode(text));
    },
    cancel: () => watcher.stop(),
  });
}

class Watcher {
  readonly #core: ThreadCore;
  readonly #shared: SharedReads;
  readonly #asked: EventsRequest;
  readonly #joinedAt: number;
  #cursor: number;
  #turn: TurnCursor | null = null;
  #lastState = "";
  #seenCommits = -1;
  #isOver = false;
  /** What is read and not yet sent. */
  #text = "";
  #leave: () => void = () => undefined;

  constructor(core: ThreadCore, shared: SharedReads, asked: EventsRequest) {
    this.#core = core;
    this.#shared = shared;
    this.#asked = asked;
    this.#cursor = startOf(core, asked);
    this.#joinedAt = core.changes.version;
  }

  /** What is new, waiting for it while something runs; null after the end. */
  async next(): Promise<string | null> {
    const { changes } = this.#core;
    while (!this.#isOver) {
      const { version } = changes;
      this.#read();
      const text = this.#text;
      this.#text = "";
      if (text !== "") return text;
      if (this.#hasReadAll()) await this.#change(changes.after(version));
      else await letOthersRun();
    }
    return null;
  }

  stop(): void {
    this.#isOver = true;
    this.#leave();
  }

  async #change({ changed, leave }: ReturnType<ChangeSignal["after"]>): Promise<void> {
    this.#leave = leave;
    await changed;
  }

  #read(): void {
    // Nothing is said of work that ended with its thread, and its rows may be gone; who asks again is told.
    if (this.#core.tombstone !== null && this.#asked.submissionId !== undefined) {
      return this.#end("");
    }
    const tail = this.#core.journal.tail().sequence;
    if (this.#cursor > tail) return this.#endInGap("past-the-end");
    try {
      this.#readCommitted();
      if (!this.#hasReadAll()) return;
      if (this.#asked.deltas) this.#readOpenTurn();
      this.#readEnd();
    } catch (error) {
      if (!(error instanceof LogCorrupt)) throw error;
      this.#endInGap("unreadable");
    }
  }

  /** The state first: a reader who comes before the first record sees at once that the work is queued. */
  #readCommitted(): void {
    const { commits } = this.#core.changes;
    if (commits === this.#seenCommits && this.#hasReadAll()) return;
    this.#seenCommits = commits;
    const state = this.#renderState();
    if (state !== this.#lastState) this.#text += state;
    this.#lastState = state;
    for (let pages = 0; pages < MAX_PULL_PAGES && !this.#hasReadAll(); pages += 1) {
      if (utf8Length(this.#text) >= MAX_CHUNK_BYTES) return;
      for (const record of this.#shared.recordsAfter(this.#cursor)) {
        if (this.#concerns(record.submissionId)) this.#text += record.text;
        this.#cursor = record.sequence;
      }
    }
  }

  #concerns(submissionId: string | null): boolean {
    const followed = this.#asked.submissionId;
    return followed === undefined || followed === submissionId;
  }

  #hasReadAll(): boolean {
    return this.#cursor >= this.#core.journal.tail().sequence;
  }

  #readOpenTurn(): void {
    const open = this.#core.live?.openTurn ?? null;
    if (open === null || !this.#concerns(open.submissionId)) return;
    const isKnown = this.#turn?.of === open;
    // One who joins in the middle, or whose turn is called again, is told that it gets the turn from its beginning.
    const event =
      !isKnown && (isRepeated(open, this.#turn?.of) || open.since <= this.#joinedAt)
        ? "resync"
        : "delta";
    const from = isKnown && this.#turn !== null ? this.#turn : beginTurn(open);
    const { deltas, cursor } = readDeltas(from);
    // Before its first text there is nothing to tell, and the telling is still due.
    if (deltas.length === 0 && !isKnown) return;
    this.#turn = cursor;
    for (const data of deltas) this.#text += renderEvent({ event, data });
  }

  #readEnd(): void {
    const { submissionId } = this.#asked;
    const settlement = submissionId === undefined ? null : readSettlement(this.#core, submissionId);
    if (settlement !== null && submissionId !== undefined) {
      return this.#end(renderEvent({ event: "settled", data: { submissionId, settlement } }));
    }
    if (!this.#isUnderWay()) this.#end("");
  }

  /** A run that retries its model call goes on within seconds, by an attempt whose first record may come late. */
  #isUnderWay(): boolean {
    const { state, owed, row } = this.#shared.snapshot();
    if (state === "running") return true;
    const head = findHead(owed, row.claimedRun);
    return head?.wait?.reason === "retry-backoff";
  }

  #renderState(): string {
    const { submissionId } = this.#asked;
    const snapshot = this.#shared.snapshot();
    const data =
      submissionId === undefined
        ? describeState(this.#core, snapshot)
        : this.#describeSubmission(submissionId, snapshot);
    return renderEvent({ event: "state", data });
  }

  #describeSubmission(submissionId: string, { owed, row }: ThreadSnapshot) {
    const entry = requireSubmission(this.#core, submissionId);
    const position = owed.findIndex((each) => each.submissionId === submissionId);
    return {
      submissionId,
      ...stateOf(this.#core, entry, row.claimedRun),
      ...(position < 0 ? {} : { position }),
    };
  }

  #endInGap(reason: "past-the-end" | "unreadable"): void {
    const tail = this.#core.journal.tail().sequence;
    this.#end(renderEvent({ event: "gap", data: { after: this.#cursor, tail, reason } }));
  }

  /** The last of it, with how far the log was looked through. */
  #end(text: string): void {
    this.#isOver = true;
    this.#text += text + renderThrough(this.#cursor);
  }
}

/** The same turn, called once more: what was shown of it is void. */
function isRepeated(open: OpenTurn, known: OpenTurn | undefined): boolean {
  return known?.submissionId === open.submissionId && known.turn === open.turn;
}

/** Of a followed submission nothing is before its run's first record, or, where it never ran, before the log's end. */
function startOf(core: ThreadCore, { after, submissionId }: EventsRequest): number {
  const tail = core.journal.tail().sequence;
  if (submissionId === undefined || after > tail) return after;
  const thread = must(core.row.read(), "an open thread has its row");
  const entry = requireSubmission(core, submissionId);
  // An input that joined another run has its first record there.
  const first = entry.joinedAt ?? firstSequenceOf(thread, entry) ?? tail + 1;
  return Math.max(after, first - 1);
}
