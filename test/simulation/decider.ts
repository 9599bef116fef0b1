// Who decides operations: those that are listed, and those that were, and finds out when one is decided twice.
import type { JsonValue } from "../../shared/canonical-json.ts";
import type { DecisionKind, Operation } from "../../shared/wire/operations.ts";
import type { MadeDecision } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";
import { Once } from "./once.ts";
import { BROKEN, replyOf, said } from "./reply.ts";
import type { SimulatedThread } from "./simulated-thread.ts";

export type Approval = "approve" | "deny" | "edit";

/** What a decision came to; whose run it ended. */
export interface Decided {
  readonly came: string;
  readonly applied: readonly DecisionKind[];
  readonly aborted: readonly string[];
}

/** The same for every decision of a kind, so that the same kind again is the same decision. */
const FIELDS: Partial<Record<DecisionKind, { result: JsonValue } | { arguments: JsonValue }>> = {
  completed: { result: { value: "seen" } },
  edit: { arguments: { value: "edited" } },
};

export class Decider {
  readonly #thread: SimulatedThread;
  readonly #decisions = new Map<string, Once>();
  readonly #listed = new Map<string, Operation>();

  constructor(thread: SimulatedThread) {
    this.#thread = thread;
  }

  /** Decides all that waits, in one request, as a person does who looks what happened outside. */
  async decideAll(approval: Approval): Promise<Decided> {
    const listed = await replyOf(this.#list());
    if (listed.kind !== "answer") return nothing(said(listed, () => ""));
    if (listed.answer.length === 0) return nothing("nothing to decide");
    return this.#together(listed.answer.map((operation) => decisionOn(operation, approval)));
  }

  /** Decides one of those that were ever listed: a decision may be unfit, late, or made again. */
  async decide(index: number, approval: DecisionKind, loss: DecisionKind): Promise<Decided> {
    const listed = await replyOf(this.#list());
    if (listed.kind === "broken") return nothing(BROKEN);
    const known = [...this.#listed.values()];
    const operation = known[index % Math.max(known.length, 1)];
    if (operation === undefined) return nothing("nothing to decide");
    const { operationId, kind } = operation;
    const decision = kind === "approval" ? approval : loss;
    return this.#together([{ operationId, decision, ...FIELDS[decision] }]);
  }

  async #together(decisions: readonly MadeDecision[]): Promise<Decided> {
    const asked = decisions.map((decision) => ({ decision, slots: this.#slotsOf(decision) }));
    for (const { decision, slots } of asked)
      for (const slot of slots) slot.begin(decision.decision);
    const reply = await replyOf(this.#thread.decideTogether(...decisions));
    if (reply.kind === "broken") return nothing(BROKEN);
    if (reply.kind === "refusal") {
      const isAlone = asked.length === 1;
      for (const { decision, slots } of asked) {
        for (const slot of slots) {
          const isKnown = isAlone && slots.length === 1 && reply.code === "DecisionConflict";
          if (isKnown) slot.conflicted(decision.decision);
          else slot.refused(decision.decision);
        }
      }
      return nothing(reply.code);
    }
    for (const [index, { decision, slots }] of asked.entries()) {
      const [slot, other] = slots;
      // An abort is about the approval or about the loss, whichever it met: neither is known to have taken it.
      if (slot === undefined || other !== undefined) continue;
      if (reply.answer[index] === "applied") slot.applied(decision.decision);
      else slot.replayed(decision.decision);
    }
    const applied = decisions.filter((_decision, index) => reply.answer[index] === "applied");
    return {
      came: applied.length > 0 ? "applied" : "replayed",
      applied: applied.map(({ decision }) => decision),
      aborted: decisions.flatMap(({ decision, operationId }) => {
        const operation = this.#listed.get(operationId);
        return decision === "abort" && operation !== undefined ? [operation.submissionId] : [];
      }),
    };
  }

  async #list(): Promise<Operation[]> {
    const listed = await this.#thread.operations();
    for (const operation of listed) this.#listed.set(operation.operationId, operation);
    return listed;
  }

  /** The approval of a call and its loss are decided apart, though they share an id. */
  #slotsOf({ operationId, decision }: MadeDecision): Once[] {
    const isApproval = decision === "approve" || decision === "deny" || decision === "edit";
    const slots = decision === "abort" ? ["approval", "loss"] : [isApproval ? "approval" : "loss"];
    return slots.map((slot) => {
      const name = `the ${slot} of ${operationId}`;
      const known = this.#decisions.get(name) ?? new Once(name);
      this.#decisions.set(name, known);
      return known;
    });
  }
}

function nothing(came: string): Decided {
  return { came, applied: [], aborted: [] };
}

function decisionOn({ operationId, kind }: Operation, approval: Approval): MadeDecision {
  if (kind === "approval") return { operationId, decision: approval, ...FIELDS[approval] };
  // A later loss of the same call has an id of its own, and its runs are counted under the call's.
  const callId = operationId.replace(/\.d\d+$/, "");
  const decision = (world.executions.get(callId) ?? 0) > 0 ? "completed" : "never-started";
  return { operationId, decision, ...FIELDS[decision] };
}
