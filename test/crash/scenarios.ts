// The flows that are crashed at every point: each is a client that behaves as a good one would. It repeats what got no answer with the same
// key, fires alarms, and decides what waits for it, until all is settled.
import type { Failpoint } from "../../shared/failpoints.ts";
import type { Operation } from "../../shared/wire/operations.ts";
import type { Outcome, Settlement } from "../../shared/wire/settlement.ts";
import type { OnBusy, Receipt, SubmissionView } from "../../shared/wire/submission.ts";
import type { PlannedTurn } from "../support/scripted-model.ts";
import { testOptions } from "../support/test-options.ts";
import { ThreadDriver, type MadeDecision } from "../support/thread-driver.ts";
import { world, type CrashMode } from "../support/world.ts";

export interface Scenario {
  readonly name: string;
  readonly submissions: readonly {
    readonly plan: readonly PlannedTurn[];
    readonly agent?: string;
    readonly onBusy?: OnBusy;
  }[];
  /** The outcomes of the uninterrupted flow, and so of every other. */
  readonly ends: readonly Outcome[];
  /** What the person decides; unknown outcomes are decided by what the stubs counted. */
  readonly approvals?: "approve" | "deny";
  /** Decides everything that waits in one request, and edits the first call of each turn that asks. */
  readonly together?: true;
  /** Aborts the submission of this index as soon as it is accepted. */
  readonly abort?: number;
  /** Aborts after a kill, before any alarm. */
  readonly abortAtOnce?: true;
  /** Where the joined run ended before a crash let the input in, that gets its own run, and with it an output. */
  readonly mayRunApart?: true;
  /** The event's time is up after the first tool call: the run yields at its turn boundary. */
  readonly yields?: true;
  /** An authorizer that fails until the run is parked and a person retries it. */
  readonly poison?: true;
  /** While the run waits for approval, a deployment without its agent comes: it goes again, or stays until the run's deadline. */
  readonly agentGone?: "for-a-while" | "for-good";
  /** A crash that belongs to the flow itself: what comes after it is crashed again. */
  readonly before?: { readonly point: Failpoint; readonly mode: CrashMode };
}

const act = { calls: [{ tool: "act" }] };
const done = { text: "done" };

export const SCENARIOS: readonly Scenario[] = [
  { name: "one turn", ends: ["completed"], submissions: [{ plan: [done] }] },
  {
    name: "tools of every effect",
    ends: ["completed"],
    submissions: [
      { plan: [{ calls: [{ tool: "look" }, { tool: "bump" }, { tool: "act" }] }, act, done] },
    ],
  },
  {
    name: "steps of a call that repeats, and of one that resumes",
    ends: ["completed"],
    submissions: [
      {
        plan: [
          { calls: [{ tool: "bump", input: { behave: "steps" } }] },
          { calls: [{ tool: "resume", input: { behave: "steps" } }] },
          done,
        ],
      },
    ],
  },
  {
    name: "faulty calls beside a good one",
    ends: ["completed"],
    submissions: [{ plan: [{ calls: [{ tool: "nothing" }, { tool: "look" }] }, done] }],
  },
  {
    name: "two in the queue",
    ends: ["completed", "completed"],
    submissions: [{ plan: [act, done] }, { plan: [done] }],
  },
  {
    name: "joined by another",
    ends: ["completed", "completed"],
    submissions: [{ plan: [act, done] }, { plan: [act, done], onBusy: "join" }],
    mayRunApart: true,
  },
  {
    name: "joined by another, and restarted for it",
    ends: ["completed", "completed"],
    submissions: [
      { plan: [act, done], agent: "restarting" },
      { plan: [done], agent: "restarting", onBusy: "join" },
    ],
    mayRunApart: true,
  },
  {
    name: "approved",
    ends: ["completed"],
    submissions: [{ plan: [{ calls: [{ tool: "guarded" }, { tool: "look" }] }, done] }],
    approvals: "approve",
  },
  {
    name: "denied",
    ends: ["completed"],
    submissions: [{ plan: [{ calls: [{ tool: "guarded" }] }, done] }],
    approvals: "deny",
  },
  {
    name: "decided together, one of them edited",
    ends: ["completed"],
    submissions: [
      { plan: [{ calls: [{ tool: "guarded" }, { tool: "guarded" }, { tool: "look" }] }, done] },
    ],
    together: true,
  },
  {
    name: "external call lost, decided together with an edit of the run behind it",
    ends: ["completed", "completed"],
    submissions: [{ plan: [act, done] }, { plan: [{ calls: [{ tool: "guarded" }] }, done] }],
    before: { point: "tool:after-handler", mode: "sync-abort" },
    together: true,
  },
  {
    name: "model fails once",
    ends: ["completed"],
    submissions: [{ plan: [{ text: "done", fail: { how: "http", status: 503, times: 1 } }] }],
  },
  {
    name: "model fails for good",
    ends: ["failed"],
    submissions: [{ plan: [{ fail: { how: "http", status: 400 } }] }],
  },
  {
    name: "budget used up",
    ends: ["completed"],
    submissions: [
      {
        plan: [{ calls: [{ tool: "look" }, { tool: "look" }, { tool: "look" }] }, done],
        agent: "frugal",
      },
    ],
  },
  {
    name: "answer repaired",
    ends: ["completed"],
    submissions: [{ plan: [{ text: "{}" }, { text: '{"answer":"1"}' }], agent: "structured" }],
  },
  {
    name: "result handed in by its tool",
    ends: ["completed"],
    submissions: [
      {
        plan: [
          { calls: [{ tool: "look" }] },
          { calls: [{ tool: "submit_result", input: { answer: "1" } }] },
        ],
        agent: "submitting",
      },
    ],
  },
  {
    name: "aborted while it waits",
    ends: ["aborted", "completed"],
    submissions: [{ plan: [{ calls: [{ tool: "guarded" }] }, done] }, { plan: [done] }],
    abort: 0,
  },
  {
    name: "model call lost",
    ends: ["completed"],
    submissions: [{ plan: [act, done] }],
    before: { point: "model:after-call", mode: "sync-abort" },
  },
  {
    name: "external call lost",
    ends: ["completed", "completed"],
    submissions: [{ plan: [act, done] }, { plan: [done] }],
    before: { point: "tool:after-handler", mode: "sync-abort" },
  },
  {
    name: "intents lost",
    ends: ["completed"],
    submissions: [{ plan: [{ calls: [{ tool: "act" }, { tool: "bump" }] }, done] }],
    before: { point: "intents:after", mode: "sync-abort" },
  },
  {
    name: "killed in a call, then aborted before the alarm",
    ends: ["aborted"],
    submissions: [{ plan: [act, done] }],
    before: { point: "tool:after-handler", mode: "sync-abort" },
    abort: 0,
    abortAtOnce: true,
  },
  {
    name: "yields at the event's deadline",
    ends: ["completed"],
    submissions: [{ plan: [{ calls: [{ tool: "act", input: { behave: "take-time" } }] }, done] }],
    yields: true,
  },
  {
    name: "agent gone for a while",
    ends: ["completed"],
    submissions: [{ plan: [{ calls: [{ tool: "guarded" }] }, done] }],
    agentGone: "for-a-while",
  },
  {
    name: "agent gone for good",
    ends: ["failed"],
    submissions: [{ plan: [{ calls: [{ tool: "guarded" }] }, done] }],
    agentGone: "for-good",
  },
  {
    name: "poisoned, then retried",
    ends: ["completed"],
    submissions: [{ plan: [act, done] }],
    poison: true,
  },
];

/** What a flow ended in. */
export interface ScenarioEnd {
  readonly thread: ThreadDriver;
  readonly settlements: readonly Settlement[];
  readonly receipts: readonly { readonly key: string; readonly receipt: Receipt }[];
  /** States and wait reasons that the client saw on the way. */
  readonly seen: ReadonlySet<string>;
}

const MAX_ROUNDS = 60;

/** Retries and backoffs come within it; deadlines of runs that wait for people do not. */
const SOON_MILLIS = 60_000;

/** Runs the flow to its end, through whatever crashes are armed. */
export async function runScenario(scenario: Scenario): Promise<ScenarioEnd> {
  const thread = new ThreadDriver("crash");
  const client = new ScenarioClient(thread, scenario);
  let isPoisoned = scenario.poison === true;
  testOptions.agents = (all) => all;
  testOptions.authorize = () =>
    isPoisoned ? Promise.reject(new Error("the authorizer is down")) : true;
  if (scenario.yields === true) {
    testOptions.limits = { event: { yieldAfterMillis: 1_000, ceilingMillis: 600_000 } };
  }
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    await client.submitAll();
    await client.look();
    await client.abortOnce();
    await attempt(() => thread.runAlarms(3, SOON_MILLIS));
    if (scenario.agentGone !== undefined) await client.redeploy(scenario.agentGone);
    await client.decideAll();
    const parked = await client.parked();
    if (parked !== null) {
      isPoisoned = false;
      await attempt(() => thread.retry(parked));
    }
    const settlements = await client.settlements();
    if (settlements !== null) {
      await attempt(() => thread.runAlarms(3, SOON_MILLIS));
      return { thread, settlements, receipts: client.receipts, seen: client.seen };
    }
  }
  const stuck = await thread.explain();
  throw new Error(`not settled after ${MAX_ROUNDS} rounds: ${JSON.stringify(stuck)}`);
}

/** A call that a crash may break off: the client asks again in its next round. */
async function attempt<T>(call: () => Promise<T>): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof TypeError) throw error;
    return null;
  }
}

class ScenarioClient {
  readonly receipts: { key: string; receipt: Receipt }[] = [];
  readonly seen = new Set<string>();
  readonly #thread: ThreadDriver;
  readonly #scenario: Scenario;
  readonly #accepted = new Map<number, Receipt>();
  #hasAborted = false;
  #hasRedeployed = false;

  constructor(thread: ThreadDriver, scenario: Scenario) {
    this.#thread = thread;
    this.#scenario = scenario;
  }

  async submitAll(): Promise<void> {
    for (const [index, { plan, agent, onBusy }] of this.#scenario.submissions.entries()) {
      if (this.#accepted.has(index)) continue;
      const key = `submission-${index}`;
      // Of this thread alone, so that a model that fails once fails once for each.
      const note = this.#thread.threadId;
      const options = {
        key,
        note,
        ...(agent === undefined ? {} : { agent }),
        ...(onBusy === undefined ? {} : { onBusy }),
      };
      const result = await attempt(() => this.#thread.submit(plan, options));
      if (result === null) return;
      this.#accepted.set(index, result.receipt);
      this.receipts.push({ key, receipt: result.receipt });
    }
  }

  /** Notes what a caller can see at this moment. */
  async look(): Promise<void> {
    for (const receipt of this.#accepted.values()) await this.#view(receipt);
  }

  async abortOnce(): Promise<void> {
    const { abort } = this.#scenario;
    const receipt = abort === undefined ? undefined : this.#accepted.get(abort);
    if (receipt === undefined || this.#hasAborted) return;
    const view = await this.#view(receipt);
    const isTime =
      this.#scenario.abortAtOnce === true
        ? world.executions.has(`${receipt.submissionId.replace("sub", "run")}.t1.c0`)
        : view?.wait?.reason === "approval";
    if (!isTime && view?.state !== "settled") return;
    const result = await attempt(() => this.#thread.abort(receipt.submissionId));
    this.#hasAborted = result?.settlement !== undefined;
  }

  /** Takes the agent away once the run asks for approval, and brings it back, or lets the deadline pass, once the run waits for it. */
  async redeploy(agentGone: NonNullable<Scenario["agentGone"]>): Promise<void> {
    const reasons = new Set<string | undefined>();
    for (const receipt of this.#accepted.values()) {
      reasons.add((await this.#view(receipt))?.wait?.reason);
    }
    if (reasons.has("binding") && agentGone === "for-good") {
      await attempt(() => this.#thread.runAlarms(3));
    } else if (reasons.has("binding")) {
      testOptions.agents = (all) => all;
      await attempt(() => this.#thread.evict());
      await attempt(() => this.#thread.runAlarms(3, SOON_MILLIS));
    } else if (reasons.has("approval")) {
      testOptions.agents = (all) => all.filter(({ id }) => id !== "plain");
      this.#hasRedeployed = true;
      await attempt(() => this.#thread.evict());
    }
  }

  async decideAll(): Promise<void> {
    const { abort, agentGone } = this.#scenario;
    if (abort !== undefined || (agentGone !== undefined && !this.#hasRedeployed)) return;
    const operations = (await attempt(() => this.#thread.operations())) ?? [];
    const decisions = operations.map((operation) => this.#decisionOn(operation));
    for (const { decision } of decisions) this.seen.add(decision);
    const requests =
      this.#scenario.together === true && decisions.length > 0
        ? [decisions]
        : decisions.map((decision) => [decision]);
    for (const request of requests) await attempt(() => this.#thread.decideTogether(...request));
  }

  #decisionOn({ operationId, kind }: Operation): MadeDecision {
    if (kind === "approval") {
      return this.#scenario.together === true && operationId.endsWith(".c0")
        ? { operationId, decision: "edit", arguments: { value: "edited" } }
        : { operationId, decision: this.#scenario.approvals ?? "approve" };
    }
    // The person looks outside: did it happen?
    const ran = world.executions.get(operationId) ?? 0;
    return ran > 0
      ? { operationId, decision: "completed", result: "done" }
      : { operationId, decision: "never-started" };
  }

  /** A submission that was parked for too many attempts, if any. */
  async parked(): Promise<string | null> {
    for (const receipt of this.#accepted.values()) {
      const view = await this.#view(receipt);
      if (view?.wait?.reason === "attempts-exhausted") return receipt.submissionId;
    }
    return null;
  }

  /** All settlements, or null while one is owed. */
  async settlements(): Promise<Settlement[] | null> {
    if (this.#accepted.size < this.#scenario.submissions.length) return null;
    const settlements: Settlement[] = [];
    for (const receipt of this.#accepted.values()) {
      const view = await this.#view(receipt);
      if (view?.settlement === undefined) return null;
      settlements.push(view.settlement);
    }
    return settlements;
  }

  async #view(receipt: Receipt): Promise<SubmissionView | null> {
    const view = await attempt(() => this.#thread.submission(receipt.submissionId));
    if (view !== null) {
      this.seen.add(view.state);
      if (view.wait !== undefined) this.seen.add(view.wait.reason);
    }
    return view;
  }
}
