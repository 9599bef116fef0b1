// Carries controls out: folds what each is about, decides, and commits in one transaction that also settles, ends the wait, and makes the
// lane due. A crash before the commit leaves nothing; after it, the armed alarm goes on from the log.
import { must } from "../../../shared/assert.ts";
import { HoldfastError } from "../../../shared/errors/holdfast-error.ts";
import { emptyRun, type RunState } from "../run/run-state.ts";
import { firstSequenceOf } from "../ledger/decide-claim.ts";
import type { LedgerEntry } from "../ledger/ledger.store.ts";
import { createThreadDrafts } from "../run/plan-opening.ts";
import { isLive, readRunIfReadable } from "../run/read-run.ts";
import { closeRun } from "../run/settle.ts";
import type { AppendControl, CommitPoint, ThreadCore } from "../thread-core.ts";
import type { ControlDecision, Refusal } from "./control-decision.ts";
import { decideControl, type ControlCommand } from "./decide-control.ts";

type Committed = Extract<ControlDecision, { kind: "commit" }>;
export type ControlEffect = Exclude<ControlDecision, { kind: "refused" }>["effect"];

const POINTS = { abort: "abort", decide: "decide", retry: "retry" } as const satisfies Record<
  ControlCommand["kind"],
  CommitPoint
>;

/** One control of a batch: what it is about, as the ledger had it when the batch was asked for. */
export interface Control {
  readonly entry: LedgerEntry;
  readonly command: ControlCommand;
}

/** One control by itself. Throws the refusal as a `HoldfastError`; otherwise what the control did, which may be nothing. */
export function applyControl(
  core: ThreadCore,
  entry: LedgerEntry,
  command: ControlCommand,
): ControlEffect {
  const [effect] = applyControls(core, command.kind, [{ entry, command }], refuse);
  return must(effect, "a control has an effect");
}

/** Aborts work in the same transaction as another change; what that returns. The abort is one of `author`'s. */
export function abortTogetherWith<T>(
  core: ThreadCore,
  entry: LedgerEntry,
  author: string,
  change: () => T,
): T {
  const changed: T[] = [];
  const command: ControlCommand = { kind: "abort", author, reason: INTERRUPTED };
  applyControls(core, "abort", [{ entry, command }], refuse, () => changed.push(change()));
  const [result] = changed;
  return must(result, "the change was made");
}

/** Why work was aborted that a later submission interrupted. */
const INTERRUPTED = "A submission interrupted it (onBusy).";

/**
 * Controls of one kind, all of them or none: each is decided on what those before it left, inside the one transaction that commits them.
 * @param refuse throws what the caller is told of a refusal, given the control's place in the batch
 * @param alongside changes more in the same transaction
 */
export function applyControls(
  core: ThreadCore,
  kind: ControlCommand["kind"],
  controls: readonly Control[],
  refuse: (refusal: Refusal, index: number) => never,
  alongside: () => unknown = () => undefined,
): ControlEffect[] {
  const thread = must(core.row.read(), "a submission has a thread");
  const effects: ControlEffect[] = [];
  const runs = new Map<number, RunState>();
  core.commitAsControl(POINTS[kind], (append) => {
    for (const [index, { entry: asked, command }] of controls.entries()) {
      const { queueSequence, submissionId } = asked;
      // A control before this one may have changed what the ledger says of it.
      const entry =
        index === 0
          ? asked
          : must(core.ledger.find(queueSequence, submissionId), "it was there before");
      const live = isLive(core, entry);
      const run = runs.get(queueSequence) ?? readForControl(core, entry, command);
      const runFirst = firstSequenceOf(thread, entry);
      const decision = decideControl(
        {
          run,
          isLive: live,
          isExhausted: entry.wait?.reason === "attempts-exhausted",
          epoch: thread.epoch,
          wasClaimed: runFirst !== null,
          isDispatched: (operationId) => live && core.live?.dispatched.has(operationId) === true,
        },
        command,
      );
      if (decision.kind === "refused") refuse(decision, index);
      effects.push(decision.effect);
      if (decision.kind === "unchanged") continue;
      const first = core.journal.tail().sequence + 1;
      const drafts = [...createThreadDrafts(thread, first), ...decision.drafts];
      const added = append(queueSequence, run, drafts);
      runs.set(queueSequence, added.state);
      changeLedger(core, entry, command, decision, added, runFirst);
    }
    // Nothing was appended when every control was a replay.
    if (runs.size > 0) {
      core.enrolNative("controlled");
    }
    alongside();
  });
  return effects;
}

function refuse({ code, detail, errors }: Refusal): never {
  throw new HoldfastError(code, detail, errors === undefined ? {} : { errors });
}

/** Abort and retry must lead out of a run whose records cannot be read: they do without them. A decision cannot. */
function readForControl(core: ThreadCore, entry: LedgerEntry, command: ControlCommand): RunState {
  const run = readRunIfReadable(core, entry);
  if (run !== null) return run;
  if (command.kind === "decide") {
    throw new HoldfastError(
      "Unavailable",
      "The run's records cannot be read, so nothing of it can be decided. Abort it.",
      { fields: { reason: "log" } },
    );
  }
  return emptyRun(entry.submissionId);
}

function changeLedger(
  core: ThreadCore,
  entry: LedgerEntry,
  command: ControlCommand,
  decision: Committed,
  { state, appended }: ReturnType<AppendControl>,
  runFirst: number | null,
): void {
  const { queueSequence, wait } = entry;
  const noted = must(appended.records.at(-1), "a commit has records").record.sequence;
  if (decision.annotation === undefined && state.settlement !== null) {
    const first = runFirst ?? must(appended.records[0], "a commit has records").record.sequence;
    // The enrolment that follows puts the lane in order.
    closeRun(core, { queueSequence, first }, state, null);
    return;
  }
  if (decision.annotation !== undefined) {
    core.annotations.add(queueSequence, { ...decision.annotation, sequence: noted });
    return;
  }
  if (command.kind === "retry") {
    core.row.forgive(queueSequence);
    core.ledger.clearWait(queueSequence);
    return;
  }
  if (wait === null || decision.answered.length === 0) return;
  const left = wait.operationIds?.filter((id) => !decision.answered.includes(id)) ?? [];
  if (left.length === 0) core.ledger.clearWait(queueSequence);
  else core.ledger.setWait(queueSequence, { ...wait, operationIds: left }, null);
}
