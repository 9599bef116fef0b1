// Random runs, driven through the fold and the decision with simulated answers and crashes: whatever happens, a run ends once.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { must } from "../../../shared/assert.ts";
import type { AgentPolicy, AgentPolicyInput } from "../../../shared/wire/policy.ts";
import { AgentPolicySchema } from "../../../shared/wire/policy.ts";
import type { DecisionKind } from "../../../shared/wire/operations.ts";
import type { RecordDraft, ToolOutcome } from "../../../shared/wire/records.ts";
import { withBudgetWarnings } from "../../../durable-objects/thread/run/budget-drafts.ts";
import type { RunUsage } from "../../../shared/wire/usage.ts";
import { decideBatchExhaustion } from "../../../durable-objects/context/exhaustion.ts";
import type { StoredRecord } from "../../../durable-objects/thread/journal/journal.store.ts";
import { decideStep } from "../../../durable-objects/thread/run/decide-step.ts";
import { foldRecord, foldRun } from "../../../durable-objects/thread/run/fold-run.ts";
import {
  planSettlement,
  unknownDraft,
} from "../../../durable-objects/thread/run/plan-settlement.ts";
import {
  openCalls,
  type RunState,
  type TurnState,
} from "../../../durable-objects/thread/run/run-state.ts";
import {
  abortAsked,
  asked,
  call,
  DEADLINE,
  decided,
  facts,
  interrupted,
  joined,
  log,
  modelFailed,
  OPENING,
  prepared,
  responded,
  settled,
  T0,
} from "../support/builders.ts";

type EffectOfCall = "read" | "idempotent" | "external" | "asks";

/** What the world does with each step; steps beyond the script get its end. */
interface World {
  readonly calls: readonly EffectOfCall[];
  readonly outcome: ToolOutcome;
  readonly crash: "never" | "after-intents" | "during-call";
  readonly fails: boolean;
  readonly tokens: number;
  readonly costMicrousd: number;
  /** What the next call is estimated to take. */
  readonly estimate: number;
  /** The answer fits the output schema. */
  readonly fits: boolean;
  readonly decision: Exclude<DecisionKind, "abort">;
  readonly isDecided: boolean;
  readonly abort: boolean;
  readonly passesMillis: number;
  /** Input of another submission waits to join. */
  readonly joins: boolean;
}

const worldArb: fc.Arbitrary<World> = fc.record({
  calls: fc.array(fc.constantFrom("read", "idempotent", "external", "asks"), { maxLength: 4 }),
  outcome: fc.constantFrom("success", "success", "failure", "timeout", "invalid"),
  crash: fc.constantFrom("never", "never", "after-intents", "during-call"),
  fails: fc.boolean(),
  tokens: fc.nat({ max: 60 }),
  costMicrousd: fc.nat({ max: 20 }),
  estimate: fc.integer({ min: 1, max: 60 }),
  fits: fc.boolean(),
  decision: fc.constantFrom("completed", "failed", "never-started", "safe-to-retry"),
  isDecided: fc.boolean(),
  abort: fc.nat({ max: 30 }).map((n) => n === 0),
  passesMillis: fc.constantFrom(1, 10, 20_000),
  joins: fc.boolean(),
});

const policyArb: fc.Arbitrary<AgentPolicyInput> = fc
  .record({
    maxTurns: fc.integer({ min: 1, max: 5 }),
    maxToolCalls: fc.integer({ min: 0, max: 8 }),
    repeatedFailureLimit: fc.integer({ min: 0, max: 4 }),
    onExhaustion: fc.constantFrom("final-answer" as const, "fail" as const),
    tokenBudget: fc.integer({ min: 1, max: 400 }),
    costBudgetMicrousd: fc.integer({ min: 1, max: 80 }),
    reserve: fc.nat({ max: 99 }),
    restartOnJoinedInput: fc.boolean(),
  })
  .map(({ reserve, ...policy }) => ({
    ...policy,
    completionReserveTokens: Math.floor((policy.tokenBudget * reserve) / 100),
  }));

/** What a world that never tires does when the script is over: the model answers. */
const CALM: World = {
  calls: [],
  outcome: "success",
  crash: "never",
  fails: false,
  tokens: 1,
  costMicrousd: 0,
  estimate: 1,
  fits: true,
  decision: "completed",
  isDecided: false,
  abort: false,
  passesMillis: 1,
  joins: false,
};

class Simulation {
  readonly drafts: { draft: RecordDraft; epoch: number | null }[] = [];
  /** Starts of external handlers by operation and dispatch. */
  readonly dispatched: string[] = [];
  waits: string[] = [];
  /** What was known when each call of the model was let through. */
  readonly admitted: {
    readonly usage: RunUsage;
    readonly estimate: number;
    readonly isGrace: boolean;
  }[] = [];
  readonly #script: World[];
  readonly #policy: AgentPolicy;
  #now = T0 + 10;
  #epoch = 1;
  #superseded: number | null = null;
  steps = 0;

  constructor(script: readonly World[], policy: AgentPolicyInput) {
    this.#script = [...script];
    this.#policy = AgentPolicySchema.parse(policy);
    this.append(...OPENING);
  }

  /** As a commit of an attempt does: with the warnings that its records call for. */
  append(...drafts: readonly RecordDraft[]): void {
    const state = foldRun(this.stored);
    const all =
      state === null ? drafts : withBudgetWarnings(state, this.#policy, drafts, this.#now);
    for (const draft of all) this.drafts.push({ draft, epoch: this.#epoch });
  }

  control(...drafts: readonly RecordDraft[]): void {
    for (const draft of drafts) this.drafts.push({ draft, epoch: null });
  }

  get stored(): StoredRecord[] {
    return log(this.drafts);
  }

  get state(): RunState {
    return must(foldRun(this.stored), "the run began");
  }

  #crash(): void {
    this.#superseded = this.#epoch;
    this.#epoch += 1;
  }

  /** Runs to a settlement or to a wait that nobody ends. */
  run(): "settled" | "waits" {
    for (this.steps = 0; this.steps < 400; this.steps += 1) {
      const { state } = this;
      if (state.settlement !== null) return "settled";
      const world = this.#script.shift() ?? CALM;
      this.#now += world.passesMillis;
      if (world.abort && state.abort === null) {
        this.control(abortAsked());
        continue;
      }
      const step = decideStep(state, {
        ...facts({ now: this.#now }),
        policy: this.#policy,
        supersededEpoch: this.#superseded,
        hasJoiners: world.joins,
        estimateCallTokens: () => world.estimate,
        decodeOutput: (text) =>
          text === "words" ? { ok: true, value: text } : { ok: false, faults: [] },
        hasOutputSchema: true,
      });
      switch (step.kind) {
        case "settle":
          this.append(...planSettlement(state, step.ending));
          break;
        case "join-inputs":
          this.append(joined(state.joined.length + 2));
          break;
        case "note-interruption":
          this.append(interrupted(step.turn, step.supersededEpoch));
          break;
        case "call-model":
          this.admitted.push({
            usage: state.usage,
            estimate: world.estimate,
            isGrace: step.graceFor !== null,
          });
          this.#callModel(state, step, world);
          break;
        case "mark-unknown":
          this.append(
            ...step.calls.map((lost) => unknownDraft(state, step.turn, lost, "attempt-lost")),
          );
          break;
        case "run-tools":
          this.#runTools(state, step.turn, world);
          break;
        case "wait":
          if (step.wait.reason === "retry-backoff") this.#now = must(step.wait.dueAt, "due");
          else if (world.isDecided) this.#decide(state, world);
          else {
            this.waits.push(step.wait.reason);
            return "waits";
          }
          break;
      }
    }
    throw new Error("the run does not end");
  }

  #callModel(
    state: RunState,
    step: { readonly turn: number; readonly graceFor: "turns" | "tool-calls" | "tokens" | null },
    world: World,
  ): void {
    if (world.crash === "during-call") return this.#crash();
    if (world.fails && state.modelFailures < 3) {
      const retryAt = this.#now + 100;
      this.append(modelFailed(step.turn, state.modelFailures + 1, retryAt));
      return;
    }
    this.append(
      responded(step.turn, {
        text: world.fits ? "words" : "drivel",
        costMicrousd: world.costMicrousd,
        calls: world.calls.map((effect) => call(effect)),
        usage: { inputTokens: world.tokens },
        ...(step.graceFor === null ? {} : { graceFor: step.graceFor }),
      }),
    );
  }

  #runTools(state: RunState, turn: TurnState, world: World): void {
    const open = openCalls(state);
    const uncounted = open.filter((each) => each.dispatch === 0).length;
    const exhausted = decideBatchExhaustion(this.#policy, state.usage, uncounted);
    if (exhausted !== null) {
      for (const each of open) {
        this.append(
          settled(turn.turn, each.index, "budget-rejected", { by: "runtime", exhausted }),
        );
      }
      return;
    }
    const asking = open.filter((each) => each.toolName === "asks" && each.phase === "declared");
    if (asking.length > 0) {
      this.append(...asking.map((each) => asked(turn.turn, each.index)));
      return;
    }
    const denied = open.filter((each) => each.phase === "denied");
    for (const each of denied) this.append(settled(turn.turn, each.index, "denied"));
    const running = open.filter((each) => each.phase !== "denied");
    const intents = running.filter((each) => each.toolName !== "read" && each.phase !== "prepared");
    if (intents.length > 0) {
      this.append(
        prepared(
          turn.turn,
          ...intents.map((each) => ({
            index: each.index,
            effect:
              each.toolName === "idempotent" ? ("idempotent" as const) : ("external" as const),
            dispatch: each.dispatch + 1,
          })),
        ),
      );
    }
    for (const each of intents) {
      if (each.toolName === "idempotent") continue;
      this.dispatched.push(`${each.operationId}#${each.dispatch + 1}`);
    }
    for (const [position, each] of running.entries()) {
      // The world loses the attempt while the second handler runs.
      if (world.crash === "after-intents" && position === 1) return this.#crash();
      this.append(settled(turn.turn, each.index, world.outcome));
    }
  }

  #decide(state: RunState, world: World): void {
    const turn = must(state.turns.at(-1), "a wait has a turn").turn;
    for (const each of openCalls(state)) {
      if (each.phase === "awaiting-approval") {
        this.control(decided(turn, each.index, world.fails ? "deny" : "approve", 0));
      }
      if (each.phase !== "unknown") continue;
      this.control(decided(turn, each.index, world.decision, each.dispatch));
      if (world.decision === "completed" || world.decision === "failed") {
        const outcome = world.decision === "completed" ? "success" : "failure";
        this.control(settled(turn, each.index, outcome, { by: "decision" }));
      }
    }
  }
}

const RUNS = { numRuns: 250 };

function everyRun(check: (simulation: Simulation, policy: AgentPolicy) => void): void {
  const scripts = fc.array(worldArb, { maxLength: 25 });
  fc.assert(
    fc.property(scripts, policyArb, (script, policy) => {
      const simulation = new Simulation(script, policy);
      simulation.run();
      check(simulation, AgentPolicySchema.parse(policy));
    }),
    RUNS,
  );
}

function count(simulation: Simulation, type: RecordDraft["type"]): number {
  return simulation.drafts.filter(({ draft }) => draft.type === type).length;
}

function countOwn(simulation: Simulation, type: RecordDraft["type"]): number {
  const { submissionId } = simulation.state;
  return simulation.drafts.filter(
    ({ draft }) =>
      draft.type === type && "submissionId" in draft && draft.submissionId === submissionId,
  ).length;
}

describe("[RUN-01] any run", () => {
  it("[RUN-11] ends in exactly one settlement, or waits for a person", () => {
    everyRun((simulation) => {
      const settlements = countOwn(simulation, "SubmissionSettled");
      expect(settlements).toBeLessThanOrEqual(1);
      expect(settlements === 1).toBe(simulation.waits.length === 0);
      for (const wait of simulation.waits) expect(["approval", "unknown-outcome"]).toContain(wait);
    });
  });

  it("folds to the same state every time, and from any prefix on", () => {
    fc.assert(
      fc.property(
        fc.array(worldArb, { maxLength: 15 }),
        policyArb,
        fc.nat(),
        (script, policy, cut) => {
          const simulation = new Simulation(script, policy);
          simulation.run();
          const { stored } = simulation;
          const whole = foldRun(stored);
          expect(foldRun(simulation.stored)).toEqual(whole);
          const at = 1 + (cut % stored.length);
          let state = must(foldRun(stored.slice(0, at)), "a prefix has the run");
          for (const rest of stored.slice(at)) state = foldRecord(state, rest);
          expect(state).toEqual(whole);
        },
      ),
      RUNS,
    );
  });

  it("[CTX-14] takes at most maxTurns turns and one grace turn", () => {
    everyRun((simulation, policy) => {
      const { turns } = simulation.state;
      const grace = turns.filter((turn) => turn.graceFor !== null);
      expect(turns.length).toBeLessThanOrEqual(policy.maxTurns + 1);
      expect(grace.length).toBeLessThanOrEqual(policy.onExhaustion === "fail" ? 0 : 1);
      if (grace.length === 1) expect(turns.at(-1)).toBe(grace[0]);
    });
  });

  it("[CTX-36, CTX-12] is never past the check that should have stopped it", () => {
    everyRun(({ admitted }, policy) => {
      const { tokenBudget = Infinity, completionReserveTokens, costBudgetMicrousd } = policy;
      for (const { usage, estimate, isGrace } of admitted) {
        const room = isGrace ? tokenBudget : tokenBudget - completionReserveTokens;
        expect(usage.inputTokens + usage.outputTokens + estimate).toBeLessThan(room);
        expect(usage.costMicrousd).toBeLessThan(costBudgetMicrousd ?? Infinity);
      }
    });
  });

  it("[CTX-14, CTX-02] dispatches no more calls than it may", () => {
    everyRun((simulation, policy) => {
      const redispatched = simulation.dispatched.filter((name) => !name.endsWith("#1")).length;
      const { toolCalls } = simulation.state.usage;
      expect(toolCalls).toBeLessThanOrEqual(policy.maxToolCalls + redispatched);
    });
  });

  it("[CTX-15] completes within its cost, or fails", () => {
    everyRun((simulation, policy) => {
      const { usage, settlement } = simulation.state;
      if (usage.costMicrousd <= (policy.costBudgetMicrousd ?? Infinity)) return;
      expect(settlement?.payload.outcome).not.toBe("completed");
    });
  });

  it("[CTX-13] is warned of each budget once at most, and of every limit that ended it", () => {
    everyRun((simulation) => {
      const { warned, settlement } = simulation.state;
      expect(new Set(warned).size).toBe(warned.length);
      const limit = settlement?.payload.exhausted;
      // A batch that is too large may end a run with most of its calls unused.
      if (limit === "turns") expect(warned).toContain(limit);
    });
  });

  it("[RUN-09] settles what joined it exactly where a response followed, and as itself", () => {
    everyRun((simulation) => {
      const { joined: inputs, turns, settlement } = simulation.state;
      for (const { afterTurn, settlement: own } of inputs) {
        const isOwed = settlement === null || turns.length <= afterTurn;
        expect(own === null).toBe(isOwed);
        if (own === null) continue;
        expect(own.payload.outcome).toBe(settlement?.payload.outcome);
        expect(own.payload.output).toBeUndefined();
      }
    });
  });

  it("[RUN-16] repairs an answer once at most", () => {
    everyRun((simulation) => {
      const { turns, joined: inputs } = simulation.state;
      // An answer that input joined behind was none that needed a repair.
      const answers = turns.filter(
        ({ calls, turn }) =>
          calls.length === 0 && !inputs.some(({ afterTurn }) => afterTurn === turn),
      );
      expect(answers.length).toBeLessThanOrEqual(2);
    });
  });

  it("[TOOL-04] never dispatches an external call twice without a decision", () => {
    everyRun((simulation) => {
      expect(new Set(simulation.dispatched).size).toBe(simulation.dispatched.length);
      const clearances = simulation.drafts.filter(
        ({ draft }) =>
          draft.type === "OperationDecided" &&
          (draft.payload.decision === "never-started" ||
            draft.payload.decision === "safe-to-retry"),
      );
      const repeats = simulation.dispatched.filter((name) => !name.endsWith("#1"));
      expect(repeats.length).toBeLessThanOrEqual(clearances.length);
    });
  });

  it("[RUN-07] does nothing but settle once its deadline has passed", () => {
    fc.assert(
      fc.property(fc.array(worldArb, { maxLength: 25 }), policyArb, (script, policy) => {
        const simulation = new Simulation(script, policy);
        simulation.run();
        const { stored } = simulation;
        for (let length = 2; length < stored.length; length += 1) {
          const state = must(foldRun(stored.slice(0, length)), "a prefix has the run");
          const step = decideStep(state, {
            ...facts({ now: DEADLINE }),
            policy: AgentPolicySchema.parse(policy),
          });
          if (state.settlement === null) expect(step.kind).toBe("settle");
        }
      }),
      { numRuns: 60 },
    );
  });

  it("[RUN-08] spends what its records say", () => {
    everyRun((simulation) => {
      const { usage } = simulation.state;
      expect(usage.turns).toBe(count(simulation, "ModelResponded"));
      expect(usage.failedModelCalls).toBe(count(simulation, "ModelCallFailed"));
      expect(usage.interruptedModelCalls).toBe(count(simulation, "ModelInterrupted"));
    });
  });
});
