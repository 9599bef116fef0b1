// The lanes of an object: enrolled inside the transaction of what they owe, run one wave at a time, each under its own timeout. One lane's
// failure is its own: neither other lanes nor runs wait for it (LANE-02 to LANE-06).
import type { JsonValue } from "../../shared/canonical-json.ts";
import type { Clock, EpochMillis } from "../../shared/time.ts";
import type { Database } from "../platform/database.ts";
import { raceTimeout } from "../platform/deadline.ts";
import type { Failpoints } from "../../shared/failpoints.ts";
import { errorName, logEvent } from "../platform/log.ts";
import { decideAfterWave, outcomeOf, type WaveOutcome } from "./decide-lane.ts";
import type { DueQueue } from "./due-queue.ts";
import type { HostLanesForMutation, Lane, LaneWave, Mutation, RuntimeLane } from "./lane.ts";
import type { LaneRow, LanesStore } from "./lanes.store.ts";

export type LanePhase = NonNullable<Lane["phase"]>;

export interface LanesPorts {
  readonly database: Database;
  readonly store: LanesStore;
  readonly dueQueue: DueQueue;
  readonly clock: Clock;
  readonly random: () => number;
  readonly failpoints: Failpoints;
  readonly lanes: readonly RuntimeLane[];
  readonly forMutation: HostLanesForMutation | null;
  readonly context: Pick<LaneWave, "env" | "services">;
}

export class Lanes {
  readonly #ports: LanesPorts;
  readonly #lanes: ReadonlyMap<string, RuntimeLane>;
  /** Rows of lanes may be there. An object without any asks for none. */
  #mayBeDue: boolean | null = null;
  /** Told of each enrolment, so that a running pass looks. */
  onEnrolled: () => void = () => undefined;

  constructor(ports: LanesPorts) {
    this.#ports = ports;
    this.#lanes = new Map(ports.lanes.map((lane) => [lane.id, lane]));
  }

  /** For a source elsewhere: due at `dueAt`. A cursor that is not higher than the last one is no progress, and renews nothing that waits
   * (LANE-04). Call inside a transaction. */
  schedule(laneId: string, dueAt: EpochMillis, cursor: number): boolean {
    const known = this.#ports.store.read(laneId);
    if (known !== null && cursor <= known.cursor) return false;
    this.#enrol(laneId, dueAt, cursor, true);
    this.#ports.dueQueue.rearm();
    return true;
  }

  /** Hands a mutation to the lanes that the host names for it. Call inside its transaction. A replayed one arms again, and is no progress. */
  mutated(mutation: Mutation, isReplay = false): void {
    const { forMutation, store, clock, dueQueue } = this.#ports;
    if (forMutation === null) return;
    const ids = forMutation(mutation);
    for (const lane of ids) {
      if (!isReplay) store.post(lane, { id: envelopeIdOf(mutation), ...mutation });
      this.#enrol(lane, clock.now(), 0, !isReplay);
    }
    if (ids.length > 0) dueQueue.rearm();
  }

  /** A handler of that id is there. */
  has(laneId: string): boolean {
    return this.#lanes.has(laneId);
  }

  /** Hands things to a lane of the runtime's own, which is due now. Call inside the transaction that they are about (LANE-02). */
  post(laneId: string, posted: readonly Readonly<Record<string, JsonValue>>[]): void {
    for (const each of posted) this.#ports.store.post(laneId, each);
    this.#enrol(laneId, this.#ports.clock.now(), 0, true);
    this.#ports.dueQueue.rearm();
  }

  /** Makes a parked lane due now; false where it is not parked. Call inside a transaction. */
  unpark(laneId: string): boolean {
    if (this.#ports.store.read(laneId)?.reason !== "lane-parked") return false;
    this.#enrol(laneId, this.#ports.clock.now(), 0, true);
    this.#ports.dueQueue.rearm();
    return true;
  }

  /** False where no lane was ever enrolled: then nothing has to be looked for. */
  get mayBeDue(): boolean {
    return this.#mayBeDue !== false;
  }

  get hasMutationLanes(): boolean {
    return this.#ports.forMutation !== null;
  }

  rows(): LaneRow[] {
    return this.#ports.store.all();
  }

  /** The lanes of a phase that are due and may still run in this event. A lane without a handler counts as concurrent: it fails by itself. */
  due(phase: LanePhase, ceilingAt: EpochMillis, failed: ReadonlySet<string>): LaneRow[] {
    if (this.#mayBeDue === false) return [];
    const rows = this.#ports.store.all();
    this.#mayBeDue = rows.length > 0;
    const now = this.#ports.clock.now();
    return rows.filter((row) => {
      const lane = this.#lanes.get(row.lane);
      const isDue = row.dueAt !== null && row.dueAt <= now && !failed.has(row.lane);
      return (
        isDue &&
        (lane?.phase ?? "concurrent") === phase &&
        now + (lane?.dispatchTimeoutMillis ?? 0) <= ceilingAt
      );
    });
  }

  /** One wave. False when it failed: the lane does not run again in this event. Throws what the database throws. */
  async runWave(row: LaneRow): Promise<boolean> {
    const { store, database, dueQueue, clock, failpoints, random } = this.#ports;
    const { posted, through, hasMore } = store.posted(row.lane);
    const outcome = await this.#call(row, posted);
    const isDrained = outcome.kind === "drained";
    const after = database.transact(() => {
      const now = clock.now();
      const current = store.read(row.lane) ?? row;
      if (isDrained) store.acknowledge(row.lane, through);
      const decided = decideAfterWave({
        outcome,
        unchanged: row.unchanged,
        hasProgressed: current.progress > row.progress,
        hasMore: hasMore || store.hasEnvelopeAfter(row.lane, through),
        now,
        random: random(),
      });
      const { due, unchanged } = decided;
      store.finish(row, { ...due, unchanged });
      dueQueue.rearm();
      failpoints.hit("lane:inside");
      return decided;
    });
    if (after.isParkedNow) {
      logEvent("error", "lane-parked", { lane: row.lane, waves: after.unchanged });
    }
    failpoints.hit("lane:after");
    return outcome.kind !== "failed";
  }

  async #call(row: LaneRow, posted: readonly unknown[]): Promise<WaveOutcome> {
    const lane = this.#lanes.get(row.lane);
    if (lane === undefined) {
      logEvent("error", "lane-missing", { lane: row.lane });
      return { kind: "failed" };
    }
    const { env, services } = this.#ports.context;
    const now = this.#ports.clock.now();
    const wave = { posted, cursor: row.cursor, now, env, services };
    const ran = await raceTimeout(lane.dispatchTimeoutMillis, null, (signal) =>
      lane.run({ ...wave, signal }),
    );
    if (ran.kind === "done") return outcomeOf(ran.value);
    const error = ran.kind === "threw" ? errorName(ran.error) : "timeout";
    logEvent("warn", "lane-failed", { lane: row.lane, error });
    return { kind: "failed" };
  }

  #enrol(lane: string, dueAt: EpochMillis, cursor: number, isProgress: boolean): void {
    this.#ports.store.enrol(lane, dueAt, cursor, isProgress);
    this.#mayBeDue = true;
    this.onEnrolled();
  }
}

/** The same for every delivery of a mutation: a submission is admitted and settled once, and an attempt stops once. */
function envelopeIdOf({ threadId, kind, submissionId, attempt }: Mutation): string {
  return [threadId, submissionId, kind, ...(attempt === undefined ? [] : [attempt])].join(":");
}
