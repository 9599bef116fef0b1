// A provider's server on loopback: it plays recorded streams, and refuses what the real API would. Clients reach it under the provider's own
// host, because a stand-in for fetch sends them here; on the way back it cuts the bytes into odd pieces.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { must } from "../../../../shared/assert.ts";
import type { Dialect, RecordedStream } from "./wire.ts";

export interface SentRequest {
  readonly method: string;
  /** As the client asked for it. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** What the server refused it for. */
  readonly refusal: string | null;
}

export interface FakeServer {
  /** Forgets what came before; the first request gets the stream, later ones a farewell. */
  readonly play: (dialect: Dialect, stream: RecordedStream) => void;
  readonly requests: readonly SentRequest[];
  readonly fetch: typeof fetch;
  readonly close: () => Promise<void>;
}

const ORIGIN_HEADER = "x-asked-origin";
/** Cuts characters of two to four bytes, escapes and line ends at every place. */
const PIECE_BYTES = [1, 2, 3, 5, 1, 7, 13, 2, 64, 3];

export async function startServer(): Promise<FakeServer> {
  const requests: SentRequest[] = [];
  let playing: { readonly dialect: Dialect; readonly stream: RecordedStream } | null = null;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { dialect, stream } = must(playing, "something is played");
    const body: unknown = JSON.parse(await readBody(request));
    const isFirst = requests.length === 0;
    const refusal = dialect.refuse(body, isFirst ? [] : stream.frames);
    const { [ORIGIN_HEADER]: origin = "", ...headers } = readHeaders(request);
    const { method = "", url = "" } = request;
    requests.push({ method, url: origin + url, headers, body, refusal });
    if (refusal !== null) {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify(dialect.errorBody(refusal)));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    const frames = isFirst ? stream.frames : dialect.goodbye;
    const text = frames.map(dialect.frame).join("");
    if (isFirst && stream.isTorn === true) response.write(text, () => response.destroy());
    else response.end(text);
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(toError(error)));
  });
  await new Promise<void>((listening) => {
    server.listen(0, "127.0.0.1", listening);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;

  return {
    requests,
    play: (dialect, stream) => {
      requests.length = 0;
      playing = { dialect, stream };
    },
    fetch: sendTo(`http://127.0.0.1:${port}`, globalThis.fetch),
    close: () => {
      server.closeAllConnections();
      return new Promise((closed) => {
        server.close(() => closed());
      });
    },
  };
}

/** Keeps path, headers and body; only the host becomes the fake's. */
function sendTo(fake: string, send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { origin, pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.set(ORIGIN_HEADER, origin);
    const response = await send(`${fake}${pathname}${search}`, {
      method: request.method,
      headers,
      body: await request.text(),
      signal: request.signal,
      redirect: "manual",
    });
    return new Response(response.body?.pipeThrough(cutBytes()) ?? null, {
      status: response.status,
      headers: response.headers,
    });
  };
}

function cutBytes(): TransformStream<Uint8Array, Uint8Array> {
  let turn = 0;
  return new TransformStream({
    transform(chunk: Uint8Array, controller) {
      for (let at = 0; at < chunk.length; turn += 1) {
        const size = PIECE_BYTES[turn % PIECE_BYTES.length] ?? 1;
        controller.enqueue(chunk.slice(at, at + size));
        at += size;
      }
    },
  });
}

function readHeaders(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
