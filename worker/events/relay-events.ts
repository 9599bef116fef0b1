// Holds a client's event stream for an object: reads the object's own stream while something runs, and asks it by one bounded wait while
// nothing does, so that a watcher keeps an idle object awake for about a minute at most. It passes events on as they are; of their text it
// reads only where they end and which id they carry (OBS-03).
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { renderEvent } from "../../shared/wire/events.ts";
import { BlockReader } from "../../shared/event-blocks.ts";

/** The object's side. Contract: each may throw; `watch` ends by itself when nothing runs any more. */
export interface EventSource {
  watch(after: number): Promise<ReadableStream<Uint8Array>>;
  awaitProgress(wait: {
    after: number;
    timeoutMillis: number;
    waitId: string;
  }): Promise<{ tail: number }>;
  cancelWait(waitId: string): Promise<void>;
}

export interface EventTiming {
  /** A comment goes out after so long a silence, so that nobody on the way takes the connection for dead. */
  readonly heartbeatMillis: number;
  /** How long an idle thread is watched before `bye`. */
  readonly idleMillis: number;
  /** When a client comes back to an idle thread, and after an interruption. */
  readonly idleRetryMillis: number;
  readonly interruptedRetryMillis: number;
}

export const EVENT_TIMING: EventTiming = {
  heartbeatMillis: 15_000,
  idleMillis: 60_000,
  idleRetryMillis: 60_000,
  interruptedRetryMillis: 1_000,
};

const HEARTBEAT = ": keep-alive\n\n";

/** Resolves when the object took the request up; throws what it refuses, as a problem and not as an event. */
export async function relayEvents(
  { after = 0 }: { readonly after?: number | undefined },
  source: EventSource,
  timing: EventTiming = EVENT_TIMING,
): Promise<ReadableStream<Uint8Array>> {
  const relay = new Relay(after, source, timing);
  await relay.open();
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const text = await relay.next();
      if (text === null) controller.close();
      else controller.enqueue(encoder.encode(text));
    },
    cancel: () => relay.stop(),
  });
}

class Relay {
  readonly #source: EventSource;
  readonly #timing: EventTiming;
  readonly #stopped = Promise.withResolvers<null>();
  #blocks: BlockReader | null = null;
  /** The last id passed on, and how far the object looked through the log. */
  #cursor: number;
  #through: number;
  #lastState = "";
  #isOver = false;
  /** The object's answer that is awaited, over as many heartbeats as it takes. */
  #pending: Promise<string | null> | null = null;

  constructor(after: number, source: EventSource, timing: EventTiming) {
    this.#cursor = after;
    this.#through = after;
    this.#source = source;
    this.#timing = timing;
  }

  async open(): Promise<void> {
    const blocks = new BlockReader(await this.#source.watch(this.#cursor));
    this.#blocks = blocks;
    // The client left while the object was asked.
    if (this.#isOver) await blocks.cancel();
  }

  /** The next text for the client; null after the end. */
  async next(): Promise<string | null> {
    const { promise: silence, resolve } = Promise.withResolvers<string>();
    // One timer, however often the object answers and has nothing that is for the client.
    const timer = setTimeout(() => resolve(HEARTBEAT), this.#timing.heartbeatMillis);
    try {
      while (!this.#isOver) {
        this.#pending ??= this.#advance();
        const text = await Promise.race([this.#pending, silence]);
        if (text === HEARTBEAT) return text;
        this.#pending = null;
        if (text !== null && text !== "") return text;
      }
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The client is gone: whatever is asked of the object for it ends. */
  async stop(): Promise<void> {
    this.#isOver = true;
    this.#stopped.resolve(null);
    await this.#blocks?.cancel();
  }

  async #advance(): Promise<string | null> {
    try {
      if (this.#blocks === null) return await this.#waitIdle();
      const block = await this.#blocks.next();
      if (block !== null) return this.#pass(block);
      this.#blocks = null;
      return "";
    } catch (error) {
      // Too many wait there already: to ask again soon would only add to it.
      if (error instanceof HoldfastError && error.code === "Overloaded") {
        return this.#bye("idle", this.#timing.idleRetryMillis);
      }
      // The object was lost, or refuses by now: the client asks again, and is told then.
      return this.#bye("interrupted", this.#timing.interruptedRetryMillis);
    }
  }

  #pass(block: string): string {
    const through = /^: through (\d+)\n\n$/.exec(block)?.[1];
    if (through !== undefined) {
      this.#through = Number(through);
      return "";
    }
    // Its first lines alone: the data behind them is anybody's text, and may imitate others.
    const [, event, id] = /^event: ([a-z]+)\n(?:id: (\d+)\n)?/.exec(block) ?? [];
    if (id !== undefined) {
      this.#cursor = Number(id);
      this.#through = Math.max(this.#through, this.#cursor);
    }
    // Each look at the object begins with the state, mostly the one that is known.
    if (event === "state") {
      if (block === this.#lastState) return "";
      this.#lastState = block;
    }
    if (event === "settled" || event === "gap") {
      this.#isOver = true;
      void this.#blocks?.cancel();
    }
    return block;
  }

  /** One bounded wait for the log to grow; then either the object's stream again, or the planned end. */
  async #waitIdle(): Promise<string> {
    const waitId = crypto.randomUUID();
    const wait = { after: this.#through, timeoutMillis: this.#timing.idleMillis, waitId };
    const answer = this.#source.awaitProgress(wait);
    const first = await Promise.race([answer, this.#stopped.promise]);
    if (first === null) {
      // Nobody waits for either answer any more.
      void answer.catch(() => undefined);
      await this.#source.cancelWait(waitId);
      return "";
    }
    if (first.tail <= this.#through) return this.#bye("idle", this.#timing.idleRetryMillis);
    await this.open();
    return "";
  }

  #bye(reason: "idle" | "interrupted", retryMillis: number): string {
    this.#isOver = true;
    return renderEvent({ event: "bye", data: { reason } }, retryMillis);
  }
}
