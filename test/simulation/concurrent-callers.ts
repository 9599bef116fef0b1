// Several callers at once on one thread, with a crash among them: what each asked, what it was told, and when. The head of the thread waits for
// two decisions, and no run ever ends by itself, so that every end is one that a caller brought about.
import { must } from "../../shared/assert.ts";
import type { Failpoint } from "../../shared/failpoints.ts";
import type { PlannedTurn } from "../support/scripted-model.ts";
import type { Answer, Asked, OneDecision, Thread } from "./admission-spec.ts";
import { Faults, type ArmedCrash } from "./faults.ts";
import type { Call } from "./linearize.ts";
import { CRASH_MODES } from "./plan-commands.ts";
import { Random } from "./random.ts";
import { replyOf, type Reply } from "./reply.ts";
import { SimulatedThread } from "./simulated-thread.ts";

export interface History {
  readonly start: Thread;
  readonly calls: readonly Call<Asked, Answer>[];
  readonly crash: ArmedCrash | null;
  readonly thread: SimulatedThread;
}

/** What admissions, controls and the runs that they start pass. */
const POINTS: readonly Failpoint[] = [
  "submit:before",
  "submit:inside",
  "submit:after",
  "abort:inside",
  "abort:after",
  "decide:inside",
  "decide:after",
  "claim:inside",
  "claim:after",
  "intents:after",
  "settle:inside",
  "settle:after",
  "park:inside",
];

const KEYS = 3;
const CLIENTS = 3;
const MAX_TRIES = 20;

const guarded = { calls: [{ tool: "guarded" }, { tool: "guarded" }] };

/** Runs that wait for ever: for a person, and at a gate. */
function planOf(command: string, gate: string): readonly PlannedTurn[] {
  return command === "asks" ? [guarded, guarded] : [{ text: "done", gate }];
}

export async function recordHistory(seed: number): Promise<History> {
  const recorder = new Recorder(new Random(seed));
  await recorder.begin();
  await recorder.runClients();
  await recorder.end();
  return recorder.history();
}

class Recorder {
  readonly #random: Random;
  readonly #thread = new SimulatedThread("concurrent", KEYS);
  readonly #faults = new Faults();
  readonly #calls: Call<Asked, Answer>[] = [];
  readonly #submissions: string[] = [];
  #operations: readonly string[] = [];
  #start: Thread | null = null;
  #crash: ArmedCrash | null = null;
  #ticks = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  history(): History {
    const start = must(this.#start, "the thread has begun");
    return { start, calls: this.#calls, crash: this.#crash, thread: this.#thread };
  }

  async begin(): Promise<void> {
    const { receipt } = await this.#thread.submit([guarded, guarded], { key: "head" });
    const { submissionId } = receipt;
    await this.#thread.waitingFor(submissionId, "approval");
    await this.#thread.quiet();
    this.#operations = (await this.#thread.operations()).map(({ operationId }) => operationId);
    this.#submissions.push(submissionId);
    const head = { key: "head", command: "asks", submissionId, state: "active" } as const;
    this.#start = { admitted: [head], decisions: {} };
  }

  /** Nobody waits for another. */
  async runClients(): Promise<void> {
    const random = this.#random;
    if (random.chance(0.7)) {
      const mode = random.pick(CRASH_MODES);
      this.#faults.arm({ point: random.pick(POINTS), mode, hit: 1 + random.int(2) });
    }
    const plans = Array.from({ length: CLIENTS }, () =>
      Array.from({ length: 2 + random.int(2) }, () => this.#planCall()),
    );
    const crashes = random.chance(0.2) ? [replyOf(this.#thread.crash())] : [];
    const clients = plans.map(async (plan) => {
      for (const each of plan) {
        const asked = each();
        const isAnswered = await this.#call(asked);
        // A lost reply: the same again, with the same key.
        if (!isAnswered && asked.kind === "submit") await this.#call(asked);
      }
    });
    await Promise.all([...clients, ...crashes]);
  }

  /** Faults stop; everything is asked once more, one call after the other. */
  async end(): Promise<void> {
    this.#crash = this.#faults.take();
    this.#faults.stop();
    const commands = new Map(
      this.#calls.flatMap(({ asked }) =>
        asked.kind === "submit" ? [[asked.key, asked.command] as const] : [],
      ),
    );
    for (const [key, command] of commands) {
      await this.#callUntilAnswered({ kind: "submit", key, command });
    }
    for (const submissionId of this.#submissions) {
      await this.#callUntilAnswered({ kind: "read", submissionId });
    }
    await this.#thread.openAll();
  }

  /** What to ask, chosen now; of whom, when it is asked, as only then it is known who is there. */
  #planCall(): () => Asked {
    const random = this.#random;
    const index = random.int(8);
    switch (random.weighted({ submit: 4, abort: 4, decide: 5, read: 1 })) {
      case "submit": {
        const key = `key-${random.int(KEYS)}`;
        const command = random.chance(0.8) ? (index % 2 === 0 ? "asks" : "gated") : "other";
        return () => ({ kind: "submit", key, command });
      }
      case "abort":
        return () => ({ kind: "abort", submissionId: this.#submission(index) });
      case "decide": {
        const decisions = random.chance(0.4)
          ? this.#operations.map((operationId) => this.#planDecision(operationId))
          : [this.#planDecision(random.pick(this.#operations))];
        return () => ({ kind: "decide", decisions });
      }
      case "read":
        return () => ({ kind: "read", submissionId: this.#submission(index) });
    }
  }

  #planDecision(operationId: string): OneDecision {
    const decision = this.#random.weighted({ approve: 4, deny: 4, abort: 1 });
    return { operationId, decision };
  }

  #submission(index: number): string {
    return must(this.#submissions[index % this.#submissions.length], "the head is there");
  }

  async #callUntilAnswered(asked: Asked): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) if (await this.#call(asked)) return;
    throw new Error("no answer without a fault");
  }

  /** False when no answer came. */
  async #call(asked: Asked): Promise<boolean> {
    const askedAt = (this.#ticks += 1);
    const reply = await this.#ask(asked);
    const answeredAt = (this.#ticks += 1);
    switch (reply.kind) {
      case "answer":
        this.#calls.push({ asked, answer: reply.answer, askedAt, answeredAt });
        return true;
      case "refusal": {
        const answer: Answer = { kind: "refused", code: reply.code };
        this.#calls.push({ asked, answer, askedAt, answeredAt });
        return true;
      }
      case "broken":
        // A read without an answer did nothing.
        if (asked.kind !== "read") {
          this.#calls.push({ asked, answer: null, askedAt, answeredAt: Infinity });
        }
        return false;
    }
  }

  #ask(asked: Asked): Promise<Reply<Answer>> {
    switch (asked.kind) {
      case "submit":
        return replyOf(this.#submit(asked.key, asked.command));
      case "abort":
        return replyOf(this.#thread.abort(asked.submissionId).then(({ effect }) => say(effect)));
      case "decide": {
        const made = asked.decisions.map(
          ({ operationId, decision }) =>
            ({
              operationId,
              decision:
                decision === "abort" ? decision : decision === "deny" ? decision : "approve",
            }) as const,
        );
        return replyOf(
          this.#thread
            .decideTogether(...made)
            .then((statuses): Answer => ({ kind: "decided", statuses })),
        );
      }
      case "read":
        return replyOf(this.#thread.submission(asked.submissionId).then(({ state }) => say(state)));
    }
  }

  async #submit(key: string, command: string): Promise<Answer> {
    const gate = this.#thread.gateOf(Number(key.slice("key-".length)));
    const options = { key, note: command };
    const { receipt, replayed } = await this.#thread.submit(planOf(command, gate), options);
    const { submissionId, queueSequence } = receipt;
    if (!this.#submissions.includes(submissionId)) this.#submissions.push(submissionId);
    return { kind: "receipt", submissionId, queueSequence, replayed };
  }
}

function say(said: string): Answer {
  return { kind: "said", said };
}
