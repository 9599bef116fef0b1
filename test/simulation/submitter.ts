// Who submits: repeats what got no answer with the same key, and finds out when a key has two receipts, or admits two commands.
import { deepStrictEqual } from "node:assert";
import { must } from "../../shared/assert.ts";
import { OnBusySchema, type OnBusy, type Receipt } from "../../shared/wire/submission.ts";
import { Once } from "./once.ts";
import { BROKEN, replyOf } from "./reply.ts";
import { isScript, planOf, type ScriptName } from "./scripts.ts";
import type { SimulatedThread } from "./simulated-thread.ts";

/** What a key is for: the whole command, so that another of the two is another command. */
export interface Work {
  readonly script: ScriptName;
  readonly onBusy: OnBusy;
}

export class Submitter {
  /** As they came, replays included. */
  readonly receipts: { readonly key: string; readonly receipt: Receipt }[] = [];
  readonly #thread: SimulatedThread;
  readonly #commands = new Map<number, Once>();
  readonly #accepted = new Map<number, Receipt>();

  constructor(thread: SimulatedThread) {
    this.#thread = thread;
  }

  /** The first receipt of each key, in the order they came. */
  get accepted(): Receipt[] {
    return [...this.#accepted.values()];
  }

  /** The receipt of that number, which goes round. */
  receipt(index: number): Receipt | null {
    const { accepted } = this;
    return accepted[index % Math.max(accepted.length, 1)] ?? null;
  }

  keyOf(submissionId: string): number | null {
    for (const [key, receipt] of this.#accepted) {
      if (receipt.submissionId === submissionId) return key;
    }
    return null;
  }

  async submit(key: number, work: Work, isReplyLost = false): Promise<string> {
    const { script, onBusy } = work;
    const value = renderWork(work);
    const command = this.#command(key);
    command.begin(value);
    const plan = planOf(script, this.#thread.gateOf(key));
    // Of this thread alone, so that a model that fails once fails once for each.
    const options = { key: `key-${key}`, note: `${this.#thread.threadId} ${key}`, onBusy };
    const reply = await replyOf(this.#thread.submit(plan, options));
    if (isReplyLost && reply.kind === "answer") return "reply lost";
    if (reply.kind === "broken") return BROKEN;
    if (reply.kind === "refusal") {
      if (reply.code === "IdempotencyConflict") command.conflicted(value);
      else command.refused(value);
      return reply.code;
    }
    const { receipt, replayed } = reply.answer;
    if (replayed) command.replayed(value);
    else command.applied(value);
    deepStrictEqual(receipt, this.#accepted.get(key) ?? receipt, "one key has one receipt");
    this.#accepted.set(key, receipt);
    this.receipts.push({ key: `key-${key}`, receipt });
    return replayed ? "replayed" : "accepted";
  }

  /** A caller without an answer asks again until it has one. True when there was one. */
  async submitUnanswered(): Promise<boolean> {
    let wasUnanswered = false;
    for (const [key, command] of this.#commands) {
      for (const value of command.taken === null ? command.possible : []) {
        wasUnanswered = true;
        const came = await this.submit(key, workOf(value));
        if (came === BROKEN) throw new Error("a submission broke off without a fault");
        if (command.taken !== null) break;
      }
    }
    return wasUnanswered;
  }

  /** Every key that was accepted has its receipt still. */
  async replayAll(): Promise<void> {
    for (const [key, { taken }] of this.#commands) {
      if (taken === null) continue;
      const came = await this.submit(key, workOf(taken));
      if (came !== "replayed") throw new Error(`the replay of key ${key}: ${came}`);
    }
  }

  #command(key: number): Once {
    const known = this.#commands.get(key) ?? new Once(`key ${key}`);
    this.#commands.set(key, known);
    return known;
  }
}

function renderWork({ script, onBusy }: Work): string {
  return `${script}/${onBusy}`;
}

function workOf(rendered: string): Work {
  const [name = "", onBusy] = rendered.split("/");
  const script = must(isScript(name) ? name : null, "a command is a script's");
  return { script, onBusy: OnBusySchema.parse(onBusy) };
}
