// Reads a stream of server-sent events as the standard says, by other code than the product's, and holds every event against its schema.
import { expect } from "vitest";
import type { DeltaEvent, ThreadEvent } from "../../shared/wire/events.ts";
import { ThreadEventSchema } from "../../shared/wire/events.ts";
import type { ThreadRecord } from "../../shared/wire/records.ts";

/** An event, with the fields of its block. */
export type Received = ThreadEvent & {
  readonly id: string | null;
  readonly retry: string | null;
};

export class EventReader {
  /** Comments so far, without their colon. */
  readonly comments: string[] = [];
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #unread = "";

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
  }

  /** The next event; null after the last. Rejects when the stream breaks off, or ends inside an event. */
  async next(): Promise<Received | null> {
    for (;;) {
      const end = this.#unread.indexOf("\n\n");
      if (end < 0) {
        const { done, value } = await this.#reader.read();
        if (!done) this.#unread += this.#decoder.decode(value, { stream: true });
        else if (this.#unread === "") return null;
        else throw new Error(`ends inside an event: ${this.#unread.slice(0, 80)}`);
        continue;
      }
      const block = this.#unread.slice(0, end);
      this.#unread = this.#unread.slice(end + 2);
      const event = this.#parse(block);
      if (event !== null) return event;
    }
  }

  /** The events up to the first that fits, and that one. */
  async until(fits: (event: Received) => boolean): Promise<Received[]> {
    const events: Received[] = [];
    for (;;) {
      const event = await this.next();
      if (event === null) throw new Error(`ended before that: ${JSON.stringify(events.at(-1))}`);
      events.push(event);
      if (fits(event)) return events;
    }
  }

  /** All that are left. */
  async rest(): Promise<Received[]> {
    const events: Received[] = [];
    for (;;) {
      const event = await this.next();
      if (event === null) return events;
      events.push(event);
    }
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }

  #parse(block: string): Received | null {
    const fields = new Map<string, string>();
    for (const line of block.split(/\r\n|\r|\n/)) {
      const colon = line.indexOf(":");
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
      if (name === "") this.comments.push(value);
      else if (fields.has(name)) throw new Error(`two fields ${name}`);
      else fields.set(name, value);
    }
    const data = fields.get("data");
    if (data === undefined) return null;
    const sent: unknown = { event: fields.get("event"), data: JSON.parse(data) };
    const event = ThreadEventSchema.parse(sent);
    // Nothing is sent that the schema does not name.
    expect(event).toEqual(sent);
    return { ...event, id: fields.get("id") ?? null, retry: fields.get("retry") ?? null };
  }
}

export function recordsOf(events: readonly Received[]): ThreadRecord[] {
  return events.flatMap((event) => (event.event === "record" ? [event.data] : []));
}

/** The cursor that a client resumes from, having read these. */
export function lastIdOf(events: readonly Received[]): string | null {
  return events.findLast(({ id }) => id !== null)?.id ?? null;
}

/** The text of a kind as a client holds it: what it has from an offset on is replaced. */
export function textOf(
  events: readonly Received[],
  turn: number,
  kind: DeltaEvent["kind"] = "text",
): string {
  let text = "";
  for (const event of events) {
    if (event.event !== "delta" && event.event !== "resync") continue;
    if (event.data.turn !== turn || event.data.kind !== kind) continue;
    expect(event.data.offset).toBeLessThanOrEqual(text.length);
    text = text.slice(0, event.data.offset) + event.data.text;
  }
  return text;
}
