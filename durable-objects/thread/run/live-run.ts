// The run that an attempt of this instance works on: its folded state, kept up to date by every append about it, and the switch that
// stops it. Dropped with the attempt; nothing here is not in the log.
import type { LanguageModelV4Message } from "@ai-sdk/provider";
import type { JsonValue } from "../../../shared/canonical-json.ts";
import type { EpochMillis } from "../../../shared/time.ts";
import type { Binding } from "../../agents/registry.ts";
import type { Appended } from "../journal/journal.store.ts";
import type { OpenTurn } from "../progress/open-turn.ts";
import type { TraceSpan } from "../../tracing/tracer.ts";
import { tightenPolicy } from "../../context/tighten-policy.ts";
import type { AgentPolicy } from "../../../shared/wire/policy.ts";
import { messagesOf, type SelectedHistory } from "./history.ts";
import { projectRun } from "./project-messages.ts";
import type { HistoryRun } from "./select-history.ts";
import type { RunState } from "./run-state.ts";

/** Why an attempt's work was stopped from outside. */
export type StopReason = "abort" | "deadline" | "ceiling" | "deleted" | "attempt-failed";

export interface InFlight {
  readonly toolName: string;
  readonly since: EpochMillis;
  progress: JsonValue | undefined;
}

export interface LiveRunOptions {
  readonly queueSequence: number;
  readonly first: number;
  readonly epoch: number;
  readonly supersededEpoch: number | null;
  /** The lane's revision that the wave of this attempt saw. */
  readonly waveRevision: number;
  /** Input of later submissions waits to join this run. */
  readonly hasJoiners: boolean;
  readonly principal: string;
  readonly binding: Binding;
  readonly history: SelectedHistory;
  readonly state: RunState;
  /** What the log holds of the run already. */
  readonly size: { readonly records: number; readonly bytes: number };
}

export class LiveRun {
  readonly queueSequence: number;
  readonly first: number;
  readonly epoch: number;
  readonly supersededEpoch: number | null;
  readonly waveRevision: number;
  readonly principal: string;
  readonly binding: Binding;
  readonly policy: AgentPolicy;
  readonly history: SelectedHistory;
  readonly historyMessages: readonly LanguageModelV4Message[];
  readonly inFlight = new Map<string, InFlight>();
  /** Calls whose handlers were started, or that were rejected, with those whose results are not committed yet. */
  readonly dispatched = new Set<string>();
  /** External calls whose answer did not come, and why; their tools can find out what became of them. */
  readonly unanswered = new Map<string, "timeout" | "answer-lost">();
  /** The model call that is open, as watchers see it. */
  openTurn: OpenTurn | null = null;
  /** The attempt's own span: the parent of what it calls. */
  span: TraceSpan | null = null;
  readonly #stop = new AbortController();
  #state: RunState;
  #size: { readonly records: number; readonly bytes: number };
  #hasEnded = false;
  #hasJoiners: boolean;

  constructor(options: LiveRunOptions) {
    this.queueSequence = options.queueSequence;
    this.first = options.first;
    this.epoch = options.epoch;
    this.supersededEpoch = options.supersededEpoch;
    this.waveRevision = options.waveRevision;
    this.principal = options.principal;
    this.binding = options.binding;
    this.policy = tightenPolicy(options.binding.agent.policy, options.state.allowances);
    this.history = options.history;
    this.historyMessages = messagesOf(options.history);
    this.#state = options.state;
    this.#size = options.size;
    this.#hasJoiners = options.hasJoiners;
  }

  get hasJoiners(): boolean {
    return this.#hasJoiners;
  }

  /** A submission was admitted that is to join the run of that place in the queue. */
  announceJoin(queueSequence: number): void {
    if (queueSequence === this.queueSequence) this.#hasJoiners = true;
  }

  /** What waited is part of the run now, or left. */
  tookJoiners(hasMore: boolean): void {
    this.#hasJoiners = hasMore;
  }

  get state(): RunState {
    return this.#state;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get stopReason(): StopReason | null {
    const reason: unknown = this.#stop.signal.reason;
    return reason === "abort" ||
      reason === "deadline" ||
      reason === "ceiling" ||
      reason === "deleted" ||
      reason === "attempt-failed"
      ? reason
      : null;
  }

  /** An attempt that ended writes nothing any more, whatever its abandoned handlers still do. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Takes committed records in, its own and those of controls, with the state that they fold to. A committed abort stops the work here, so
   * that nothing that fails after the commit can leave it running. */
  observe(state: RunState, appended: Appended): void {
    this.#state = state;
    this.#size = {
      records: this.#size.records + appended.records.length,
      bytes: this.#size.bytes + appended.bytes,
    };
    if (state.abort !== null) this.stop("abort");
  }

  /** Every record from the run's first to `tail` is the run's own. */
  isContiguousTo(tail: number): boolean {
    return tail - this.first + 1 === this.#size.records;
  }

  /** The run as history of the next one. */
  asHistory(): HistoryRun {
    const { queueSequence: run, first, state } = this;
    const { provider } = this.history;
    return {
      run,
      first,
      ...this.#size,
      messages: projectRun(state, { provider, isOwn: false }),
    };
  }

  stop(reason: StopReason): void {
    this.#stop.abort(reason);
  }

  end(): void {
    this.#hasEnded = true;
    this.#stop.abort("attempt-failed");
  }
}
