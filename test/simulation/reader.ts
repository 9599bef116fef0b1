// Who reads: records, settlements and the tail, and finds out when something that was read is gone or another.
import { deepStrictEqual } from "node:assert";
import type { ThreadRecord } from "../../shared/wire/records.ts";
import type { Settlement } from "../../shared/wire/settlement.ts";
import type { SubmissionView } from "../../shared/wire/submission.ts";
import type { SimulatedThread } from "./simulated-thread.ts";

export class Reader {
  /** The highest sequence that was read. */
  acknowledgedTail = 0;
  readonly #thread: SimulatedThread;
  readonly #records = new Map<number, ThreadRecord>();
  readonly #settlements = new Map<string, Settlement>();

  constructor(thread: SimulatedThread) {
    this.#thread = thread;
  }

  async page(after: number, limit: number): Promise<void> {
    const asked = this.acknowledgedTail;
    const { records, tail } = await this.#thread.page(after, limit);
    this.#readTo(tail, asked);
    for (const [index, record] of records.entries()) {
      deepStrictEqual(record.sequence, after + index + 1, "a page is contiguous");
      deepStrictEqual(record, this.#records.get(record.sequence) ?? record, "records stay");
      this.#records.set(record.sequence, record);
    }
  }

  async tail(after: number): Promise<void> {
    const asked = this.acknowledgedTail;
    this.#readTo(await this.#thread.tailPast(after), asked);
  }

  /** What is accepted, as its submitter sees it now. */
  async view(submissionId: string): Promise<SubmissionView> {
    const wasSettled = this.#settlements.has(submissionId);
    const view = await this.#thread.submission(submissionId);
    if (wasSettled && view.settlement === undefined) {
      throw new Error(`${submissionId} was settled, and is ${view.state} again`);
    }
    this.learn(submissionId, view.settlement);
    return view;
  }

  /** The thread's state; every owed submission has words for why, and for what would move it. */
  async explain(): Promise<string> {
    const asked = this.acknowledgedTail;
    const { submissions, tail, state } = await this.#thread.explain();
    this.#readTo(tail, asked);
    if (submissions.some(({ why, next }) => why === "" || next === "")) {
      throw new Error("explain has no words for a submission");
    }
    return state;
  }

  /** A settlement never changes. */
  learn(submissionId: string, settlement: Settlement | undefined): void {
    if (settlement === undefined) return;
    const known = this.#settlements.get(submissionId) ?? settlement;
    deepStrictEqual(settlement, known, "a settlement never changes");
    this.#settlements.set(submissionId, settlement);
  }

  /** @param asked what was read before this was asked: the log is not shorter */
  #readTo(tail: number, asked: number): void {
    if (tail < asked) throw new Error(`the log ends at ${tail}, and ${asked} was read`);
    this.acknowledgedTail = Math.max(this.acknowledgedTail, tail);
  }
}
