// A real MCP server in a process of its own: the official SDK over streamable HTTP on loopback. `node mcp-server.ts <port>`; it prints the
// port that it took, and ends with whoever started it. What it saw is asked for beside the protocol, under /seen.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const nextTurn = promisify(setImmediate);

/** Every call of a tool that arrived, with what came beside its arguments. */
const seen: { tool: string; key: unknown; authorization: string | undefined }[] = [];
let ended = 0;
let aborted = 0;
const sessions = new Map<string, StreamableHTTPServerTransport>();

const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

interface Extra {
  readonly _meta?: Record<string, unknown>;
  readonly requestInfo?: { readonly headers: Record<string, unknown> };
}

function see(tool: string, { _meta, requestInfo }: Extra): string {
  const authorization = z.string().optional().parse(requestInfo?.headers["authorization"]);
  seen.push({ tool, key: _meta?.["holdfast/idempotencyKey"], authorization });
  return authorization ?? "";
}

/** @param current the response of the session's latest request */
function makeServer(current: () => ServerResponse | null): McpServer {
  const server = new McpServer({ name: "test", version: "1.0.0" });
  server.registerTool("echo", { inputSchema: { value: z.string() } }, ({ value }, extra) => {
    see("echo", extra);
    return text(value);
  });
  server.registerTool(
    "add",
    { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
    ({ a, b }) => ({ ...text("as structured content"), structuredContent: { sum: a + b } }),
  );
  server.registerTool("big", { inputSchema: { bytes: z.number() } }, ({ bytes }) =>
    text("x".repeat(bytes)),
  );
  server.registerTool("picture", {}, () => ({
    content: [
      { type: "text", text: "a cat" },
      { type: "image", data: Buffer.alloc(300_000, 7).toString("base64"), mimeType: "image/png" },
      { type: "resource_link", uri: "file:///cat.txt", name: "cat" },
      { type: "resource", resource: { uri: "file:///cat.bin", blob: "AAAA" } },
    ],
  }));
  server.registerTool("fail", {}, () => ({ ...text("there is no such page"), isError: true }));
  server.registerTool("tell", { inputSchema: { fails: z.boolean() } }, ({ fails }, extra) => ({
    ...text(`you sent ${see("tell", extra)}`),
    isError: fails,
  }));
  server.registerTool("hang", {}, (extra) => {
    see("hang", extra);
    current()?.once("close", () => {
      aborted += 1;
    });
    return Promise.withResolvers<never>().promise;
  });
  server.registerTool("break_off", {}, async (extra) => {
    see("break_off", extra);
    const response = current();
    // The head of the answer goes out by itself, then some of an event, then nothing.
    for (;;) {
      if (response === null || response.headersSent) break;
      await nextTurn();
    }
    response?.write('event: message\ndata: {"jsonrpc":"2.0","res', () => response.destroy());
    return Promise.withResolvers<never>().promise;
  });
  server.registerTool("die", {}, (extra) => {
    see("die", extra);
    process.kill(process.pid, "SIGKILL");
    return Promise.withResolvers<never>().promise;
  });
  server.registerTool("secret_admin", {}, () => text("never offered"));
  return server;
}

async function answerProtocol(
  request: IncomingMessage,
  response: ServerResponse,
  enableJsonResponse: boolean,
): Promise<void> {
  const id = z.string().optional().parse(request.headers["mcp-session-id"]);
  let transport = id === undefined ? undefined : sessions.get(id);
  if (transport === undefined) {
    let latest: ServerResponse | null = null;
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse,
      onsessioninitialized: (made) => {
        if (transport !== undefined) sessions.set(made, transport);
      },
    });
    latestOf.set(transport, (given) => (latest = given));
    // The SDK's own types do not agree with each other under exactOptionalPropertyTypes.
    const connected = z.custom<Parameters<McpServer["connect"]>[0]>().parse(transport);
    await makeServer(() => latest).connect(connected);
  }
  if (request.method === "DELETE") ended += 1;
  if (request.method === "POST") latestOf.get(transport)?.(response);
  await transport.handleRequest(request, response);
}

/** Who holds the response of a session's latest request. */
const latestOf = new WeakMap<StreamableHTTPServerTransport, (response: ServerResponse) => void>();

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  switch (pathname) {
    case "/mcp":
      return answerProtocol(request, response, false);
    case "/mcp-json":
      return answerProtocol(request, response, true);
    case "/seen":
      response.end(JSON.stringify({ calls: seen, aborted, ended }));
      return;
    case "/moved":
      response.writeHead(307, { location: "/mcp" }).end();
      return;
    case "/denied":
      response.writeHead(401).end(`wrong: ${request.headers.authorization}`);
      return;
    default:
      response.writeHead(404).end();
  }
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    console.error(error);
    response.destroy();
  });
});
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  const { port } = z.custom<AddressInfo>().parse(server.address());
  console.info(port);
});
// A test run that dies takes its end of the pipe with it.
process.stdin.resume().on("end", () => process.exit());
