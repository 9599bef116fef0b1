// Spans of the platform's own tracing: no SDK, no exporter. The platform closes an event's trace with the event's answer, whatever goes on behind
// it. A pass that a submission started outlives that answer, so its spans wait for an event that outlives the pass: the alarm that joins it, a
// few milliseconds later, and awaits its end.
import { AsyncLocalStorage } from "node:async_hooks";
import { tracing } from "cloudflare:workers";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { errorName, logEvent } from "../platform/log.ts";

/** Codes, names, ids and counts: never content, a key, a principal or a scope (TRC-01). */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** What a span is called, and what is known of it when it begins. */
export interface SpanStart {
  readonly name: string;
  readonly attributes: Attributes;
}

export class Tracer {
  /** Begun, and waiting for an event to be reported by; parents before their children. */
  #waiting: TraceSpan[] = [];
  #isHeld = false;

  /** The event that runs now lives as long as the pass: it reports what waits, and what comes. Call synchronously in that event. */
  hold(): void {
    this.#isHeld = true;
    this.#reportWaiting();
  }

  /** The pass is over. What still waits is left to the event that started it, which may be waiting for the pass's outcome. */
  release(): void {
    this.#reportWaiting();
    this.#isHeld = false;
  }

  /**
   * Runs `work` as a span, a child of `parent`. Notes what is known later with `span.note`. A rejection is passed on, and noted by its class
   * alone. An attempt that another one took over from has met what it has to expect: its span ends in order, and says so.
   */
  async inSpan<T>(
    parent: TraceSpan | null,
    start: SpanStart,
    work: (span: TraceSpan) => Promise<T>,
  ): Promise<T> {
    const span = new TraceSpan(parent, start);
    if (this.#isHeld) span.report();
    else this.#waiting.push(span);
    try {
      return await span.run(() => work(span));
    } catch (error) {
      span.note(isExpected(error) ? { "storage.outcome": "superseded" } : faultOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  #reportWaiting(): void {
    for (const span of this.#waiting) span.report();
    this.#waiting = [];
  }
}

/** Runs something where spans that begin are children of this one. */
type Inside = <T>(work: () => T) => T;

export class TraceSpan {
  readonly #parent: TraceSpan | null;
  readonly #name: string;
  #attributes: Attributes;
  #isOver = false;
  #reported: { readonly span: Span; readonly inside: Inside } | null = null;

  constructor(parent: TraceSpan | null, { name, attributes }: SpanStart) {
    this.#parent = parent;
    this.#name = name;
    this.#attributes = attributes;
  }

  note(attributes: Attributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
    const reported = this.#reported;
    if (reported?.span.isTraced === true) quietly(() => reported.span.setAttributes(attributes));
  }

  /** What the platform traces by itself inside belongs to the span, where it is reported already. */
  run<T>(work: () => T): T {
    return this.#reported === null ? work() : this.#reported.inside(work);
  }

  report(): void {
    const open = () =>
      tracing.startActiveSpan(this.#name, (span) => ({
        span,
        inside: span.isTraced ? AsyncLocalStorage.snapshot() : runPlainly,
      }));
    const parent = this.#parent === null ? null : this.#parent.#reported;
    quietly(() => {
      this.#reported = parent === null ? open() : parent.inside(open);
    });
    this.note(this.#attributes);
    if (this.#isOver) this.end();
  }

  end(): void {
    this.#isOver = true;
    quietly(() => this.#reported?.span.end());
  }
}

/** A run does not fail with its trace: what it did and what it spent is in its records. */
function quietly(act: () => void): void {
  try {
    act();
  } catch (error) {
    logEvent("error", "trace-failed", { error: errorName(error) });
  }
}

function runPlainly<T>(work: () => T): T {
  return work();
}

function isExpected(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "OwnershipLost";
}

/** Tags of the error and of what caused it: their messages may hold anything. */
function faultOf(error: unknown): Attributes {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return {
    "error.type": errorName(error),
    ...(cause === undefined ? {} : { "error.cause.type": errorName(cause) }),
  };
}
