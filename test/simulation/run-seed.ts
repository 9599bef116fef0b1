// Carries out the commands of a seed on a thread of its own, then lets the faults stop and holds the thread to every promise.
import { must } from "../../shared/assert.ts";
import type { Settlement } from "../../shared/wire/settlement.ts";
import type { SubmissionView } from "../../shared/wire/submission.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { world } from "../support/world.ts";
import { Client } from "./client.ts";
import { renderCommand, type AlarmTime, type Command, type CommandKind } from "./commands.ts";
import { Faults } from "./faults.ts";
import { KEYS } from "./plan-commands.ts";
import { BROKEN, replyOf } from "./reply.ts";
import { Hang, SimulatedThread } from "./simulated-thread.ts";

/** What became of a seed. */
export interface SeedReport {
  readonly steps: number;
  /** Everything that was seen, as often as it was: for the counters of a whole run (QUA-03). */
  readonly seen: readonly string[];
  /** What each command came to, and the log at the end, without ids: two runs of one seed are alike. */
  readonly transcript: readonly string[];
}

/** The queue is short, so that it is full now and then; an event's time is short on the world's clock alone. */
const LIMITS = {
  maxQueueDepth: 3,
  event: { yieldAfterMillis: 1_000, ceilingMillis: 36_000_000 },
};

/** Commands after which nothing runs that did not run before: what a lost object owes waits for its alarm. */
const STARTS_NOTHING: ReadonlySet<CommandKind> = new Set([
  "arm",
  "advance",
  "outage",
  "evict",
  "crash",
  "deploy",
]);

const MAX_CRASHES_IN_A_STEP = 10;
const MAX_ROUNDS = 12;
const LATE_MILLIS = 600_000;

export async function runSeed(commands: readonly Command[]): Promise<SeedReport> {
  testOptions.limits = LIMITS;
  const run = new SeedRun();
  try {
    for (const command of commands) await run.step(command);
    await run.close();
    return run.report();
  } catch (cause) {
    throw new Error(["what came before:", ...run.report().transcript].join("\n  "), { cause });
  } finally {
    run.faults.stop();
    resetOptions();
  }
}

class SeedRun {
  readonly faults = new Faults();
  readonly #thread = new SimulatedThread("simulation", KEYS);
  readonly #seen: string[] = [];
  readonly #transcript: string[] = [];
  readonly #client = new Client(this.#thread, (seen) => this.#seen.push(seen));
  /** Alarms whose pass waits at a gate. */
  #alarms: Promise<unknown>[] = [];
  #steps = 0;

  report(): SeedReport {
    return {
      steps: this.#steps,
      seen: this.#seen,
      transcript: this.#transcript,
    };
  }

  async step(command: Command): Promise<void> {
    this.#steps += 1;
    this.#seen.push(`command: ${command.kind}`);
    const startsNothing = STARTS_NOTHING.has(command.kind);
    const before = startsNothing ? {} : await this.#thread.incarnation();
    const came = await this.#perform(command);
    const isBroken = came.includes(BROKEN);
    if (isBroken && !this.faults.hasFired) {
      throw new Error(`${command.kind} broke off without a crash`);
    }
    if (!startsNothing) await this.#recover(before, command.kind === "together");
    this.#transcript.push(`${renderCommand(command)} → ${came}`);
  }

  async #perform(command: Command): Promise<string> {
    switch (command.kind) {
      case "together": {
        const all = command.requests.map((request) => this.#client.request(request));
        return (await Promise.all(all)).join(", ");
      }
      case "alarm":
        return this.#alarm(command.when, command.times);
      case "advance":
        world.advance(command.millis);
        return "done";
      case "evict":
        // The platform evicts nobody who works.
        if (this.#thread.isAtGate) return "at a gate";
        // And nobody who is not there: so it wakes first.
        await this.#thread.incarnation();
        await this.#thread.evict();
        await this.#thread.expectArmed();
        return "done";
      case "crash":
        await this.#thread.crash();
        await this.#thread.expectArmed();
        return "done";
      case "arm":
        this.faults.arm(command);
        return "done";
      case "open-gate":
        if (!this.#thread.isAtGate) return "nobody waits";
        await replyOf(this.#thread.openGate(...this.#thread.heldGates));
        this.#seen.push("gate: opened");
        return "opened";
      case "deploy":
        await this.#deploy(command.agent === "back");
        return command.agent;
      case "outage":
        testOptions.authorize = () =>
          command.is === "ends" || Promise.reject(new Error("the authorizer is down"));
        return command.is;
      default:
        return this.#client.request(command);
    }
  }

  /** Every agent of these threads is one. */
  async #deploy(hasAgent: boolean): Promise<void> {
    testOptions.agents = hasAgent ? (all) => all : () => [];
    await this.#thread.crash();
    await this.#thread.expectArmed();
  }

  async #alarm(when: AlarmTime, times: number): Promise<string> {
    for (let fired = 0; fired < times; fired += 1) {
      const life = await this.#thread.incarnation();
      // A pass that waits at a gate is joined, and the alarm's event lasts as long.
      const at = await this.#thread.alarmAt();
      if (when === "due" && (at === null || this.#thread.isAtGate)) return `${fired} were due`;
      if (at !== null && when !== "early") {
        world.advanceTo(when === "late" ? at + LATE_MILLIS : at);
      }
      const delivered = when === "again" ? this.#thread.redeliverAlarm() : this.#thread.fireAlarm();
      this.#alarms.push(delivered.catch(() => undefined));
      if (times > 1) await this.#recover(life, false);
    }
    this.#seen.push(`alarm: ${when}`);
    return "fired";
  }

  /**
   * Lets the thread come to rest, through whatever crashes meanwhile, and notes them.
   * @param before the life of the object that the command met
   * @param mayGoOn where the object is lost, its next life may be at work already, for others that asked at the same time
   */
  async #recover(before: object, mayGoOn: boolean): Promise<void> {
    let life = before;
    for (let crashes = 0; crashes < MAX_CRASHES_IN_A_STEP; crashes += 1) {
      const crash = this.faults.take();
      if (crash !== null) {
        this.#seen.push(`crash: ${crash.mode}`, `fired: ${crash.point}`);
        if (crash.mode !== "throw") {
          await this.#thread.reborn(life);
          if (!mayGoOn) return this.#thread.expectArmed();
        } else if (crash.point === "abort:after") {
          // The abort is on record, and whoever waited for the run's sake is gone.
          await replyOf(this.#thread.openGate(...this.#thread.heldGates));
        }
      }
      try {
        const now = await this.#thread.incarnation();
        // Where the crash came meanwhile, this may be the life after it.
        if (!this.faults.hasFired) life = now;
        await this.#thread.rest();
        if (!this.faults.hasFired) return;
      } catch (error) {
        if (error instanceof TypeError || error instanceof Hang) throw error;
        // Lost on its way to rest: by the crash that the next round finds, or as the last resort of a re-arm that failed.
      }
    }
    throw new Error("the thread does not come to rest");
  }

  /** Faults stop. All that was accepted has settled or waits with a reason; then a person leads out what waits. */
  async close(): Promise<void> {
    this.faults.stop();
    testOptions.authorize = () => true;
    await this.#deploy(true);
    const { submitter } = this.#client;
    await this.#thread.openAll();
    await this.#quiesce();
    if (await submitter.submitUnanswered()) await this.#quiesce();
    if (submitter.accepted.length > 0) {
      await this.#expectSound();
      if (await this.#leadOut()) await this.#expectSound();
      await submitter.replayAll();
    }
    const { records } = await this.#thread.dump();
    for (const { type } of records) this.#seen.push(`record: ${type}`);
    this.#transcript.push(`log: ${records.map(({ type }) => type).join(" ")}`);
    await Promise.all(this.#alarms);
  }

  async #quiesce(): Promise<void> {
    await this.#thread.quiet();
    await this.#thread.runAlarms(20, 60_000);
    await this.#thread.quiet();
  }

  async #expectSound(): Promise<void> {
    const violations = await this.#thread.violations({
      receipts: this.#client.submitter.receipts,
      acknowledgedTail: this.#client.reader.acknowledgedTail,
      readTools: new Set(["look"]),
    });
    if (violations.length > 0) throw new Error(JSON.stringify(violations));
  }

  /** Every wait for a person is one that a person ends. True when there was one. */
  async #leadOut(): Promise<boolean> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const views = await this.#views();
      const owed = views.filter(({ state }) => state !== "settled");
      if (owed.length === 0) {
        for (const { settlement } of views) {
          this.#noteSettlement(must(settlement, "a settled submission has a settlement"));
        }
        return round > 0;
      }
      for (const { wait, submissionId } of owed) {
        if (wait !== undefined) this.#seen.push(`wait: ${wait.reason}`);
        if (wait?.reason === "attempts-exhausted") await this.#thread.retry(submissionId);
      }
      await this.#client.request({ kind: "decide-all", approval: "approve" });
      await this.#quiesce();
    }
    throw new Error(`not settled: ${JSON.stringify(await this.#thread.explain())}`);
  }

  #noteSettlement({ outcome, limit }: Settlement): void {
    this.#seen.push(`outcome: ${outcome}`);
    if (limit !== undefined) this.#seen.push(`limit: ${limit}`);
    this.#transcript.push(`settled: ${outcome}`);
  }

  async #views(): Promise<SubmissionView[]> {
    const views: SubmissionView[] = [];
    for (const { submissionId } of this.#client.submitter.accepted) {
      views.push(await this.#client.reader.view(submissionId));
    }
    return views;
  }
}
