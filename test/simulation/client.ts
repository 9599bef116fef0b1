// The callers of a simulated thread: carries out what they ask for, and says what came of it.
import type { Request } from "./commands.ts";
import { Decider, type Decided } from "./decider.ts";
import { Reader } from "./reader.ts";
import { BROKEN, replyOf, said } from "./reply.ts";
import type { SimulatedThread } from "./simulated-thread.ts";
import { Submitter } from "./submitter.ts";

export class Client {
  readonly submitter: Submitter;
  readonly decider: Decider;
  readonly reader: Reader;
  readonly #thread: SimulatedThread;
  readonly #note: (seen: string) => void;

  /** @param note told of what was seen, for the counters of a whole run */
  constructor(thread: SimulatedThread, note: (seen: string) => void) {
    this.#thread = thread;
    this.#note = note;
    this.submitter = new Submitter(thread);
    this.decider = new Decider(thread);
    this.reader = new Reader(thread);
  }

  /** In words without ids, so that two runs of one seed say the same. */
  async request(request: Request): Promise<string> {
    const came = await this.#carryOut(request);
    this.#note(`${request.kind}: ${came}`);
    return came;
  }

  async #carryOut(request: Request): Promise<string> {
    switch (request.kind) {
      case "submit":
        return this.#submit(request);
      case "abort":
        return this.#abort(request.submission);
      case "decide":
        return this.#afterDecision(
          this.decider.decide(request.operation, request.approval, request.loss),
        );
      case "decide-all":
        return this.#afterDecision(this.decider.decideAll(request.approval));
      case "retry":
        return this.#retry(request.submission);
      case "read-page":
        return said(await replyOf(this.reader.page(request.after, request.limit)), () => "read");
      case "await-progress":
        return said(await replyOf(this.reader.tail(request.after)), () => "read");
      case "view":
        return this.#view(request.submission);
      case "explain":
        return said(await replyOf(this.reader.explain()), (state) => state);
    }
  }

  async #submit({ key, script, onBusy, reply }: Request & { kind: "submit" }): Promise<string> {
    const came = await this.submitter.submit(key, { script, onBusy }, reply === "lost");
    if (came === "accepted") this.#note(`accepted: ${onBusy}`);
    const mayInterrupt = onBusy === "interrupt" && came !== BROKEN;
    // Whoever was interrupted is gone from the gate.
    if (mayInterrupt) await replyOf(this.#thread.openGate(...this.#thread.heldGates));
    return came;
  }

  async #abort(index: number): Promise<string> {
    // Where there is none, an id that was never given out.
    const submissionId = this.submitter.receipt(index)?.submissionId ?? "sub-9-aaaaaaaaaaaaaaaa";
    const reply = await replyOf(this.#thread.abort(submissionId));
    if (reply.kind === "answer") {
      this.reader.learn(submissionId, reply.answer.settlement);
      await this.#letGo(submissionId);
    }
    return said(reply, ({ effect }) => effect);
  }

  async #retry(index: number): Promise<string> {
    const receipt = this.submitter.receipt(index);
    if (receipt === null) return "nothing to retry";
    return said(await replyOf(this.#thread.retry(receipt.submissionId)), (effect) => effect);
  }

  async #view(index: number): Promise<string> {
    const receipt = this.submitter.receipt(index);
    if (receipt === null) return "nothing to view";
    return said(await replyOf(this.reader.view(receipt.submissionId)), ({ state, wait }) => {
      if (wait !== undefined) this.#note(`wait: ${wait.reason}`);
      return state;
    });
  }

  async #afterDecision(made: Promise<Decided>): Promise<string> {
    const { came, applied, aborted } = await made;
    for (const decision of applied) this.#note(`decided: ${decision}`);
    for (const submissionId of aborted) await this.#letGo(submissionId);
    return came;
  }

  /** An aborted run leaves the gate that it waits at, whether or not the handler there listens: the gate holds nobody any more. */
  async #letGo(submissionId: string): Promise<void> {
    const key = this.submitter.keyOf(submissionId);
    if (key === null) return;
    const gate = this.#thread.gateOf(key);
    if (this.#thread.isWaitingAt(gate)) await replyOf(this.#thread.openGate(gate));
  }
}
