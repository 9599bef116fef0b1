// The other side of the client, played by a script: a fetch, a service binding, and streams of events. Each keeps what it was asked.
import { z } from "zod";
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { ERROR_CODES, type ErrorCode } from "../../../shared/errors/codes.ts";
import type { SchemaFault, WireError } from "../../../shared/errors/holdfast-error.ts";
import { RequestSchemas } from "../../../shared/wire/requests.ts";
import type { ServiceRpc } from "../../../shared/wire/entrypoint.ts";

/** How a promise ended, as data: rejections do not go unhandled while time is moved. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

export async function outcomeOf<T>(promise: Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error };
  }
}

/** Never answers, whatever becomes of who asks. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/** A request as the fake fetch read it. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What the fake answers to one request: an Error is a network that failed. */
export type Scripted = Response | Error | (() => Promise<Response>);

/** A fetch that answers by script, and refuses to be asked more than that. */
export function scriptedFetch(...script: readonly Scripted[]) {
  const left = [...script];
  const sent: SentRequest[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    const { method, url, headers } = request;
    const body = await request.text();
    sent.push({ method, url, headers: Object.fromEntries(headers), body });
    const next = left.shift();
    if (next === undefined) throw new Error("asked once too often");
    if (next instanceof Error) throw next;
    return typeof next === "function" ? next() : next;
  };
  return { fetch, sent, left: () => left.length };
}

/** A problem document as the Worker answers it. */
export function problem(
  code: ErrorCode,
  more: {
    readonly fields?: Readonly<Record<string, JsonValue>>;
    readonly headers?: Readonly<Record<string, string>>;
    readonly errors?: readonly SchemaFault[];
  } = {},
): Response {
  const { status, retryable, title } = ERROR_CODES[code];
  const body = {
    type: `https://agents.test/errors/${code}`,
    title,
    status,
    detail: `What was wrong: ${code}.`,
    code,
    requestId: "b8b4dd3c-7d18-4d7c-9d58-6fb9bd1f6bd4",
    retryable,
    outcome: "not-applied",
    ...more.fields,
    ...(more.errors === undefined ? {} : { errors: more.errors }),
  };
  return Response.json(body, {
    status: z.int().parse(body.status),
    headers: { "content-type": "application/problem+json", ...more.headers },
  });
}

/** A call of the fake binding. */
export interface BindingCall {
  readonly method: string;
  readonly request: unknown;
}

/** A service binding whose every method is answered by one function. */
export function scriptedBinding(answer: (call: BindingCall) => Promise<unknown>) {
  const calls: BindingCall[] = [];
  const methods = [...Object.keys(RequestSchemas), "agents"].map((method) => [
    method,
    (request: unknown): Promise<unknown> => {
      const call = { method, request };
      calls.push(call);
      return answer(call);
    },
  ]);
  return { binding: z.custom<ServiceRpc>().parse(Object.fromEntries(methods)), calls };
}

export function ok(value: unknown): { ok: true; value: unknown } {
  return { ok: true, value };
}

export function refused(
  code: string,
  more: Partial<WireError> = {},
): { ok: false; error: WireError } {
  return { ok: false, error: { code, detail: `What was wrong: ${code}.`, fields: {}, ...more } };
}

/** How a stream goes on after its bytes. */
export type StreamEnd = "closes" | "breaks" | "stays-open";

/** A connection: its bytes in these pieces, and then its end. `cancelled` says whether its reader let it go. */
export class Connection {
  readonly stream: ReadableStream<Uint8Array>;
  cancelled = false;

  constructor(pieces: readonly (string | Uint8Array)[], end: StreamEnd, onCancel = never<void>) {
    const encoder = new TextEncoder();
    const left = pieces.map((piece) => (typeof piece === "string" ? encoder.encode(piece) : piece));
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          const piece = left.shift();
          if (piece !== undefined) return controller.enqueue(piece);
          if (end === "closes") return controller.close();
          if (end === "breaks") return controller.error(new TypeError("connection reset"));
          return never<void>();
        },
        cancel: () => {
          this.cancelled = true;
          return onCancel();
        },
      },
      { highWaterMark: 0 },
    );
  }
}
