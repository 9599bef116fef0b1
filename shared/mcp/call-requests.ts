// The HTTP requests of one call of an MCP tool. It knows what the MCP client cannot tell: whether the call left, and whether its answer was
// lost. Credentials are known to it alone, nobody is followed, and no answer is larger than the bound.
import { z } from "zod";
import { MAX_MCP_ANSWER_BYTES, MCP_CLOSE_DEADLINE_MILLIS } from "../limits.ts";
import { within } from "./within.ts";

/** The `_meta` key of `tools/call` under which a server finds the idempotency key of a call. */
export const IDEMPOTENCY_KEY_META = "holdfast/idempotencyKey";

/** The code of the error that stands for an answer that never came: outside JSON-RPC's own range. A server that sends it says the same. */
export const ANSWER_LOST_CODE = 404_001;

export interface CallRequests {
  readonly fetch: typeof fetch;
  /** The tool's request has left: it may have happened. */
  readonly wasDispatched: () => boolean;
}

export interface CallRequestsOptions {
  /** Set on every request. The MCP client never sees them, and so no message of it holds one. */
  readonly headers: Headers;
  readonly idempotencyKey: string;
  /** Contract: follows no redirect by itself. */
  readonly send: (request: Request) => Promise<Response>;
}

const MessageSchema = z.looseObject({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string(),
  params: z.looseObject({ _meta: z.looseObject({}).optional() }).optional(),
});

type Message = z.infer<typeof MessageSchema>;

export function callRequests({ headers, idempotencyKey, send }: CallRequestsOptions): CallRequests {
  let dispatched = false;

  async function post(url: string, init: RequestInit): Promise<Response> {
    const message = MessageSchema.parse(JSON.parse(z.string().parse(init.body)));
    const isCall = message.method === "tools/call";
    const tagged = isCall ? withKey(message, idempotencyKey) : message;
    const request = new Request(url, { ...init, body: JSON.stringify(tagged) });
    if (isCall) dispatched = true;
    const response = await send(request);
    const isRedirect = response.status >= 300 && response.status < 400;
    if (isRedirect || response.status === 202) await dropBody(response);
    if (isRedirect || response.redirected) throw new Error("a redirect, which is not followed");
    // Nothing comes after 202, and the client would wait for an answer until the tool's timeout.
    if (response.status === 202 && message.id !== undefined) throw new Error("no answer");
    return withBody(response, message.id);
  }

  return {
    wasDispatched: () => dispatched,
    fetch: async (input, init = {}) => {
      // The server's own stream of messages: a call needs none, and none outlives it.
      if (init.method === "GET") return new Response(null, { status: 405 });
      const url = z.string().parse(input);
      const all = new Headers(init.headers);
      for (const [name, value] of headers) all.set(name, value);
      // A redirect would carry the credentials to wherever it points; the runtime of Workers knows no `error` here.
      const common = { ...init, headers: all, redirect: "manual" } as const;
      if (init.method === "POST") return post(url, common);
      // The end of the session: nobody waits for it, so that nothing else ends it.
      return within(MCP_CLOSE_DEADLINE_MILLIS, null, async (signal) =>
        dropBody(await send(new Request(url, { ...common, signal }))),
      );
    },
  };
}

function withKey(message: Message, idempotencyKey: string): Message {
  const { params = {} } = message;
  const _meta = { ...params._meta, [IDEMPOTENCY_KEY_META]: idempotencyKey };
  return { ...message, params: { ...params, _meta } };
}

/** A body that nobody reads holds its connection, and a Worker has few. */
async function dropBody(response: Response): Promise<Response> {
  await response.body?.cancel();
  return new Response(null, { status: response.status, headers: response.headers });
}

/** The same response with a bounded body. */
function withBody(response: Response, id: Message["id"]): Response {
  const { status, statusText, headers, body } = response;
  if (body === null) return response;
  const isStream = headers.get("content-type")?.includes("text/event-stream") === true;
  const last = isStream && id !== undefined ? renderLost(id) : null;
  return new Response(boundedBody(body, last), { status, statusText, headers });
}

/**
 * A stream of events that breaks off leaves its client waiting. So the last event, wherever the stream ends, answers the request with an
 * error; the client ignores it where the answer has come. The empty line before it ends an event that was cut.
 */
function renderLost(id: string | number): string {
  const error = { code: ANSWER_LOST_CODE, message: "The answer was lost." };
  return `\n\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`;
}

/** @param last what a stream of events ends with, however it ends; null for a body that fails where it breaks off. */
function boundedBody(
  body: ReadableStream<Uint8Array>,
  last: string | null,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  const next = async (): Promise<Uint8Array | undefined> => {
    const { value } = await reader.read();
    bytes += value?.byteLength ?? 0;
    if (bytes <= MAX_MCP_ANSWER_BYTES) return value;
    await reader.cancel();
    throw new Error("the answer is too large");
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let chunk: Uint8Array | undefined;
      try {
        chunk = await next();
      } catch (error) {
        if (last === null) {
          controller.error(error);
          return;
        }
      }
      if (chunk !== undefined) {
        controller.enqueue(chunk);
        return;
      }
      if (last !== null) controller.enqueue(new TextEncoder().encode(last));
      controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
