// One thread of the simulation: what a driver does, and when the thread has come to rest, at a gate or by itself.
import { env, runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { z } from "zod";
import { readDump } from "../../shared/testing/dump.store.ts";
import type { RecordPage } from "../../shared/wire/progress.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";

const namespace = z.custom<DurableObjectNamespace>().parse(env.THREADS);

/** Something that should have come about by itself did not. */
export class Hang extends Error {
  override readonly name = "Hang";
}

/** Longer than any pass takes. */
const HANGS_AFTER_MILLIS = 15_000;

/** Asked again and again, as nothing outside an object can be woken by it. */
async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  try {
    await vi.waitUntil(isSo, { timeout: HANGS_AFTER_MILLIS, interval: 1 });
  } catch (cause) {
    throw new Hang(what, { cause });
  }
}

export class SimulatedThread extends ThreadDriver {
  readonly #gates: readonly string[];

  /** @param keys every submission's key has a gate of its own */
  constructor(label: string, keys: number) {
    super(label);
    this.#gates = Array.from({ length: keys }, (_, key) => this.gateOf(key));
  }

  gateOf(key: number): string {
    return `${this.threadId}-gate-${key}`;
  }

  /** Someone waits at a gate. */
  get isAtGate(): boolean {
    return this.heldGates.length > 0;
  }

  get heldGates(): string[] {
    return this.#gates.filter((gate) => this.isWaitingAt(gate));
  }

  isWaitingAt(gate: string): boolean {
    return world.isHeldAt(gate);
  }

  openAll(): Promise<void> {
    return this.openGate(...this.#gates);
  }

  /** Returns when the running pass ended, or waits at a gate. Throws when the object is lost meanwhile. */
  async rest(): Promise<void> {
    let isOver = false;
    const quiet = this.quiet().finally(() => {
      isOver = true;
    });
    const isStill = until("the pass neither ends nor waits", () => isOver || this.isAtGate);
    await Promise.race([quiet, isStill]);
  }

  /** This life of the object: another after every loss and eviction. */
  incarnation(): Promise<object> {
    return runInDurableObject(namespace.getByName(this.name), (instance) => ({ instance })).then(
      ({ instance }) => instance,
    );
  }

  /** Waits until the object that is to be lost is, and the next one is there. A loss comes after the disk is written. */
  async reborn(before: object): Promise<void> {
    await until("the object is not lost", async () => {
      const now = await this.incarnation().catch(() => before);
      return now !== before;
    });
  }

  /** An object that just woke, and was asked for nothing yet, has its alarm armed for what is due (ALM-04). */
  async expectArmed(): Promise<void> {
    const { due, alarm } = await this.inObject((storage) => readDump(storage));
    if ((due?.dueAt ?? null) === alarm) return;
    throw new Error(`it woke with work due at ${due?.dueAt} and its alarm at ${alarm}`);
  }

  page(after: number, limit: number): Promise<RecordPage> {
    return this.ask("readPage", { ...this.address, page: { after, limit } });
  }

  async tailPast(after: number): Promise<number> {
    const asked = { ...this.address, after, timeoutMillis: 0 };
    return (await this.ask("awaitProgress", asked)).tail;
  }
}
